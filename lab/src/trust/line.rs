//! Counts of `assay compare` verdicts.

use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line(Map<String, Value>);

impl Line {
    pub(super) fn new(common: &[(String, Value)], result: &Value) -> Self {
        let mut fields: Map<String, Value> = common.iter().cloned().collect();
        fields.extend(result.as_object().cloned().unwrap_or_default());
        Self(fields)
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str::<Value>(text).ok()?.as_object().cloned().map(Self)
    }

    pub(super) fn text(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    pub(super) fn word(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key).and_then(Value::as_f64)
    }

    pub(super) fn count(&self, key: &str) -> u64 {
        self.0.get(key).and_then(Value::as_u64).unwrap_or(0)
    }

    pub(super) fn is(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn words(&self, key: &str) -> Vec<&str> {
        let list = self.0.get(key).and_then(Value::as_array);
        list.map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdicts {
    pub(super) changed: u64,
    pub(super) same: u64,
    pub(super) inconclusive: u64,
}

impl Verdicts {
    pub(super) fn of(rows: &[Value]) -> Self {
        let count = |verdict: &str| rows.iter().filter(|row| row["verdict"] == verdict).count() as u64;
        Self { changed: count("changed"), same: count("same"), inconclusive: count("inconclusive") }
    }

    pub(super) fn read(line: &Line) -> Self {
        Self { changed: line.count("changed"), same: line.count("same"), inconclusive: line.count("inconclusive") }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.changed += other.changed;
        self.same += other.same;
        self.inconclusive += other.inconclusive;
    }

    pub(super) fn all(self) -> u64 {
        self.changed + self.same + self.inconclusive
    }
}

pub(super) fn rows(comparison: &Value) -> Vec<Value> {
    comparison["experiments"].as_array().cloned().unwrap_or_default()
}

pub(super) fn area(row: &Value) -> &str {
    row["id"].as_str().and_then(|id| id.split('/').next()).unwrap_or_default()
}

pub(super) fn areas(rows: &[Value]) -> Vec<String> {
    let mut areas: Vec<String> = Vec::new();
    for row in rows {
        if !areas.iter().any(|known| known == area(row)) {
            areas.push(area(row).to_owned());
        }
    }
    areas
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_reads_back() {
        let line =
            Line::new(&[("git".to_owned(), "abc".into())], &json!({"part": "live", "changed": 2, "found": true}));
        assert_eq!(Line::read(&line.text()), Some(line.clone()));
        assert_eq!(
            (line.word("git"), line.count("changed"), line.is("found"), line.number("none")),
            ("abc", 2, true, None)
        );
        assert_eq!(Line::read("garbage"), None);
    }

    #[test]
    fn verdicts_are_counted_by_area() {
        let comparison = json!({"experiments": [
            {"id": "cpu/fma/t1", "verdict": "same"}, {"id": "cpu/dot/t1", "verdict": "changed"},
            {"id": "net/x", "verdict": "inconclusive"}, {"id": "net/y", "verdict": "same"}]});
        let rows = rows(&comparison);
        assert_eq!(Verdicts::of(&rows), Verdicts { changed: 1, same: 2, inconclusive: 1 });
        assert_eq!(areas(&rows), ["cpu", "net"]);
        assert_eq!(area(&rows[3]), "net");
        let line = Line::new(&[], &json!({"changed": 1, "same": 2, "inconclusive": 1}));
        let mut twice = Verdicts::read(&line);
        twice.add(Verdicts::of(&rows));
        assert_eq!(twice.all(), 8);
        assert!(super::rows(&json!({})).is_empty());
    }
}
