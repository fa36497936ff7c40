//! Durable before visible, for a zone: what a step gives out waits in the gate of the zone until the cut
//! that contains its cause is committed. A zone whose durability is not `Full` passes everything through
//! when its input ends.

use rejoin_wire::SharedFrame;

use super::output::ZoneOutput;
use crate::exchange::{Link, ToHub, ToSession};
use crate::gate::{Gate, Gated};
use crate::id::SessionId;
use crate::scope::Batch;

/// The gate of a zone.
pub(crate) type Release = Gate<Released>;

/// Something that a zone gives out.
#[derive(Debug)]
pub(crate) struct Released {
    /// The number under which a member acknowledges it, if one does.
    pub number: Option<u64>,
    pub output: ZoneOutput,
}

impl Gated for Released {
    const KEEPS_BUFFERS: bool = true;

    fn submit(batch: Batch) -> Self {
        ZoneOutput::Commit(batch).into()
    }

    fn size(&self) -> usize {
        match &self.output {
            ZoneOutput::SendToMany { to, .. } => to.len(),
            ZoneOutput::SendAll { frames, .. } => frames.len(),
            ZoneOutput::Send { .. }
            | ZoneOutput::Applied { .. }
            | ZoneOutput::ToConnection { .. }
            | ZoneOutput::Native { .. }
            | ZoneOutput::ToHub(_)
            | ZoneOutput::Commit(_)
            | ZoneOutput::StartJob { .. }
            | ZoneOutput::Event(_) => 1,
        }
    }
}

impl From<ZoneOutput> for Released {
    fn from(output: ZoneOutput) -> Self {
        Self { number: None, output }
    }
}

impl Release {
    /// Something of the present step.
    #[inline]
    pub(crate) fn push(&mut self, output: ZoneOutput) {
        self.after(output.into());
    }

    /// A message of the present step for the session of a member.
    pub(crate) fn tell(&mut self, session: SessionId, message: ToSession) {
        self.push(ZoneOutput::ToHub(ToHub::Session(session, message)));
    }

    /// A frame of the present step that its reader acknowledges with this number.
    #[inline]
    pub(crate) fn push_numbered(&mut self, seq: u64, output: ZoneOutput) {
        self.after(Released { number: Some(seq), output });
    }

    /// A frame of the present step for several members, each of which acknowledges it with this number.
    pub(crate) fn push_to_many(
        &mut self,
        seq: u64,
        to: Vec<(SessionId, Link)>,
        frame: &SharedFrame,
    ) {
        let frame = frame.clone();
        match to.as_slice() {
            [] => {}
            [(session, link)] => {
                self.push_numbered(seq, ZoneOutput::Send { session: *session, link: *link, frame });
            }
            _ => self.push_numbered(seq, ZoneOutput::SendToMany { to, frame }),
        }
    }

    /// Frames of the present step for one member, which acknowledges the last of them with this number, if any.
    pub(crate) fn push_frames(
        &mut self,
        number: Option<u64>,
        session: SessionId,
        link: Link,
        frames: Vec<SharedFrame>,
    ) {
        if !frames.is_empty() {
            self.after(Released { number, output: ZoneOutput::SendAll { session, link, frames } });
        }
    }

    /// Something that no cut need contain.
    pub(crate) fn push_now(&mut self, output: ZoneOutput) {
        self.at_once(output.into());
    }

    /// The step is over; `has_changed` when its cause is in no cut yet.
    pub(crate) fn end_step(&mut self, has_changed: bool) {
        if has_changed {
            self.touch();
        }
        self.end_input();
    }
}
