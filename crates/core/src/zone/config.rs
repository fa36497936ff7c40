//! The settings of a zone kind. Every number a peer can press against has its name here; the answer
//! to each is documented beside it.

use std::time::Duration;

use crate::exchange::Hold;

/// What survives a crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Everything, exactly once: nothing is shown before its cut is committed.
    Full,
    /// Members and their data as of the last save; a crash rolls back and everybody is resynced.
    Session,
    /// Nothing beyond this process.
    Memory,
}

impl Durability {
    /// Whether outputs wait for the cut that contains their cause.
    #[must_use]
    pub fn is_gated(self) -> bool {
        self == Self::Full
    }
}

/// How a zone kind runs.
#[derive(Clone, PartialEq, Debug)]
pub struct ZoneConfig {
    /// What survives a crash.
    pub durability: Durability,
    /// Time between two ticks; none: the zone only answers.
    pub tick: Option<Duration>,
    /// A callback that runs longer is stuck: the zone is opened again from its last cut, on another
    /// thread. Zero: it is waited for as long as it takes.
    pub callback_budget: Duration,
    /// Ticks that are made up for after a delay; the others are skipped and counted.
    pub catch_up_ticks_max: u32,
    /// How long a dropped member is waited for.
    pub hold: Hold,
    /// Members at a time; more are refused `ZoneFull`.
    pub members_max: usize,
    /// Sessions of one player at a time; more are refused `AlreadyHere`.
    pub sessions_per_player_max: usize,
    /// Players for whom match data is kept, absent ones included; newcomers beyond are refused
    /// `ZoneFull`.
    pub roster_max: usize,
    /// Frames in the ring; the oldest gives way and its readers are resynced.
    pub ring_frames_max: usize,
    /// Bytes in the ring.
    pub ring_bytes_max: usize,
    /// Frames kept for one member alone.
    pub outbox_frames_max: usize,
    /// Bytes kept for one member alone.
    pub outbox_bytes_max: usize,
    /// Keys with a latest value; a new one beyond is not set, and the game is told.
    pub latest_keys_max: usize,
    /// Bytes of all latest values.
    pub latest_bytes_max: usize,
    /// Unacknowledged frames on one connection; more wait.
    pub window_frames: usize,
    /// Unacknowledged bytes on one connection.
    pub window_bytes: usize,
    /// Without an acknowledgement for so long while one is due, the connection is severed.
    pub progress: Duration,
    /// How long an `Applied` may wait for company in a zone whose outputs are not gated.
    pub ack_delay: Duration,
    /// Outputs that wait for a cut; at the bound the zone takes no more input.
    pub held_outputs_max: usize,
    /// Time between two cuts of a zone that is not `Full`.
    pub save_every: Duration,
    /// Cuts after which the whole state is written afresh, once they are as large together as it is. Cuts
    /// of more than 64 KiB together do not wait for so many.
    pub cuts_per_compaction: u32,
    /// Open calls to one member; more fail at once.
    pub calls_max: usize,
    /// Timers that wait.
    pub timers_max: usize,
    /// Objects with an owner.
    pub objects_max: usize,
}

impl Default for ZoneConfig {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            tick: Some(Duration::from_millis(50)),
            callback_budget: Duration::from_millis(5_000),
            catch_up_ticks_max: 5,
            hold: Hold::Timed(Duration::from_millis(5_000)),
            members_max: 1_000,
            sessions_per_player_max: 1,
            roster_max: 4_000,
            ring_frames_max: 8_192,
            ring_bytes_max: 4 << 20,
            outbox_frames_max: 1_024,
            outbox_bytes_max: 256 << 10,
            latest_keys_max: 1_024,
            latest_bytes_max: 256 << 10,
            window_frames: 512,
            window_bytes: 512 << 10,
            progress: Duration::from_millis(10_000),
            ack_delay: Duration::from_millis(20),
            held_outputs_max: 65_536,
            save_every: Duration::from_millis(30_000),
            cuts_per_compaction: 64,
            calls_max: 16,
            timers_max: 4_096,
            objects_max: 65_536,
        }
    }
}

#[cfg(test)]
mod tests;
