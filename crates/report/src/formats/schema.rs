//! The JSON Schemas of the documents. They are generated from the types and committed; a test keeps them so.

/// A kind of document with a schema.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its name, as `assay schema` takes it.
    pub name: &'static str,
    /// The `schema` field of its documents.
    pub id: &'static str,
    schema: &'static str,
}

impl Form {
    /// Its JSON Schema (2020-12), as it is committed.
    pub fn schema(&self) -> serde_json::Result<String> {
        serde_json::from_str(self.schema).map(|schema: serde_json::Value| format!("{schema:#}\n"))
    }
}

/// Every kind of document.
pub const FORMS: &[Form] = &[
    Form { name: "run", id: model::document::SCHEMA, schema: include_str!(concat!(env!("OUT_DIR"), "/run-v2.json")) },
    Form {
        name: "cluster",
        id: model::cluster::SCHEMA,
        schema: include_str!(concat!(env!("OUT_DIR"), "/cluster-v1.json")),
    },
];

/// The kind of document of this name.
#[must_use]
pub fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name == name)
}
