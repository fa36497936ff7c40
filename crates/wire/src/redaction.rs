//! Debug for the frames that carry a token or a secret: everything but those.
//!
//! Owns that no log line, panic message or failed assertion can show what lets somebody else in.
//! The generator leaves these out; a secret shows as whether it is there, never as bytes or hash.

use std::fmt;

use crate::v1::{Hello, Login, Resume, Welcome, hello, login};

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hello { version, server_name, capabilities, admission, purpose } = self;
        f.debug_struct("Hello")
            .field("version", version)
            .field("server_name", server_name)
            .field("purpose", purpose)
            .field("capabilities", capabilities)
            // A ticket or a foreign token, more often than not.
            .field("admission", &Hidden(admission.len()))
            .finish()
    }
}

impl fmt::Debug for hello::Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            hello::Purpose::Login(login) => login.fmt(f),
            hello::Purpose::Resume(resume) => resume.fmt(f),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Login { fresh, identity } = self;
        f.debug_struct("Login").field("identity", identity).field("fresh", fresh).finish()
    }
}

impl fmt::Debug for login::Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            login::Identity::Key(key) => f.debug_tuple("Key").field(key).finish(),
            login::Identity::Secret(secret) => {
                f.debug_tuple("Secret").field(&Hidden(secret.len())).finish()
            }
            login::Identity::Mint(_) => f.write_str("Mint"),
            login::Identity::Anonymous(_) => f.write_str("Anonymous"),
        }
    }
}

impl fmt::Debug for Resume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resume { session, token, key, epoch, cold, position, oldest_unacked } = self;
        f.debug_struct("Resume")
            .field("session", session)
            .field("token", &Hidden(token.len()))
            .field("key", key)
            .field("epoch", epoch)
            .field("cold", cold)
            .field("position", position)
            .field("oldest_unacked", oldest_unacked)
            .finish()
    }
}

impl fmt::Debug for Welcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Welcome")
            .field("session", &self.session)
            .field("player", &self.player)
            .field("epoch", &self.epoch)
            .field("rung", &self.rung())
            .field("reason", &self.reason())
            .field("leg", &self.leg)
            .field("applied", &self.applied)
            .field("lost_upstream", &self.lost_upstream)
            .field("token", &Hidden(self.token.len()))
            .field("secret", &Hidden(self.secret.len()))
            .field("found", &self.found)
            .field("hold_ms", &self.hold_ms)
            .field("heartbeat_ms", &self.heartbeat_ms)
            .field("zone", &self.zone)
            .field("capabilities", &self.capabilities)
            .field("resume_at", &self.resume_at)
            .finish_non_exhaustive()
    }
}

/// Stands for a secret of so many bytes.
struct Hidden(usize);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 == 0 { "none" } else { "hidden" })
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn no_secret_shows_in_debug() {
        let secret = || Bytes::from_static(b"open sesame");
        let resume = Resume { token: secret(), ..Default::default() };
        let welcome = Welcome { token: secret(), secret: secret(), ..Default::default() };
        let login = Login { identity: Some(login::Identity::Secret(secret())), fresh: true };
        let purpose = Some(hello::Purpose::Login(login.clone()));
        let hello = Hello { admission: secret(), purpose, ..Default::default() };
        let quiet = [format!("{resume:?}"), format!("{welcome:?}"), format!("{login:#?}")];
        for shown in quiet.into_iter().chain([format!("{hello:?}")]) {
            assert!(shown.contains("hidden"), "{shown}");
            assert!(!shown.contains("sesame"), "{shown}");
        }
        assert!(format!("{:?}", Welcome::default()).contains("secret: none"));
    }
}
