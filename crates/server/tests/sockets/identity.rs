//! Accounts on real sockets: passwords, tokens, links, locks, and a ban that races a thousand resumes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::{Signer, SigningKey};
use rejoin_core::account::{Name, Role};
use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::{AccountPolicy, HubConfig, PlayerCommand, Whom};
use rejoin_core::time::WallTime;
use rejoin_server::{IdentityConfig, JwtConfig, KeySource, WebConfig};
use serde_json::{Value, json};

use crate::client::{Client, Running, builder, hello, start_with, until};

const PASSWORD: &str = "correct horse";

async fn start(identity: IdentityConfig, guard: GuardConfig) -> Running {
    start_as(AccountPolicy::Optional, identity, guard).await
}

async fn start_as(
    accounts: AccountPolicy,
    identity: IdentityConfig,
    guard: GuardConfig,
) -> Running {
    let config = HubConfig { accounts, guard, returns_per_second: 0, ..HubConfig::default() };
    start_with(builder().config(config).identity(identity), WebConfig::default()).await
}

async fn open() -> Running {
    start(IdentityConfig::default(), GuardConfig::open()).await
}

fn whom(name: &str) -> Whom {
    Whom::Name(Name::parse(name).expect("a name"))
}

async fn add(running: &Running, name: &str) -> String {
    let password = running.server.hash_password(PASSWORD.to_owned()).await.expect("hashed");
    let name = Name::parse(name).expect("a name");
    let (role, password) = (Role::Player, Some(password));
    let add = PlayerCommand::Add { name: name.clone(), role, password };
    running.server.order_player(add).await.expect("added");
    let view = running.server.player(Whom::Name(name)).await.expect("it runs");
    STANDARD.encode(view.expect("it is there").player.0)
}

fn by_password(name: &str, password: &str) -> Value {
    json!({"account": {"name": name, "password": password}})
}

/// Logs in with what proves an account; the welcome, or the refusal.
async fn prove(running: &Running, identity: Value, account: &Value) -> Result<Client, Value> {
    let mut client = running.dial().await;
    client.hear("challenge").await;
    let admission = STANDARD.encode(account.to_string());
    client.say(hello(json!({"login": identity, "admission": admission}))).await;
    answered(client).await
}

async fn answered(mut client: Client) -> Result<Client, Value> {
    loop {
        let frame = client.next().await.unwrap_or_else(|code| panic!("closed: {code:?}"));
        // Whoever is overtaken before its welcome hears a farewell.
        if let Some(refusal) = frame.get("refusal").or(frame.get("farewell")) {
            return Err(refusal.clone());
        }
        if let Some(welcome) = frame.get("welcome") {
            client.welcome = welcome.clone();
            return Ok(client);
        }
    }
}

fn anonymous() -> Value {
    json!({"anonymous": {}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_and_a_password_are_enough_and_unknown_is_as_wrong() {
    let running = open().await;
    let ann = add(&running, "ann").await;
    let right = prove(&running, anonymous(), &by_password("Ann", PASSWORD)).await;
    assert_eq!(right.expect("let in").welcome["player"], ann.as_str());
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let mut answers = Vec::new();
    for _ in 0..7 {
        for (name, times) in [("ann", &mut known), ("nobody", &mut unknown)] {
            let asked = Instant::now();
            let wrong = prove(&running, anonymous(), &by_password(name, "wrong horse")).await;
            times.push(asked.elapsed());
            answers.push(wrong.err().expect("refused"));
        }
    }
    assert_eq!(answers[0]["code"], "CLOSE_CODE_CREDENTIAL");
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    known.sort();
    unknown.sort();
    println!("wrong {:?}, unknown {:?}", known[3], unknown[3]);
    assert!(unknown[3] * 3 > known[3] && known[3] * 3 > unknown[3], "the same work is done");
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_wrong_passwords_of_an_address_and_it_waits() {
    let running = start(IdentityConfig::default(), GuardConfig::default()).await;
    add(&running, "ann").await;
    let mut codes = Vec::new();
    for _ in 0..23 {
        let wrong = prove(&running, anonymous(), &by_password("ann", "wrong horse")).await;
        codes.push(wrong.err().expect("refused")["code"].clone());
    }
    let told = codes.iter().filter(|code| **code == "CLOSE_CODE_CREDENTIAL").count();
    assert_eq!(told, 20, "{codes:?}");
    let right = prove(&running, anonymous(), &by_password("ann", PASSWORD)).await;
    let refused = right.err().expect("the address waits");
    assert_eq!(refused["code"], "CLOSE_CODE_FLOODED");
    assert!(refused["retryAfterMs"].as_u64().is_some_and(|wait| wait > 0), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_pool_is_told_at_once_with_the_time_to_come_again() {
    let identity =
        IdentityConfig { hash_threads: 1, hash_waiting_max: 1, ..IdentityConfig::default() };
    let running = Arc::new(start(identity, GuardConfig::open()).await);
    add(&running, "ann").await;
    let logins = (0..24).map(|_| {
        let running = running.clone();
        tokio::spawn(async move {
            prove(&running, anonymous(), &by_password("ann", "wrong horse")).await.err()
        })
    });
    let mut refusals = Vec::new();
    for login in logins.collect::<Vec<_>>() {
        refusals.push(login.await.expect("it ends").expect("refused"));
    }
    let of = |code: &str| refusals.iter().filter(|refusal| refusal["code"] == code).count();
    let (full, wrong) = (of("CLOSE_CODE_FULL"), of("CLOSE_CODE_CREDENTIAL"));
    assert!(full > 0 && wrong > 0 && full + wrong == 24, "{full} full, {wrong} wrong");
    let waits = |refusal: &&Value| refusal["retryAfterMs"].as_u64().is_some();
    assert_eq!(refusals.iter().filter(waits).count(), full);
    let right = prove(&running, anonymous(), &by_password("ann", PASSWORD)).await;
    assert!(right.is_ok(), "it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_is_linked_and_stays_the_same_player() {
    let running = open().await;
    add(&running, "ann").await;
    let mut guest = running.dial().await;
    guest.hear("challenge").await;
    guest.say(hello(json!({"login": {"mint": {}}}))).await;
    let guest = answered(guest).await.expect("let in");
    let secret = json!({"secret": guest.welcome["secret"]});
    let mut account = by_password("ann", PASSWORD);
    account["account"]["link"] = "bring".into();
    let linked = prove(&running, secret.clone(), &account).await.expect("let in");
    assert_eq!(linked.welcome["player"], guest.welcome["player"]);
    assert_eq!(linked.welcome["session"], guest.welcome["session"]);
    assert_eq!(linked.welcome["found"], true);
    let elsewhere = prove(&running, anonymous(), &by_password("ann", PASSWORD)).await;
    let elsewhere = elsewhere.expect("let in");
    assert_eq!(elsewhere.welcome["player"], guest.welcome["player"], "on another device");
    let other = prove(&running, json!({"mint": {}}), &account).await.err().expect("refused");
    assert_eq!(other["code"], "CLOSE_CODE_ADMISSION_REFUSED");
    assert!(other["text"].as_str().is_some_and(|text| text.contains("player of its own")));
    let anonymous = prove(&running, anonymous(), &account).await.err().expect("refused");
    assert_eq!(anonymous["code"], "CLOSE_CODE_ADMISSION_REFUSED", "nothing to link");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_heard_at_once_and_a_required_account_keeps_guests_out() {
    let (policy, identity) = (AccountPolicy::Required, IdentityConfig::default());
    let running = start_as(policy, identity, GuardConfig::open()).await;
    add(&running, "ann").await;
    let stranger = prove(&running, json!({"mint": {}}), &json!({"ticket": 7})).await;
    assert_eq!(stranger.err().expect("refused")["code"], "CLOSE_CODE_IDENTITY_OFF");
    let account = by_password("ann", PASSWORD);
    let mut ann = prove(&running, anonymous(), &account).await.expect("let in");
    running.server.order_player(PlayerCommand::Lock(whom("ann"), true)).await.expect("locked");
    assert_eq!(ann.hear("farewell").await["code"], "CLOSE_CODE_LOCKED");
    let again = prove(&running, anonymous(), &account).await.err().expect("refused");
    assert_eq!(again["code"], "CLOSE_CODE_LOCKED");
    running.server.order_player(PlayerCommand::Lock(whom("ann"), false)).await.expect("unlocked");
    assert!(prove(&running, anonymous(), &account).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_another_service_is_an_account_and_a_bad_one_is_nobody() {
    let key = SigningKey::from_bytes(&[7; 32]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys.json");
    let x = URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes());
    let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x}]});
    std::fs::write(&file, set.to_string()).expect("written");
    let jwt = Some(JwtConfig::new("https://id.example", "game", KeySource::File(file)));
    let identity = IdentityConfig { jwt, ..IdentityConfig::default() };
    let running = start(identity, GuardConfig::open()).await;
    let padded = |subject: &str, audience: &str, padding: &str| {
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let exp = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock").as_secs() + 60;
        let claims = json!({"iss": "https://id.example", "aud": audience, "sub": subject,
                            "exp": exp, "groups": padding});
        let text = format!("{}.{}", part(json!({"alg": "EdDSA", "kid": "k"})), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(key.sign(text.as_bytes()).to_bytes());
        json!({"account": {"token": format!("{text}.{signature}")}})
    };
    let token = |subject: &str, audience: &str| padded(subject, audience, "");
    let first = prove(&running, anonymous(), &token("ann", "game")).await.expect("let in");
    let again = prove(&running, anonymous(), &token("ann", "game")).await.expect("let in");
    assert_eq!(first.welcome["player"], again.welcome["player"]);
    let other = prove(&running, anonymous(), &token("bob", "game")).await.expect("let in");
    assert_ne!(first.welcome["player"], other.welcome["player"]);
    // Services put groups and profiles into their tokens.
    let long = padded("ann", "game", &"g".repeat(5_900));
    let length = long["account"]["token"].as_str().map_or(0, str::len);
    assert!((8_000..=8_192).contains(&length), "{length}");
    let again = prove(&running, anonymous(), &long).await.expect("let in");
    assert_eq!(first.welcome["player"], again.welcome["player"]);
    for bad in [token("ann", "shop"), json!({"account": {"token": "a.b.c"}})] {
        let refused = prove(&running, anonymous(), &bad).await.err().expect("refused");
        assert_eq!(refused["code"], "CLOSE_CODE_CREDENTIAL");
        assert_eq!(refused["text"], "unknown or wrong", "the same as for a password");
    }
    let unreadable = json!({"account": {"token": 7}});
    let refused = prove(&running, anonymous(), &unreadable).await.err().expect("refused");
    assert_eq!(refused["code"], "CLOSE_CODE_ADMISSION_REFUSED");
}

/// What became of a resume.
#[derive(Default)]
struct Tally {
    welcomed: AtomicUsize,
    overtaken: AtomicUsize,
    banned: AtomicUsize,
    gone: AtomicUsize,
    slipped: AtomicUsize,
    asked: AtomicUsize,
}

impl Tally {
    /// Resumes that were asked for and have no answer yet.
    fn in_flight(&self) -> usize {
        let answered = [&self.welcomed, &self.overtaken, &self.banned, &self.gone];
        let answered: usize = answered.into_iter().map(|one| one.load(Ordering::SeqCst)).sum();
        self.asked.load(Ordering::SeqCst).saturating_sub(answered)
    }
}

/// Must show: a ban racing 1,000 resumes, and none slips through.
#[tokio::test(flavor = "multi_thread")]
async fn a_ban_races_a_thousand_resumes_and_none_slips_through() {
    const RESUMES: usize = 1_000;
    let running = Arc::new(open().await);
    add(&running, "mallory").await;
    let account = by_password("mallory", PASSWORD);
    let first = prove(&running, anonymous(), &account).await.expect("let in");
    let resume = hello(json!({"resume": {
        "session": first.welcome["session"], "token": first.welcome["token"],
        "epoch": first.welcome["epoch"], "cold": true,
    }}));
    let (tally, is_banned) = (Arc::new(Tally::default()), Arc::new(AtomicBool::new(false)));
    // One half goes first, and its resumes are under way when the ban is; the other half goes when
    // the ban does. So resumes overlap with it on both sides, however fast either is.
    let gates = [RESUMES / 2 + 1, RESUMES - RESUMES / 2 + 1].map(tokio::sync::Barrier::new);
    let gates = Arc::new(gates);
    let racers: Vec<_> = (0..RESUMES)
        .map(|racer| {
            let (running, resume, gates) = (running.clone(), resume.clone(), gates.clone());
            let (tally, is_banned) = (tally.clone(), is_banned.clone());
            tokio::spawn(async move {
                let mut client = running.dial().await;
                client.hear("challenge").await;
                gates[racer % 2].wait().await;
                tally.asked.fetch_add(1, Ordering::SeqCst);
                // Asked after the ban was told to be done: whoever is welcomed then has slipped.
                let is_late = is_banned.load(Ordering::SeqCst);
                client.say(resume).await;
                race(client, &tally, is_late).await;
            })
        })
        .collect();
    gates[0].wait().await;
    let seen = || tally.welcomed.load(Ordering::SeqCst) + tally.overtaken.load(Ordering::SeqCst);
    while seen() == 0 {
        tokio::task::yield_now().await;
    }
    let ban = PlayerCommand::Ban(whom("mallory"), WallTime(u64::MAX), "cheated".to_owned());
    let (before, under_way) = (seen(), tally.in_flight());
    let (banned, _) = tokio::join!(running.server.order_player(ban), gates[1].wait());
    banned.expect("banned");
    is_banned.store(true, Ordering::SeqCst);
    let sessions = running.server.sessions().await.expect("it runs");
    assert!(sessions.is_empty(), "no session is left when the ban is told: {sessions:?}");
    for racer in racers {
        tokio::time::timeout(Duration::from_secs(60), racer).await.expect("in time").expect("ends");
    }
    let refused = tally.banned.load(Ordering::SeqCst) + tally.gone.load(Ordering::SeqCst);
    // And whoever comes after.
    for _ in 0..10 {
        let mut client = running.dial().await;
        client.hear("challenge").await;
        client.say(resume.clone()).await;
        race(client, &tally, true).await;
    }
    let login = prove(&running, anonymous(), &account).await.err().expect("refused");
    assert_eq!(login["code"], "CLOSE_CODE_BANNED");
    assert_eq!(login["text"], "this player is banned: cheated");
    let count = |one: &AtomicUsize| one.load(Ordering::SeqCst);
    let (welcomed, overtaken) = (count(&tally.welcomed), count(&tally.overtaken));
    let (banned, gone) = (count(&tally.banned), count(&tally.gone));
    println!(
        "{welcomed} welcomed before the ban and ended, {overtaken} overtaken before their welcome, \
         {banned} refused as banned, {gone} found no session"
    );
    assert_eq!(welcomed + overtaken + banned + gone, RESUMES + 10);
    assert_eq!(count(&tally.slipped), 0);
    println!(
        "{before} let in and {under_way} under way when the ban came, {refused} racers refused"
    );
    assert!(before > 0 && under_way > 0 && refused > 0, "it was a race");
    until("every connection is closed", async || running.server.connection_count() == 0).await;
    assert!(running.server.sessions().await.expect("it runs").is_empty());
}

/// Hears the answer to a resume and, if it is let in, how that ends.
async fn race(client: Client, tally: &Tally, is_late: bool) {
    let count = |one: &AtomicUsize| {
        one.fetch_add(1, Ordering::SeqCst);
    };
    match answered(client).await {
        Ok(mut client) => {
            count(&tally.welcomed);
            if is_late {
                count(&tally.slipped);
            }
            let end = loop {
                match client.next().await {
                    Ok(frame) => match frame.get("farewell") {
                        Some(farewell) => break farewell["code"].clone(),
                        None => continue,
                    },
                    Err(code) => panic!("closed without a word: {code:?}"),
                }
            };
            assert!(end == "CLOSE_CODE_TAKEN_OVER" || end == "CLOSE_CODE_BANNED", "{end}");
        }
        Err(refusal) if refusal["code"] == "CLOSE_CODE_BANNED" => count(&tally.banned),
        Err(refusal) if refusal["code"] == "CLOSE_CODE_TAKEN_OVER" => count(&tally.overtaken),
        Err(refusal) => {
            assert_eq!(refusal["code"], "CLOSE_CODE_SESSION_UNKNOWN", "{refusal}");
            count(&tally.gone);
        }
    }
}
