//! Tokens that are good, and all the ways in which they are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

type Change = fn(&mut Value);

const ISSUER: &str = "https://id.example";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn jwk(id: &str, key: &SigningKey) -> Value {
    let x = URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes());
    json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": id, "x": x})
}

fn now() -> u64 {
    jsonwebtoken::get_current_timestamp()
}

fn claims() -> Value {
    let now = now();
    json!({"iss": ISSUER, "aud": "game", "sub": "ann", "exp": now + 300, "nbf": now - 10})
}

fn signed(header: &Value, claims: &Value, key: &SigningKey) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(text.as_bytes()).to_bytes());
    format!("{text}.{signature}")
}

fn token(change: impl FnOnce(&mut Value)) -> String {
    let mut claims = claims();
    change(&mut claims);
    signed(&json!({"alg": "EdDSA", "kid": "k1"}), &claims, &key(1))
}

fn jwt(keys: &[Value]) -> (tempfile::TempDir, Jwt) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys.json");
    std::fs::write(&file, json!({"keys": keys}).to_string()).expect("written");
    let config = JwtConfig::new(ISSUER, "game", KeySource::File(file));
    let jwt = Jwt::new(config).expect("good settings");
    (folder, jwt)
}

#[tokio::test]
async fn a_good_token_tells_its_subject() {
    let (_folder, jwt) = jwt(&[jwk("k1", &key(1))]);
    assert_eq!(jwt.check(&token(|_| {})).await, Ok("ann".to_owned()));
    let several = token(|claims| claims["aud"] = json!(["other", "game"]));
    assert_eq!(jwt.check(&several).await, Ok("ann".to_owned()));
    // Within the skew, both ways.
    let edges = token(|claims| {
        claims["exp"] = json!(now() - 30);
        claims["nbf"] = json!(now() + 30);
    });
    assert_eq!(jwt.check(&edges).await, Ok("ann".to_owned()));
    let unnamed = signed(&json!({"alg": "EdDSA"}), &claims(), &key(1));
    assert_eq!(jwt.check(&unnamed).await, Ok("ann".to_owned()), "there is one key only");
}

#[tokio::test]
async fn claims_that_do_not_fit_are_refused() {
    let (_folder, jwt) = jwt(&[jwk("k1", &key(1))]);
    let changes: Vec<(&str, Change)> = vec![
        ("expired", |claims| claims["exp"] = json!(now() - 120)),
        ("too early", |claims| claims["nbf"] = json!(now() + 120)),
        ("another issuer", |claims| claims["iss"] = json!("https://evil.example")),
        ("another audience", |claims| claims["aud"] = json!("shop")),
        ("a subject that is a number", |claims| claims["sub"] = json!(7)),
        ("an empty subject", |claims| claims["sub"] = json!("")),
        ("a long subject", |claims| claims["sub"] = json!("x".repeat(256))),
        ("a subject with a line break", |claims| claims["sub"] = json!("a\nb")),
        ("an expiry that is no number", |claims| claims["exp"] = json!("never")),
    ];
    for (what, change) in changes {
        assert!(jwt.check(&token(change)).await.is_err(), "{what}");
    }
    for missing in ["exp", "iss", "aud", "sub"] {
        let without = token(|claims| drop(claims.as_object_mut().expect("a map").remove(missing)));
        assert!(jwt.check(&without).await.is_err(), "without {missing}");
    }
}

#[tokio::test]
async fn the_token_does_not_choose_how_it_is_checked() {
    let (_folder, jwt) = jwt(&[jwk("k1", &key(1)), jwk("k2", &key(2))]);
    let good = |header: Value| signed(&header, &claims(), &key(1));
    for header in [
        json!({"alg": "none", "kid": "k1"}),
        json!({"alg": "HS256", "kid": "k1"}),
        json!({"alg": "RS256", "kid": "k1"}),
        json!({"alg": "ES256", "kid": "k1"}),
        json!({"alg": "EdDSA", "kid": "k2"}),
        json!({"alg": "EdDSA", "kid": "k3"}),
        json!({"alg": "EdDSA", "kid": "../../k1"}),
        json!({"alg": "EdDSA"}),
        json!({"kid": "k1"}),
    ] {
        assert!(jwt.check(&good(header.clone())).await.is_err(), "{header}");
    }
    // Signed with the public key as if it were a secret: the old trick.
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&json!({"alg": "HS256", "kid": "k1"})), part(&claims()));
    let secret = jsonwebtoken::EncodingKey::from_secret(key(1).verifying_key().as_bytes());
    let mac = jsonwebtoken::crypto::sign(text.as_bytes(), &secret, Algorithm::HS256);
    assert!(jwt.check(&format!("{text}.{}", mac.expect("signed"))).await.is_err());
    let unsigned = good(json!({"alg": "none"}));
    let unsigned = unsigned.rsplit_once('.').expect("three parts").0;
    assert!(jwt.check(&format!("{unsigned}.")).await.is_err());
}

#[tokio::test]
async fn garbage_is_refused_whatever_its_length() {
    let (_folder, jwt) = jwt(&[jwk("k1", &key(1))]);
    let good = token(|_| {});
    for at in 0..good.len() {
        assert!(jwt.check(&good[..at]).await.is_err(), "cut at {at}");
    }
    let long = "a".repeat(1 << 20);
    for bad in ["", ".", "..", "a.b.c", "....", "\u{0}.\u{0}.\u{0}", &long, &format!("{good}.x")] {
        assert!(jwt.check(bad).await.is_err());
    }
}

#[test]
fn settings_that_would_let_anybody_in_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys.json");
    let config = || JwtConfig::new(ISSUER, "game", KeySource::File(file.clone()));
    assert!(Jwt::new(config()).is_err(), "no file");
    let secret = json!({"kty": "oct", "kid": "s", "k": "c2VjcmV0"});
    for keys in [json!({"keys": []}), json!({"keys": [secret]}), json!(7)] {
        std::fs::write(&file, keys.to_string()).expect("written");
        assert!(Jwt::new(config()).is_err(), "{keys}");
    }
    std::fs::write(&file, json!({"keys": [jwk("k1", &key(1))]}).to_string()).expect("written");
    assert!(Jwt::new(config()).is_ok());
    for algorithm in ["none", "HS256", "eddsa", ""] {
        let algorithms = vec![algorithm.to_owned()];
        assert!(Jwt::new(JwtConfig { algorithms, ..config() }).is_err(), "{algorithm}");
    }
    assert!(Jwt::new(JwtConfig { algorithms: Vec::new(), ..config() }).is_err());
    assert!(Jwt::new(JwtConfig { audience: Vec::new(), ..config() }).is_err());
    assert!(Jwt::new(JwtConfig { issuer: String::new(), ..config() }).is_err());
    let far = KeySource::Url("http://id.example/keys".to_owned());
    assert!(Jwt::new(JwtConfig { keys: far, ..config() }).is_err(), "plain http");
}

/// Serves these keys, and counts how often it is asked.
async fn serve(keys: Value) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/keys", listener.local_addr().expect("bound"));
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let mut head = [0; 1_024];
            let _ = socket.read(&mut head).await;
            let body = keys.to_string();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = socket.write_all((head + &body).as_bytes()).await;
        }
    });
    (url, asked)
}

#[tokio::test]
async fn made_up_key_ids_make_us_ask_once() {
    let (url, asked) = serve(json!({"keys": [jwk("k1", &key(1))]})).await;
    let jwt = Jwt::new(JwtConfig::new(ISSUER, "game", KeySource::Url(url))).expect("good settings");
    assert_eq!(jwt.check(&token(|_| {})).await, Ok("ann".to_owned()));
    for id in 0..100 {
        let header = json!({"alg": "EdDSA", "kid": format!("made-up-{id}")});
        assert!(jwt.check(&signed(&header, &claims(), &key(1))).await.is_err());
    }
    assert_eq!(jwt.check(&token(|_| {})).await, Ok("ann".to_owned()));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_issuer_that_cannot_be_asked_lets_nobody_in_by_token() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/keys", listener.local_addr().expect("bound"));
    drop(listener);
    let jwt = Jwt::new(JwtConfig::new(ISSUER, "game", KeySource::Url(url))).expect("good settings");
    assert!(jwt.check(&token(|_| {})).await.is_err());
    let (url, _) = serve(json!({"keys": "x".repeat(100_000)})).await;
    let jwt = Jwt::new(JwtConfig::new(ISSUER, "game", KeySource::Url(url))).expect("good settings");
    assert!(jwt.check(&token(|_| {})).await.is_err(), "too long an answer");
}
