//! A validator for the keywords that our JSON schemas use; any other keyword is an error.

use serde_json::Value;

pub(crate) fn defects(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(schema, schema, document, "", &mut found);
    found
}

fn compare(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        if schema == &Value::Bool(false) {
            found.push(format!("{path}: nothing is allowed here"));
        }
        return;
    };
    for (keyword, wanted) in keywords {
        let mut nested = |schema: &Value, value: &Value, key: &dyn std::fmt::Display| {
            compare(root, schema, value, &format!("{path}/{key}"), found);
            true
        };
        let fits = |schema: &&Value| {
            let mut found = Vec::new();
            compare(root, schema, value, path, &mut found);
            found.is_empty()
        };
        let items = value.as_array().map_or(&[][..], Vec::as_slice);
        let fields = || value.as_object().into_iter().flatten();
        let list = || wanted.as_array().unwrap().iter();
        let right = match keyword.as_str() {
            "title" | "description" | "default" | "format" | "$schema" | "$id" | "$defs" => true,
            "$ref" => {
                let target = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                compare(root, root.pointer(target).unwrap(), value, path, found);
                true
            }
            "type" if wanted.is_array() => list().any(|one| is_of_type(value, one)),
            "type" => is_of_type(value, wanted),
            "const" => value == wanted,
            "enum" => list().any(|one| one == value),
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "minItems" => !value.is_array() || items.len() as u64 >= wanted.as_u64().unwrap(),
            "maxItems" => items.len() as u64 <= wanted.as_u64().unwrap(),
            "required" => !value.is_object() || list().all(|name| value.get(name.as_str().unwrap()).is_some()),
            "items" => items.iter().enumerate().all(|(index, item)| nested(wanted, item, &index)),
            "properties" => fields().all(|(name, field)| wanted.get(name).is_none_or(|it| nested(it, field, name))),
            "additionalProperties" => fields().all(|(name, field)| {
                keywords.get("properties").is_some_and(|known| known.get(name).is_some()) || nested(wanted, field, name)
            }),
            "anyOf" => list().any(|one| fits(&one)),
            "oneOf" => list().filter(fits).count() == 1,
            unknown => panic!("the keyword '{unknown}' is not checked"),
        };
        if !right {
            found.push(format!("{path}: {value} against {keyword} {wanted}"));
        }
    }
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the type '{other}' is not checked"),
    }
}

#[test]
fn what_contradicts_a_schema_is_found() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {
            "a": { "$ref": "#/$defs/count" },
            "b": { "type": ["array", "null"], "items": { "oneOf": [{ "enum": ["x", "z"] }, { "type": "number" }] }, "maxItems": 2 },
        },
        "$defs": { "count": { "type": "integer", "minimum": 1 } },
    });
    let defects = |text: &str| defects(&schema, &serde_json::from_str(text).unwrap()).len();
    for fine in [r#"{"a": 1}"#, r#"{"a": 2, "b": null}"#, r#"{"a": 3, "b": ["x", 0.5]}"#] {
        assert_eq!(defects(fine), 0, "{fine}");
    }
    for wrong in [
        "[]",
        "{}",
        r#"{"a": 0}"#,
        r#"{"a": 1.5}"#,
        r#"{"a": 1, "c": 1}"#,
        r#"{"a": 1, "b": ["y"]}"#,
        r#"{"a": 1, "b": [1, 1, 1]}"#,
    ] {
        assert!(defects(wrong) > 0, "{wrong}");
    }
}
