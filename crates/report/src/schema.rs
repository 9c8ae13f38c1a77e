//! The JSON Schema of the document, generated from the types that write it. It is committed as `schema/run-v1.json`.

use model::document::{Document, SCHEMA};
use serde_json::{Value, json};

/// The JSON Schema (2020-12) of a run's document.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Document);
    schema.insert("$id".to_owned(), json!(SCHEMA));
    schema.insert("title".to_owned(), json!("Assay run"));
    let mut value = schema.to_value();
    if let Some(name) = value.pointer_mut("/properties/schema").and_then(Value::as_object_mut) {
        name.insert("const".to_owned(), json!(SCHEMA));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_names_itself_and_every_part_of_a_document() {
        let schema = schema();
        assert_eq!(schema["$id"], SCHEMA);
        assert_eq!(schema["properties"]["schema"]["const"], SCHEMA);
        for part in ["schema", "assay", "run", "machine", "conditions", "experiments", "findings"] {
            assert!(schema["properties"][part].is_object(), "{part}");
        }
    }
}
