//! Lines as they are written, floods, and addresses.

use std::io::Write;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rejoin_core::event::Offence;
use rejoin_core::id::{PlayerId, ZoneId};
use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::admission::{Admission as _, LogGate};
use crate::metrics::Transport;
use crate::webhook::Webhook;

#[test]
fn a_flood_of_one_cause_writes_ten_lines_a_second_and_counts_the_rest() {
    let gate = Gate::default();
    let mut written = 0;
    let mut reported = 0;
    // Ten thousand lines over ten seconds.
    for line in 0..10_000 {
        if let Some(suppressed) = gate.pass(line * 1_000, LINES_PER_SECOND, LINES_BURST) {
            written += 1;
            reported += suppressed;
        }
    }
    assert!((110..=121).contains(&written), "{written}");
    assert_eq!(written + reported + gate.suppressed.load(Ordering::Relaxed), 10_000);
}

#[test]
fn one_cause_does_not_silence_another_and_all_have_a_gate() {
    let log = Logbook::new(MonotonicClock::start(), Addresses::Hash);
    for _ in 0..100 {
        log.pass(Cause::Ended(EndCause::Left));
    }
    assert_eq!(log.pass(Cause::Ended(EndCause::Left)), None);
    for (cause, _) in CAUSES.iter().filter(|(one, _)| *one != Cause::Ended(EndCause::Left)) {
        assert_eq!(log.pass(*cause), Some(None), "{cause:?}");
    }
    for cause in EndCause::ALL {
        assert!(CAUSES.iter().any(|(one, _)| *one == Cause::Ended(cause)));
    }
    assert!(log.suppressed_total() >= 80);
}

#[test]
fn addresses_are_shown_as_the_operator_wants_them() {
    let home: IpAddr = "192.0.2.7".parse().expect("an address");
    let mapped: IpAddr = "::ffff:192.0.2.7".parse().expect("an address");
    let log = |addresses| Logbook::new(MonotonicClock::start(), addresses);
    assert_eq!(log(Addresses::Plain).address(Some(mapped)), "192.0.2.7");
    assert_eq!(log(Addresses::None).address(Some(home)), "hidden");
    let hashed = log(Addresses::Hash);
    assert_eq!(hashed.address(Some(home)), hashed.address(Some(mapped)));
    assert!(!hashed.address(Some(home)).contains("192"));
    // Another start has another key: the numbers of two logs cannot be compared.
    assert_ne!(hashed.address(Some(home)), log(Addresses::Hash).address(Some(home)));
    assert_eq!(hashed.address(None), "in-process");
}

/// Where lines of a test go.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Page {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// The lines that are written meanwhile.
fn written(doing: impl FnOnce(&Logbook)) -> Vec<String> {
    let page = Page::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(page.clone())
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_max_level(tracing::Level::DEBUG)
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        doing(&Logbook::new(MonotonicClock::start(), Addresses::None));
    });
    let bytes = page.0.lock().expect("no panic").clone();
    String::from_utf8(bytes).expect("text").lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn lines_of_the_admission_hook_pass_a_gate_too() {
    let since = std::time::Instant::now();
    let log = Arc::new(Logbook::new(MonotonicClock::start(), Addresses::None));
    let lines = written(|_| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            // No listener is on that port.
            let hook = Webhook::new("http://127.0.0.1:1/admit", None).expect("a good URL");
            let gate = log.clone();
            hook.begin(LogGate::new(move || gate.pass(Cause::Admission)));
            for _ in 0..90 {
                let refused = hook.admit(PlayerId([0; 16]), Bytes::new()).await;
                assert_eq!(refused, Err("the game cannot be asked".to_owned()));
            }
        });
    });
    let about = "the admission hook cannot be asked";
    let reported = lines.iter().filter(|line| line.contains(about)).count() as u64;
    let most = LINES_BURST + 1 + since.elapsed().as_secs() * LINES_PER_SECOND + LINES_PER_SECOND;
    assert!((1..=most).contains(&reported), "{reported} of at most {most}");
    assert_eq!(reported + log.suppressed_total(), 90);
}

#[test]
fn every_line_has_its_name_and_its_fields() {
    let (session, connection) = (SessionId(7), ConnectionId(3));
    let address = Some(IpAddr::from([192, 0, 2, 7]));
    let lines = written(|log| {
        let origin = ConnectionOrigin { transport: Transport::WebSocket, address };
        log.created(session, Some(connection), Some(origin));
        log.created(SessionId(8), None, None);
        log.event(&Event::SessionLinked { session, connection });
        let (step, what) = (Step::Sever, Offence::TooSlow);
        let connection = Some(connection);
        log.event(&Event::GuardStep { step, connection, session: Some(session), what });
        let text = "boom\n\u{1b}[31mINFO session created".to_owned();
        log.event(&Event::ZoneFault { zone: ZoneId(5), text, closed: false });
        log.ended(session, EndCause::Idle, Duration::from_millis(1_500));
        log.ended(session, EndCause::Left, Duration::from_secs(2));
        let (site, fact) = ("zone/stream.rs:7".to_owned(), "7 is said to nobody".to_owned());
        log.impossible(&Impossible { site, fact });
    });
    let expected = [
        r#"INFO session created session=7 connection=3 transport="websocket" address=hidden"#,
        r#"INFO session created session=8 transport="native" address=in-process"#,
        "DEBUG session linked session=7 connection=3",
        r#"INFO guard step step="sever" connection=3 session=7 what="too_slow""#,
        r#"ERROR zone fault zone=5 text="boom\n\u{1b}[31mINFO session created" closed=false"#,
        "INFO idle timeout session=7",
        r#"INFO session ended session=7 cause="idle" lasted_s=1.5"#,
        r#"INFO session ended session=7 cause="left" lasted_s=2.0"#,
        r#"ERROR a state that the rules exclude site="zone/stream.rs:7" fact="7 is said to nobody""#,
    ];
    assert_eq!(lines, expected);
}

#[test]
fn what_is_held_back_is_told_when_its_cause_has_fallen_silent() {
    let lines = written(|log| {
        for id in 0..1_000 {
            log.ended(SessionId(id), EndCause::Left, Duration::ZERO);
        }
        log.tell_suppressed();
        assert!(log.suppressed_total() > 900);
        // Its burst has come back.
        let left = Cause::Ended(EndCause::Left);
        let index = CAUSES.iter().position(|(cause, _)| *cause == left).expect("it is one");
        let rested = &log.gates[index];
        rested.rested_at.store(0, Ordering::Relaxed);
        log.tell_suppressed();
        log.tell_suppressed();
    });
    let reported: Vec<_> = lines.iter().filter(|line| line.contains("suppressed")).collect();
    assert!(reported.len() == 1, "{reported:?}");
    assert!(reported[0].starts_with(r#"WARN log lines suppressed cause="session ended: left""#));
    assert_eq!(lines.len(), 20 + 1, "a burst, and the word on the rest");
}
