//! Attacks on the real program, one file each. The attacker has addresses of its own (the loopback
//! has many), beside an honest player who must not notice. docs/ATTACKS.md lists them with what was
//! measured.
#![cfg(all(feature = "server", feature = "client", target_os = "linux"))]

mod datagrams;
mod house;
mod player;

mod ack_ahead;
mod bomb;
mod clock_jump;
mod colliding_names;
mod deaf_peers;
mod enet_connects;
mod enet_control;
mod enet_fragments;
mod enet_garbage;
mod enet_spoofing;
mod flood;
mod fragments;
mod handshake_flood;
mod log_injection;
mod reconnect_storm;
mod relayed_challenge;
mod replayed_challenge;
mod slow_body;
mod slowloris;
mod stolen_token;
mod suspended;
mod token_guessing;
