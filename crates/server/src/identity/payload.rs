//! What a client sends along to log in to an account: JSON with the one key `account`. Anything else
//! is the game's business and is not looked at further.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use rejoin_core::account::Link;
use serde::Deserialize;
use serde_json::Value;

/// What the admission payload of a login holds for the accounts.
#[derive(PartialEq, Eq)]
pub(super) enum LoginPayload {
    /// Nothing for an account: all of it is the game's.
    Nothing,
    /// It is, and cannot be read: why.
    Unreadable(&'static str),
    Password {
        name: String,
        password: String,
        link: Option<Link>,
        payload: Bytes,
    },
    Token {
        token: String,
        link: Option<Link>,
        payload: Bytes,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    name: Option<String>,
    password: Option<String>,
    token: Option<String>,
    link: Option<String>,
    payload: Option<String>,
}

pub(super) fn read(payload: &[u8]) -> LoginPayload {
    let Ok(Value::Object(mut outer)) = serde_json::from_slice(payload) else {
        return LoginPayload::Nothing;
    };
    let Some(inner) = outer.remove("account") else { return LoginPayload::Nothing };
    if !outer.is_empty() {
        return LoginPayload::Unreadable(
            "beside account there is nothing; payload is for the game",
        );
    }
    let Ok(Fields { name, password, token, link, payload }) = serde_json::from_value(inner) else {
        let why = "account has name and password, or token; and link and payload if wanted";
        return LoginPayload::Unreadable(why);
    };
    let link = match link.as_deref().map(Link::from_label) {
        Some(None) => return LoginPayload::Unreadable("link is bring or join"),
        link => link.flatten(),
    };
    let Ok(payload) = STANDARD.decode(payload.unwrap_or_default()) else {
        return LoginPayload::Unreadable("account.payload is base64");
    };
    let payload = payload.into();
    match (name, password, token) {
        (Some(name), Some(password), None) => {
            LoginPayload::Password { name, password, link, payload }
        }
        (None, None, Some(token)) => LoginPayload::Token { token, link, payload },
        _ => LoginPayload::Unreadable("account has name and password, or token, and not both"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_for_an_account_is_left_alone() {
        for payload in ["", "ticket", "[1]", "{}", "{\"ticket\":1}", "{\"account", "\u{0}"] {
            assert!(read(payload.as_bytes()) == LoginPayload::Nothing, "{payload}");
        }
        assert!(read(&[0xff, 0xfe]) == LoginPayload::Nothing);
    }

    #[test]
    fn what_is_for_an_account_is_read_strictly() {
        let good = br#"{"account":{"name":"ann","password":"x y","link":"join","payload":"aGk="}}"#;
        let wanted = LoginPayload::Password {
            name: "ann".to_owned(),
            password: "x y".to_owned(),
            link: Some(Link::Join),
            payload: Bytes::from_static(b"hi"),
        };
        assert!(read(good) == wanted);
        let token =
            LoginPayload::Token { token: "a.b.c".to_owned(), link: None, payload: Bytes::new() };
        assert!(read(br#"{"account":{"token":"a.b.c"}}"#) == token);
        for wrong in [
            r#"{"account":null}"#,
            r#"{"account":{}}"#,
            r#"{"account":{"name":"ann"}}"#,
            r#"{"account":{"name":"ann","password":"x","token":"y"}}"#,
            r#"{"account":{"name":"ann","password":"x","link":"take"}}"#,
            r#"{"account":{"name":"ann","password":"x","payload":"%"}}"#,
            r#"{"account":{"name":"ann","password":"x","role":"admin"}}"#,
            r#"{"account":{"name":"ann","password":7}}"#,
            r#"{"account":{"name":"ann","password":"x"},"ticket":1}"#,
        ] {
            assert!(matches!(read(wrong.as_bytes()), LoginPayload::Unreadable(_)), "{wrong}");
        }
    }
}
