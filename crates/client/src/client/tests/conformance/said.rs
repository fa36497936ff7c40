//! What a client does, in the words of the scripts: the names of the contract without their prefixes,
//! in lower case; payloads as text; frames as their JSON.

use rejoin_wire::v1::{Latest, ZoneRef};
use rejoin_wire::{Encoding, Limits, close, decode_client, encode_client};
use serde_json::{Value, json};

use crate::{CloseCode, Event, Output, RequestEnd, Secret, Violation};

/// One output.
pub(super) fn output(encoding: Encoding, output: Output) -> Value {
    match output {
        Output::Connect { addresses } => json!({ "connect": addresses }),
        Output::Send(bytes) => {
            let frame = decode_client(encoding, bytes, &Limits::DEFAULT).unwrap();
            let text = encode_client(Encoding::Json, &frame).unwrap();
            json!({ "send": serde_json::from_slice::<Value>(&text).unwrap() })
        }
        Output::Close(closed) => json!({ "close": closed.map(code) }),
        Output::StoreToken(state) => json!({ "store_token": {
            "session": state.session.to_string(),
            "token": byte(&state.token),
            "epoch": state.epoch.to_string(),
        } }),
        Output::StoreSecret(secret) => json!({ "store_secret": byte(&secret) }),
        Output::ForgetToken => json!({ "forget_token": {} }),
        Output::Event(told) => json!({ "event": event(told) }),
    }
}

/// One event.
fn event(event: Event) -> Value {
    match event {
        Event::Connected {
            rung,
            reason,
            session,
            player,
            zone,
            found,
            lost_upstream,
            after,
            capabilities,
        } => json!({ "connected": {
            "rung": format!("{rung:?}").to_lowercase(),
            "reason": word(reason.as_str_name(), "RUNG_REASON_"),
            "session": session.to_string(),
            "player": player[0].to_string(),
            "zone": zone.map(|zone| place(&zone)),
            "found": found,
            "lost_upstream": lost_upstream.to_string(),
            "after": after.map(code),
            "capabilities": capabilities,
        } }),
        Event::Disconnected { code: closed } => {
            json!({ "disconnected": { "code": closed.map(code) } })
        }
        Event::Reconnecting { attempt, in_ms } => {
            json!({ "reconnecting": { "attempt": attempt, "in_ms": in_ms } })
        }
        Event::Stopped { code: closed, text } => {
            json!({ "stopped": { "code": closed.map(code), "text": text } })
        }
        Event::TakenOver => json!({ "taken_over": {} }),
        Event::Left => json!({ "left": {} }),
        Event::Notice { code, text, wait_ms } => json!({ "notice": {
            "code": word(code.as_str_name(), "NOTICE_CODE_"), "text": text, "wait_ms": wait_ms,
        } }),
        Event::Violation(violation) => json!({ "violation": { "kind": kind(&violation) } }),
        event => of_stream(event),
    }
}

fn of_stream(event: Event) -> Value {
    match event {
        Event::Joined { to, zone, payload, latest } => json!({ "joined": {
            "to": to.map(|to| to.0), "zone": place(&zone), "payload": text(&payload),
            "latest": values(&latest),
        } }),
        Event::Parted { to, cause, text } => json!({ "parted": {
            "to": to.map(|to| to.0), "cause": word(cause.as_str_name(), "PART_CAUSE_"), "text": text,
        } }),
        Event::Refused { to, code, text } => json!({ "refused": {
            "to": to.map(|to| to.0), "code": word(code.as_str_name(), "REFUSAL_CODE_"), "text": text,
        } }),
        Event::Message { payload } => json!({ "message": { "payload": text(&payload) } }),
        Event::Latest { key, payload } => {
            json!({ "latest": { "key": key, "payload": payload.map(|payload| text(&payload)) } })
        }
        Event::Unreliable { payload } => json!({ "unreliable": { "payload": text(&payload) } }),
        Event::Reply { request, payload } => {
            json!({ "reply": { "request": request.0, "payload": text(&payload) } })
        }
        Event::RequestEnded { request, how } => {
            let (how, code) = match how {
                RequestEnd::OutcomeUnknown => ("outcome_unknown", None),
                RequestEnd::NotSent => ("not_sent", None),
                RequestEnd::Refused(code) => {
                    ("refused", Some(word(code.as_str_name(), "REFUSAL_CODE_")))
                }
            };
            json!({ "request_ended": { "request": request.0, "how": how, "code": code } })
        }
        Event::Call { call, payload, deadline_ms } => json!({ "call": {
            "call": call.to_string(), "payload": text(&payload), "deadline_ms": deadline_ms,
        } }),
        Event::Resync { snapshot, latest, zone, reason, lost_upstream } => json!({ "resync": {
            "snapshot": text(&snapshot), "latest": values(&latest),
            "zone": zone.map(|zone| place(&zone)),
            "reason": word(reason.as_str_name(), "RUNG_REASON_"),
            "lost_upstream": lost_upstream.to_string(),
        } }),
        Event::SendsLost { sends } => {
            let sends: Vec<u64> = sends.iter().map(|send| send.0).collect();
            json!({ "sends_lost": { "sends": sends } })
        }
        other => panic!("no client without a driver says {other:?}"),
    }
}

/// The code of a name in the scripts.
pub(super) fn close_code(name: &str) -> CloseCode {
    let row = close::TABLE.iter().find(|row| row.name.to_lowercase() == name);
    row.map_or(CloseCode::Unspecified, |row| row.code)
}

fn code(code: CloseCode) -> String {
    close::row(code).name.to_lowercase()
}

fn kind(violation: &Violation) -> &'static str {
    match violation {
        Violation::Undecodable(_) => "undecodable",
        Violation::OutOfState => "out_of_state",
        Violation::BadWelcome => "bad_welcome",
        Violation::LegBackwards { .. } => "leg_backwards",
        Violation::AppliedAhead { .. } => "applied_ahead",
        Violation::AppliedBehind { .. } => "applied_behind",
    }
}

fn word(name: &str, prefix: &str) -> String {
    name.trim_start_matches(prefix).to_lowercase()
}

fn place(zone: &ZoneRef) -> Value {
    json!({ "kind": zone.kind, "name": zone.name })
}

fn values(latest: &[Latest]) -> Value {
    latest.iter().map(|each| json!({ "key": each.key, "payload": text(&each.payload) })).collect()
}

fn text(payload: &[u8]) -> String {
    String::from_utf8(payload.to_vec()).unwrap()
}

fn byte(secret: &Secret) -> String {
    secret.expose()[0].to_string()
}

/// The file of a script: an output a line, so that a difference is seen at once.
pub(super) fn written(script: &Value) -> String {
    let mut text = String::from("{\n");
    for key in ["about", "config", "identity", "resume_state", "chance", "encodings"] {
        if let Some(value) = script.get(key) {
            text.push_str(&format!("  \"{key}\": {value},\n"));
        }
    }
    let steps: Vec<String> = script["steps"].as_array().unwrap().iter().map(step).collect();
    text.push_str(&format!("  \"steps\": [\n{}\n  ]\n}}\n", steps.join(",\n")));
    text
}

fn step(step: &Value) -> String {
    let mut lines = Vec::new();
    let pairs = |keys: &[&str]| {
        let found = keys.iter().filter_map(|key| Some(format!("\"{key}\": {}", step.get(key)?)));
        found.collect::<Vec<_>>().join(", ")
    };
    lines.extend(step.get("about").map(|about| format!("     \"about\": {about},")));
    lines.push(format!("     {},", pairs(&["at", "do"])));
    let outputs: Vec<String> = step["outputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|output| format!("       {output}"))
        .collect();
    let outputs = match outputs.len() {
        0 => "[]".to_owned(),
        _ => format!("[\n{}\n     ]", outputs.join(",\n")),
    };
    lines.push(format!("     \"outputs\": {outputs},"));
    lines.push(format!("     {}}}", pairs(&["returns", "status", "deadline", "latency"])));
    let text = lines.join("\n");
    format!("    {{{}", &text[5..])
}
