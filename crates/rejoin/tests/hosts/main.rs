//! Hosts that are processes of their own, over real sockets: the host API, and lines typed by hand that
//! lie, stammer and shout.

mod bureau;
mod hostile;
mod life;
mod seats;
mod typed;
