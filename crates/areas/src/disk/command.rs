//! What `assay disk` measures.

use model::experiment::Area;
use model::plan::PlanError;

use super::choice::DiskChoice;
use crate::suite::Suite;

const DISK: &str = include_str!("../../../../suites/disk.toml");

/// The suite, narrowed to the choice; an error if no benchmark is left.
pub fn suite(choice: &DiskChoice) -> Result<Suite, PlanError> {
    let suite = Suite::parse(DISK, "disk")?;
    let disk: Vec<DiskChoice> = suite.disk.iter().filter_map(|block| choice.narrowed(block)).collect();
    if disk.is_empty() {
        let words = |block: &DiskChoice| {
            let patterns: Vec<&str> = block.pattern.iter().map(|pattern| pattern.name()).collect();
            let ops: Vec<&str> = block.op.iter().map(|op| op.name()).collect();
            format!("{} with {}", patterns.join(", "), ops.join(", "))
        };
        let known: Vec<String> = suite.disk.iter().filter(|block| block.base).map(words).collect();
        return Err(PlanError(format!("there is no disk benchmark of that combination; known: {}", known.join("; "))));
    }
    let time_budget = suite.time_budget.filter(|_| choice.is_open());
    Ok(Suite { name: Area::Disk.to_string(), disk, time_budget, ..suite })
}

#[cfg(test)]
mod tests {
    use model::io::{DiskEngine, DiskOp, DiskPattern, DiskSync};

    use super::super::choice::Steady;
    use super::*;

    fn rows(choice: &DiskChoice) -> Vec<DiskChoice> {
        suite(choice).unwrap().disk
    }

    #[test]
    fn what_is_chosen_narrows_the_stanzas() {
        let all = rows(&DiskChoice::default());
        assert!(all.iter().all(|stanza| !stanza.on_request) && all.iter().any(|stanza| !stanza.base));
        assert!(suite(&DiskChoice::default()).unwrap().time_budget.is_some());
        let sized = rows(&DiskChoice { size: vec![1 << 20], ..DiskChoice::default() });
        assert_eq!(sized.len(), all.len(), "a size narrows nothing");
        assert!(sized.iter().all(|stanza| stanza.size == [1 << 20]));
        let blocks = rows(&DiskChoice { block: vec![4096], ..DiskChoice::default() });
        assert!(blocks.iter().all(|stanza| stanza.base && !stanza.on_request && stanza.block == [4096]));
        let backward = rows(&DiskChoice { pattern: vec![DiskPattern::Backward], ..DiskChoice::default() });
        let of_engine = DiskChoice { engine: vec![DiskEngine::Sync], ..DiskChoice::default() };
        assert_eq!(suite(&of_engine).unwrap().time_budget, None, "what is asked for is measured in full");
        let sizes_and_engines = DiskChoice {
            size: vec![1 << 20, 2 << 20],
            engine: vec![DiskEngine::Sync, DiskEngine::Libaio],
            pattern: vec![DiskPattern::Backward],
            ..DiskChoice::default()
        };
        let each = rows(&sizes_and_engines);
        let (sizes, engines) = ([1 << 20, 2 << 20], [DiskEngine::Sync, DiskEngine::Libaio]);
        assert!(each.iter().all(|stanza| stanza.size == sizes && stanza.engine == engines), "{each:?}");
        assert!(!backward.is_empty() && backward.iter().all(|stanza| stanza.pattern == [DiskPattern::Backward]));
        let mixed = rows(&DiskChoice { op: vec![DiskOp::Mixed], ..DiskChoice::default() });
        assert!(!mixed.is_empty() && mixed.iter().all(|stanza| stanza.op == [DiskOp::Mixed] && stanza.base));
        let durable = rows(&DiskChoice { sync: vec![DiskSync::Dsync], ..DiskChoice::default() });
        assert!(!durable.is_empty() && durable.iter().flat_map(|stanza| &stanza.op).all(|op| op.writes()));
    }

    #[test]
    fn rounds_until_a_drive_is_steady_are_read_and_what_makes_no_sense_is_refused() {
        let parse = |op: &str, steady: &str, more: &str| {
            let rows = "pattern = \"random\"\nblock = [\"4KiB\"]\ndepth = [1]\nsize = \"1GiB\"\nthreads = [\"1\"]";
            let text = format!("name = \"x\"\n[[disk]]\n{rows}\nop = [\"{op}\"]\nsteady = {{ {steady} }}\n{more}");
            Suite::parse(&text, "x.toml")
        };
        for op in ["write", "mixed", "rewrite"] {
            let suite = parse(op, "rounds = 5, round = \"100ms\"", "").unwrap();
            assert_eq!(suite.disk[0].steady, Some(Steady { rounds: 5, round_seconds: 0.1 }));
        }
        let good = "rounds = 25, round = \"10s\"";
        for (op, steady, more, says) in [
            ("write", "rounds = 4, round = \"10s\"", "", "4 rounds are not possible: write 5 to 100"),
            ("write", "rounds = 101, round = \"10s\"", "", "101 rounds are not possible"),
            ("write", "rounds = 5, round = \"99ms\"", "", "too short"),
            ("write", "rounds = 5, round = \"x\"", "", "'x'"),
            ("write", "rounds = 5", "", "missing field `round`"),
            ("write", "rounds = 5, round = \"1s\", more = 1", "", "unknown field"),
            ("read", good, "", "read writes nothing"),
            ("reread", good, "", "reread writes nothing"),
            ("write", good, "cache = [\"warm\"]", "page cache"),
            ("write", good, "engine = \"null\"", "no device"),
            ("write", good, "load_percent = [50]", "leave load_percent"),
            ("write", good, "total = 1e6", "leave load_percent"),
            ("write", good, "[disk.sampling]\nsamples = 3", "leave load_percent"),
        ] {
            let error = parse(op, steady, more).unwrap_err().0;
            assert!(error.contains(says) && error.contains("x.toml"), "{op} {steady} {more}: {error}");
        }
    }

    #[test]
    fn every_operation_in_every_order_can_be_asked_for_or_is_refused_with_what_can() {
        for &pattern in DiskPattern::ALL {
            for &op in DiskOp::ALL {
                let choice = DiskChoice { pattern: vec![pattern], op: vec![op], ..DiskChoice::default() };
                match suite(&choice) {
                    Ok(suite) => assert!(suite.disk.len() == 1 && suite.disk[0].op == [op], "{pattern} {op}"),
                    Err(PlanError(error)) => {
                        assert!(error.contains("random with") && error.contains("backward with"), "{error}");
                    }
                }
            }
        }
    }
}
