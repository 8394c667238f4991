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
            let first = cases.as_array().unwrap().first().unwrap().as_object().unwrap();
            for field in first.keys() {
                // The other direction's secret takes no part; without a policy there is no class
                // of sizes that the longest body could be one of.
                let idle = match field.as_str() {
                    "down" => group == "tryst" && first["direction"] == "up",
                    "max_body" => first["policy"] == "none",
                    _ => false,
                };
                if idle {
                    continue;
                }
                let mut changed = only_first(&file, group);
                change(&mut changed[group][0][field]);
                let failed = check(&changed.to_string()).expect_err(field);
                assert!(failed.place.starts_with(group.as_str()), "{group} {field}: {failed}");
            }
            check(&only_first(&file, group).to_string()).unwrap_or_else(|e| panic!("{e}"));
        }
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

/// The file with the first vector of one group and nothing else.
fn only_first(file: &Value, group: &str) -> Value {
    let mut out = file.clone();
    for (name, cases) in out.as_object_mut().unwrap() {
        if let Some(cases) = cases.as_array_mut() {
            cases.truncate(usize::from(name == group));
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
