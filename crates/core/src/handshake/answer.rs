//! What a client hears whose claim is good, where no session takes it.

use rejoin_wire::v1::{CloseCode, Resume};

use super::{HandshakeContext, HandshakeCore};
use crate::hub::NoSession;
use crate::mark::{Mark, hit};
use crate::session::{Attaching, Resumed};

impl HandshakeCore {
    /// The session that it resumes has decided.
    pub(crate) fn resumed(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        resume: &Resume,
        resumed: &Resumed,
    ) {
        match resumed {
            // The connection hears of these once what they rest on is committed.
            Resumed::Attached | Resumed::Retired => {}
            Resumed::Wait(wait) => self.returned_too_often(cx, resume, *wait),
            Resumed::Busy => {
                hit(Mark::NotReady);
                self.send_away(cx, Some(resume), CloseCode::NotReady, cx.config.retry_after);
            }
            Resumed::Lost => {
                hit(Mark::SessionUnknown);
                self.refuse(cx, CloseCode::SessionUnknown, "unknown session or token");
            }
            // The session is another one than it was at the hello.
            Resumed::Unknown
            | Resumed::PaceFirst
            | Resumed::SignFirst { .. }
            | Resumed::ClearFirst { .. } => self.unknown_or_wrong(cx),
        }
    }

    /// The session that its login has found has decided.
    pub(crate) fn found(&mut self, cx: &mut HandshakeContext<'_>, attaching: Attaching) {
        match attaching {
            Attaching::Attached => {}
            Attaching::Wait => {
                self.send_away(cx, None, CloseCode::Flooded, cx.config.retry_after);
            }
            Attaching::Busy => {
                hit(Mark::NotReady);
                self.send_away(cx, None, CloseCode::NotReady, cx.config.retry_after);
            }
        }
    }

    /// Its player is connected and may not be a second time.
    pub(crate) fn refuse_second_login(&mut self, cx: &mut HandshakeContext<'_>) {
        hit(Mark::LoggedInAgain);
        self.refuse(cx, CloseCode::LoggedInAgain, "this player is connected already");
    }

    /// No session can begin for it.
    pub(crate) fn refuse_session(&mut self, cx: &mut HandshakeContext<'_>, why: NoSession) {
        let (mark, code, text) = match why {
            NoSession::Full => (Mark::Full, CloseCode::Full, "no more sessions"),
            NoSession::NoIds => (Mark::NotReady, CloseCode::NotReady, "no session ids yet"),
        };
        hit(mark);
        self.refuse(cx, code, text);
    }
}
