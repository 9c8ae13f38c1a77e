//! The committed JSON Schemas are those of the types.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::Path;

use model::cluster::ClusterDocument;
use model::document::Document;
use report::schema::{FORMS, form};
use serde_json::{Value, json};

const TITLES: [(&str, &str, &str); 2] =
    [("run", "Assay run", "schema/run-v2.json"), ("cluster", "Assay cluster", "schema/cluster-v1.json")];

/// The schema of a kind of document, as it is committed.
fn generated(name: &str, title: &str) -> String {
    let mut schema =
        if name == "run" { schemars::schema_for!(Document) } else { schemars::schema_for!(ClusterDocument) };
    let id = form(name).unwrap().id;
    schema.insert("$id".to_owned(), json!(id));
    schema.insert("title".to_owned(), json!(title));
    let mut value = schema.to_value();
    value["properties"]["schema"]["const"] = json!(id);
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap())
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    assert_eq!(TITLES.map(|(name, ..)| name), *FORMS.iter().map(|form| form.name).collect::<Vec<_>>());
    for (name, title, _) in TITLES {
        assert!(
            form(name).unwrap().schema().unwrap() == generated(name, title),
            "{name} is another: cargo xtask schema"
        );
    }
}

#[test]
#[ignore = "writes schema/"]
fn write_the_schemas() {
    for (name, title, file) in TITLES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        std::fs::write(path, generated(name, title)).unwrap();
    }
}

#[test]
fn each_schema_names_every_part_of_its_document() {
    let parts = [
        ("run", &["schema", "assay", "run", "machine", "conditions", "experiments", "findings"][..]),
        ("cluster", &["schema", "assay", "plan", "nodes", "groups", "distributions", "slow", "pairs", "drain"]),
    ];
    for (name, parts) in parts {
        let form = form(name).unwrap();
        let schema: Value = serde_json::from_str(&form.schema().unwrap()).unwrap();
        assert_eq!(schema["properties"]["schema"]["const"], form.id);
        for part in parts {
            assert!(schema["properties"][part].is_object(), "{name}: {part}");
        }
    }
    assert!(form("papyrus").is_none());
}
