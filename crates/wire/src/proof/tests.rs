//! No two different proofs give the same text, shown by reading a text back.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Owned {
    purpose: Purpose,
    version: u32,
    server_name: String,
    nonce: Vec<u8>,
    session: u64,
    epoch: u64,
    fresh: bool,
    cold: bool,
    capabilities: Vec<String>,
    admission: Vec<u8>,
    channel_binding: Vec<u8>,
}

impl Owned {
    fn text(&self) -> Vec<u8> {
        signed_text(&Proof {
            purpose: self.purpose,
            version: self.version,
            server_name: &self.server_name,
            nonce: &self.nonce,
            session: self.session,
            epoch: self.epoch,
            fresh: self.fresh,
            cold: self.cold,
            capabilities: &self.capabilities,
            admission: &self.admission,
            channel_binding: &self.channel_binding,
        })
    }

    /// The inverse of `signed_text`: that there is one is what makes the text unambiguous.
    fn read(text: &[u8]) -> Option<Owned> {
        let mut rest = text.strip_prefix(b"rejoin.v1 proof")?;
        let mut next = || field(&mut rest);
        let owned = Owned {
            purpose: [Purpose::Login, Purpose::Resume, Purpose::Link].into_iter().find({
                let word = next()?;
                move |purpose| purpose.as_str().as_bytes() == word
            })?,
            version: u32::from_be_bytes(next()?.try_into().ok()?),
            server_name: String::from_utf8(next()?).ok()?,
            nonce: next()?,
            session: u64::from_be_bytes(next()?.try_into().ok()?),
            epoch: u64::from_be_bytes(next()?.try_into().ok()?),
            fresh: flag(&next()?)?,
            cold: flag(&next()?)?,
            capabilities: {
                let list = next()?;
                let mut list = list.as_slice();
                let mut all = Vec::new();
                while !list.is_empty() {
                    all.push(String::from_utf8(field(&mut list)?).ok()?);
                }
                all
            },
            admission: next()?,
            channel_binding: next()?,
        };
        rest.is_empty().then_some(owned)
    }
}

fn flag(field: &[u8]) -> Option<bool> {
    match field {
        [0] => Some(false),
        [1] => Some(true),
        _ => None,
    }
}

fn field(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let (len, tail) = rest.split_first_chunk::<4>()?;
    let (field, tail) = tail.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    *rest = tail;
    Some(field.to_vec())
}

fn proofs() -> impl Strategy<Value = Owned> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..40);
    // Short strings of few letters, so that a text without lengths would collide often.
    let name = || "[ab]{0,3}";
    let purpose = prop_oneof![Just(Purpose::Login), Just(Purpose::Resume), Just(Purpose::Link)];
    let capabilities = proptest::collection::vec(name(), 0..4);
    let who = (purpose, any::<u32>(), name(), bytes(), any::<u64>(), any::<u64>());
    let how = (any::<bool>(), any::<bool>(), capabilities, bytes(), bytes());
    (who, how).prop_map(|(who, how)| {
        let (purpose, version, server_name, nonce, session, epoch) = who;
        let (fresh, cold, capabilities, admission, channel_binding) = how;
        Owned {
            purpose,
            version,
            server_name,
            nonce,
            session,
            epoch,
            fresh,
            cold,
            capabilities,
            admission,
            channel_binding,
        }
    })
}

proptest! {
    #[test]
    fn a_text_can_be_read_back(proof in proofs()) {
        prop_assert_eq!(Owned::read(&proof.text()), Some(proof));
    }

    #[test]
    fn different_proofs_have_different_texts(left in proofs(), right in proofs()) {
        prop_assert_eq!(left == right, left.text() == right.text());
    }

    #[test]
    fn bytes_cannot_wander_between_neighbouring_fields(proof in proofs(), cut in 0usize..4) {
        let mut other = proof.clone();
        let cut = cut.min(other.nonce.len());
        let moved: Vec<u8> = other.nonce.drain(..cut).collect();
        other.server_name.push_str(&String::from_utf8_lossy(&moved));
        prop_assert_eq!(proof == other, proof.text() == other.text());
    }
}

#[test]
fn a_list_is_not_the_list_of_its_joined_parts() {
    let mut split = Owned {
        purpose: Purpose::Login,
        version: 1,
        server_name: String::new(),
        nonce: vec![0; 32],
        session: 0,
        epoch: 0,
        fresh: false,
        cold: false,
        capabilities: vec!["a".into(), "b".into()],
        admission: Vec::new(),
        channel_binding: Vec::new(),
    };
    let text = split.text();
    split.capabilities = vec!["ab".into()];
    assert_ne!(split.text(), text);
    split.capabilities = vec!["b".into(), "a".into()];
    assert_ne!(split.text(), text);
}
