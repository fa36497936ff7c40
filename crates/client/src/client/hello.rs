//! The answer to a challenge: a resume where there is a token, otherwise a login. A key signs the
//! name that was dialled, not the one that the challenge tells.

use rejoin_wire::VERSION;
use rejoin_wire::proof::{Proof, Purpose, signed_text};
use rejoin_wire::v1::{
    Anonymous, Challenge, CloseCode, Hello, KeyProof, Login, MintSecret, Resume, client_frame,
    hello, login,
};

use super::{Client, Link};
use crate::error::Violation;
use crate::identity::{Identity, ResumeState, Signer};
use crate::time::Time;

impl Client {
    pub(super) fn challenged(&mut self, now: Time, challenge: Challenge) -> Result<(), Violation> {
        let Link::Greeting { deadline, binding } = &self.link else {
            return Err(Violation::OutOfState);
        };
        if !(challenge.version_min..=challenge.version_max).contains(&VERSION) {
            self.give_up(now, CloseCode::Version);
            return Ok(());
        }
        let (deadline, binding) = (*deadline, binding.clone());
        let resumed = self.ticket.as_ref().map(|ticket| ticket.session);
        let purpose = match &self.ticket {
            Some(ticket) => {
                let resume = self.resume(ticket, &challenge.nonce, &binding);
                hello::Purpose::Resume(resume)
            }
            None => hello::Purpose::Login(self.login(&challenge.nonce, &binding)),
        };
        let hello = Hello {
            version: VERSION,
            server_name: self.config.server_name.clone(),
            purpose: Some(purpose),
            capabilities: self.config.capabilities.clone(),
            admission: self.config.admission.clone(),
        };
        self.link = Link::Answering { deadline, resumed };
        self.put(client_frame::Frame::Hello(hello));
        Ok(())
    }

    fn resume(&self, ticket: &ResumeState, nonce: &[u8], binding: &[u8]) -> Resume {
        let position = self.downstream.position();
        let cold = position.is_none();
        let proof = Proof {
            purpose: Purpose::Resume,
            session: ticket.session,
            epoch: ticket.epoch,
            cold,
            ..self.proof(nonce, binding)
        };
        Resume {
            session: ticket.session,
            token: ticket.token.expose().to_vec().into(),
            key: match &self.identity {
                Identity::Key(signer) => Some(signed(signer.as_ref(), &proof)),
                Identity::Secret(_) | Identity::Anonymous => None,
            },
            epoch: ticket.epoch,
            cold,
            position,
            oldest_unacked: self.buffer.oldest_unacked(),
        }
    }

    fn login(&self, nonce: &[u8], binding: &[u8]) -> Login {
        let identity = match &self.identity {
            Identity::Key(signer) => {
                let proof = Proof { fresh: self.fresh, ..self.proof(nonce, binding) };
                login::Identity::Key(signed(signer.as_ref(), &proof))
            }
            Identity::Secret(Some(secret)) => {
                login::Identity::Secret(secret.expose().to_vec().into())
            }
            Identity::Secret(None) => login::Identity::Mint(MintSecret {}),
            Identity::Anonymous => login::Identity::Anonymous(Anonymous {}),
        };
        Login { identity: Some(identity), fresh: self.fresh }
    }

    fn proof<'a>(&'a self, nonce: &'a [u8], binding: &'a [u8]) -> Proof<'a> {
        Proof {
            purpose: Purpose::Login,
            version: VERSION,
            server_name: &self.config.server_name,
            nonce,
            session: 0,
            epoch: 0,
            fresh: false,
            cold: false,
            capabilities: &self.config.capabilities,
            admission: &self.config.admission,
            channel_binding: binding,
        }
    }
}

fn signed(signer: &dyn Signer, proof: &Proof<'_>) -> KeyProof {
    KeyProof {
        public_key: signer.public_key().to_vec().into(),
        signature: signer.sign(&signed_text(proof)).to_vec().into(),
    }
}
