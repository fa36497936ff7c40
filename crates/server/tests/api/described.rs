//! The description of the interface says what is there, and nothing else.

use std::collections::BTreeSet;

use rejoin_server::api;
use serde_json::Value;

use crate::desk::Desk;

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_and_every_problem_is_described_and_nothing_else_is() {
    let desk = Desk::open().await;
    let described = desk.open.get("/v1/openapi.json").await.json(200);
    assert_eq!(described["openapi"], "3.1.0");
    let mut there = BTreeSet::new();
    for (path, operations) in described["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let text = operation["description"].as_str().expect("a description");
            let roles = text.split("Roles: ").nth(1).expect("its roles").trim_end_matches('.');
            there.insert((method.to_uppercase(), path.clone(), roles.to_owned()));
        }
    }
    let is: BTreeSet<_> = api::operations()
        .into_iter()
        .map(|(method, path, roles)| {
            let roles: Vec<_> = roles.iter().map(|role| role.label()).collect();
            (method.to_owned(), path, roles.join(", "))
        })
        .collect();
    assert_eq!(there, is);
    let codes = described["components"]["schemas"]["Problem"]["properties"]["code"]["enum"].clone();
    let codes: Vec<String> = serde_json::from_value(codes).expect("codes");
    let known: Vec<_> = api::problems().into_iter().map(|(code, _)| code.to_owned()).collect();
    assert_eq!(codes, known);
    desk.server.stop().await;
}

/// Every name that is pointed to is there.
#[tokio::test(flavor = "multi_thread")]
async fn the_description_points_to_nothing_that_is_not_there() {
    fn pointers(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("$ref", Value::String(pointer)) => found.push(pointer.clone()),
                        _ => pointers(value, found),
                    }
                }
            }
            Value::Array(all) => all.iter().for_each(|value| pointers(value, found)),
            _ => {}
        }
    }
    let desk = Desk::open().await;
    let described = desk.open.get("/v1/openapi.json").await.json(200);
    let mut found = Vec::new();
    pointers(&described, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for pointer in found {
        let place = pointer.strip_prefix('#').expect("in this document");
        assert!(described.pointer(place).is_some(), "{pointer}");
    }
    desk.server.stop().await;
}
