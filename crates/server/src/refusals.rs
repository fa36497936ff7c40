//! Log lines about players who are not let in: each says why, and which setting would let them in. Peers can
//! cause as many refusals as they like, so each kind has its own rate of lines.

use std::net::IpAddr;

use rejoin_core::id::ConnectionId;
use rejoin_wire::v1::{CloseCode, Refusal};

use crate::logbook::Cause;
use crate::sight::Sight;

impl Sight {
    /// A page of a foreign origin asked for a connection or for the directory.
    pub(crate) fn origin_refused(&self, address: Option<IpAddr>, origin: &str) {
        let Some(suppressed) = self.logbook.pass(Cause::Origin) else { return };
        let address = address.map(|address| self.logbook.address(Some(address)));
        tracing::info!(
            address,
            ?origin,
            setting = "origins",
            suppressed,
            "a page was refused: its origin is not in `origins` of rejoin.toml"
        );
    }

    /// The hub refused a login or a resume.
    pub(crate) fn login_refused(&self, connection: ConnectionId, refusal: &Refusal) {
        let Some(setting) = setting(refusal.code()) else { return };
        let Some(suppressed) = self.logbook.pass(Cause::Login) else { return };
        let address = self.logbook.address(self.address_of(connection));
        let (code, text) = (refusal.code().as_str_name(), &refusal.text);
        tracing::info!(%connection, %address, code, ?text, setting, suppressed, "a login was refused");
    }

    /// A token of another service was not good. The player only hears that it is wrong.
    pub(crate) fn token_refused(&self, connection: ConnectionId, why: &str) {
        let Some(suppressed) = self.logbook.pass(Cause::Token) else { return };
        let address = self.logbook.address(self.address_of(connection));
        tracing::info!(
            %connection,
            %address,
            ?why,
            setting = "[identity.jwt]",
            suppressed,
            "a token was refused"
        );
    }
}

/// What an operator would change to let such a player in; empty where the player must change something. None
/// for refusals that only ask for another try.
fn setting(code: CloseCode) -> Option<&'static str> {
    match code {
        CloseCode::NotReady | CloseCode::ShuttingDown => None,
        CloseCode::WrongName => Some("server_names"),
        CloseCode::IdentityOff => Some("[identity] accounts; --dev for anonymous players"),
        CloseCode::AdmissionRefused | CloseCode::AdmissionTimeout => Some("[admission] url"),
        CloseCode::Banned => Some("rejoin player unban"),
        CloseCode::Locked => Some("rejoin player unlock"),
        CloseCode::Flooded => Some("[guard]"),
        _ => Some(""),
    }
}
