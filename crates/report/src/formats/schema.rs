//! The JSON Schemas of the documents, generated from the types; committed as `schema/run-v2.json` and `schema/cluster-v1.json`.

use model::cluster::ClusterDocument;
use model::document::Document;
use schemars::Schema;
use serde_json::{Value, json};

/// A kind of document with a schema.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its name, as `assay schema` takes it.
    pub name: &'static str,
    /// The `schema` field of its documents.
    pub id: &'static str,
    title: &'static str,
    generate: fn() -> Schema,
}

/// Every kind of document.
pub const FORMS: &[Form] = &[
    Form { name: "run", id: model::document::SCHEMA, title: "Assay run", generate: || schemars::schema_for!(Document) },
    Form {
        name: "cluster",
        id: model::cluster::SCHEMA,
        title: "Assay cluster",
        generate: || schemars::schema_for!(ClusterDocument),
    },
];

impl Form {
    /// Its JSON Schema (2020-12).
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut schema = (self.generate)();
        schema.insert("$id".to_owned(), json!(self.id));
        schema.insert("title".to_owned(), json!(self.title));
        let mut value = schema.to_value();
        if let Some(name) = value.pointer_mut("/properties/schema").and_then(Value::as_object_mut) {
            name.insert("const".to_owned(), json!(self.id));
        }
        value
    }
}

/// The kind of document of this name.
#[must_use]
pub fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_schema_names_itself_and_every_part_of_its_document() {
        let parts = [
            ("run", &["schema", "assay", "run", "machine", "conditions", "experiments", "findings"][..]),
            ("cluster", &["schema", "assay", "plan", "nodes", "groups", "distributions", "slow", "pairs", "drain"]),
        ];
        assert_eq!(parts.map(|(name, _)| name), *FORMS.iter().map(|form| form.name).collect::<Vec<_>>());
        for (name, parts) in parts {
            let form = form(name).unwrap();
            let schema = form.schema();
            assert_eq!((&schema["$id"], &schema["title"]), (&json!(form.id), &json!(form.title)));
            assert_eq!(schema["properties"]["schema"]["const"], form.id);
            for part in parts {
                assert!(schema["properties"][part].is_object(), "{name}: {part}");
            }
        }
        assert!(form("papyrus").is_none());
    }
}
