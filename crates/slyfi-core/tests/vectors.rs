//! The committed vectors, bit for bit, with their failing twins; and that the check itself can fail.

use serde_json::Value;
use slyfi_core::vectors::check;

const S2008: &str = include_str!("../../../vectors/slyfi_2008.json");
const AEAD: &str = include_str!("../../../vectors/slyfi_aead.json");

#[test]
fn suite_2008_equals_the_reference_bit_for_bit() {
    let checked = check(S2008).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((checked.suite.as_str(), checked.vectors), ("2008", 21));
    assert!(checked.twins > 10_000, "{} twins", checked.twins);
}

#[test]
fn suite_aead_equals_the_reference_bit_for_bit() {
    let checked = check(AEAD).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((checked.suite.as_str(), checked.vectors), ("aead", 136));
    assert!(checked.twins > 100_000, "{} twins", checked.twins);
}

/// Every field of every kind of vector matters: changed, the check fails.
#[test]
fn the_check_finds_a_change_in_any_field() {
    for text in [S2008, AEAD] {
        let file: Value = serde_json::from_str(text).unwrap();
        let groups = file.as_object().unwrap().iter().filter(|(_, v)| v.is_array());
        for (group, cases) in groups {
            let cases = cases.as_array().unwrap();
            for field in cases[0].as_object().unwrap().keys() {
                let index = cases.iter().position(|c| matters(c, field)).expect("such a vector");
                let mut changed = only_one(&file, group, index);
                check(&changed.to_string()).unwrap_or_else(|e| panic!("{e}"));
                change(&mut changed[group][0][field]);
                let failed = check(&changed.to_string()).expect_err(field);
                assert!(failed.place.starts_with(group.as_str()), "{group} {field}: {failed}");
            }
        }
    }
}

/// Whether a field takes part: a packet is of one direction, and most are of a size class that is
/// not the longest.
fn matters(case: &Value, field: &str) -> bool {
    match field {
        "up" | "down" => case.get("direction").is_none_or(|d| d == field),
        "max_body" => case["policy"] == "constant",
        _ => true,
    }
}

#[test]
fn what_is_no_file_of_vectors_is_refused() {
    for text in ["", "{", "[]", "{}", r#"{"suite":"wep"}"#, r#"{"suite":"2008"}"#] {
        assert!(check(text).is_err(), "{text}");
    }
    let empty = r#"{"suite":"2008","tryst":[],"tryst_scoped":[],"shroud":[]}"#;
    assert!(check(empty).is_err());
}

/// The file with one vector of one group and nothing else.
fn only_one(file: &Value, group: &str, index: usize) -> Value {
    let mut out = file.clone();
    for (name, cases) in out.as_object_mut().unwrap() {
        if let Some(cases) = cases.as_array_mut() {
            let one = cases.drain(..).nth(index);
            cases.clear();
            cases.extend(one.filter(|_| name == group));
        }
    }
    out
}

/// Changes a value into another one of its type.
fn change(value: &mut Value) {
    match value {
        Value::Number(n) => *value = Value::from(n.as_u64().unwrap() + 100_003),
        Value::String(s) => {
            let last = s.pop();
            s.push(if last == Some('0') { '1' } else { '0' });
        }
        Value::Array(items) => change(items.first_mut().unwrap()),
        Value::Object(fields) => change(&mut fields["address"]),
        _ => panic!("vectors have no other types"),
    }
}
