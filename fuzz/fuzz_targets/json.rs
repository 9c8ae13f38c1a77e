//! Mutations that keep JSON valid: one value is replaced, removed or repeated.

use libfuzzer_sys::fuzzer_mutate;
use serde_json::{Value, json};

/// Items of an array that is made longer.
const LONG: usize = 200;

/// Mutates a JSON text; other text, and one text in eight, by the mutator of libFuzzer.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let parsed = serde_json::from_slice::<Value>(&data[..size]).ok().filter(|_| seed % 8 != 0);
    let Some(mut value) = parsed else { return fuzzer_mutate(data, size, most) };
    let mut place = (seed / 8) as usize % count(&value);
    change(&mut value, &mut place, seed.wrapping_mul(0x9e37_79b9) >> 8);
    let text = serde_json::to_vec(&value).unwrap_or_default();
    if text.len() > most.min(data.len()) {
        return fuzzer_mutate(data, size, most);
    }
    data[..text.len()].copy_from_slice(&text);
    text.len()
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes the value at this place, counted from the root.
fn change(value: &mut Value, place: &mut usize, random: u32) {
    if *place == 0 {
        *value = changed(value, random);
        *place = usize::MAX;
        return;
    }
    *place -= 1;
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => return,
    };
    for inner in inner {
        change(inner, place, random);
        if *place == usize::MAX {
            return;
        }
    }
}

fn changed(value: &Value, random: u32) -> Value {
    let numbers = [
        json!(0),
        json!(1),
        json!(-1),
        json!(2),
        json!(255),
        json!(65_536),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(-1e300),
        json!(1e-300),
        json!(5e-324),
        json!(1e18),
        json!(0.5),
        json!(-0.0),
        json!(1e9),
    ];
    let texts = ["", " ", "\u{202e}\u{1b}[31m", "<b>", "2026-11-20T12:00:00Z", "n/a", "é", "a/b/c/d", "-", "\n"];
    let pick = random as usize;
    match value {
        Value::Number(_) => numbers[pick % numbers.len()].clone(),
        Value::String(_) if pick % 4 == 0 => json!(texts[pick / 4 % texts.len()].repeat(1 + pick % 3 * 50)),
        Value::String(text) if pick % 4 == 1 => json!(format!("{text}{text}")),
        Value::String(text) if pick % 4 == 2 => json!(text.chars().take(pick / 4 % 8).collect::<String>()),
        Value::Bool(is) => json!(!is),
        Value::Null => numbers[pick % numbers.len()].clone(),
        Value::Array(items) if pick % 3 == 0 => json!(items.iter().skip(1).collect::<Vec<_>>()),
        Value::Array(items) if pick % 3 == 1 => json!([&items[..], &items[..]].concat()),
        Value::Array(items) => {
            json!(items.iter().cycle().take(if items.is_empty() { 0 } else { LONG }).collect::<Vec<_>>())
        }
        Value::Object(fields) if pick % 2 == 0 => {
            let removed = pick / 2 % fields.len().max(1);
            fields
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != removed)
                .map(|(_, (name, inner))| (name.clone(), inner.clone()))
                .collect()
        }
        _ => Value::Null,
    }
}
