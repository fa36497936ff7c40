//! Whole games in one thread.
//!
//! Real hubs, zones and clients; a faked clock for each of them, a faked network that can cut a
//! connection at any byte, a faked store that can lose what was not committed. One seed decides
//! everything, the settings included, so a failing run can be played again. What must hold is
//! judged from the players' own books ([`books`]) and by looking on ([`check`]), with no code shared
//! with what is judged.

pub mod access;
pub mod accounts;
pub mod aim;
pub mod books;
pub mod bureau;
pub mod carry;
pub mod causes;
pub mod check;
pub mod commits;
pub mod connections;
pub mod directory;
pub mod disk;
pub mod event;
pub mod fault;
pub mod game;
pub mod games;
pub mod holds;
pub mod home;
pub mod hostile;
pub mod knobs;
pub mod ladder;
pub mod link;
pub mod login;
pub mod natives;
pub mod network;
pub mod node;
pub mod onlooker;
pub mod operator;
pub mod player;
pub mod run;
pub mod shrink;
pub mod speech;
pub mod transport;
pub mod world;
