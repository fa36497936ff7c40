//! How the stories prove an account: in words. `password ann [bring|join]`, `token sub [bring|join]`,
//! `wrong`, `busy`, `silence`; anything else is the game's.

use rejoin_core::account::{Link, Name};
use rejoin_core::hub::{AccountProof, Hub};
use rejoin_core::wire::Bytes;

/// What the driver would say to this; nothing: it never does.
pub fn of(hub: &Hub, payload: &[u8]) -> Option<AccountProof> {
    let text = std::str::from_utf8(payload).unwrap_or_default();
    let words: Vec<&str> = text.split(' ').collect();
    let link = words.get(2).and_then(|word| Link::from_label(word));
    let payload = Bytes::from_static(b"for the game");
    Some(match words[..] {
        ["silence"] => return None,
        ["wrong"] => AccountProof::Wrong,
        ["busy"] => AccountProof::Busy,
        ["password", name, ..] => {
            let name = Name::parse(name).expect("a name");
            match hub.account_named(&name) {
                Some((account, known)) => {
                    AccountProof::Password { account, version: known.version, link, payload }
                }
                None => AccountProof::Wrong,
            }
        }
        ["token", subject, ..] => AccountProof::Token {
            issuer: "https://issuer.example".to_owned(),
            subject: subject.to_owned(),
            create: true,
            link,
            payload,
        },
        _ => AccountProof::None,
    })
}
