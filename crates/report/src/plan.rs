//! The plan as `--list` prints it: what would be measured, and how long it would take.

use crate::label::counted;
use crate::number::duration;

/// One id a line, a tab, and the seconds expected for it (`3.4 s`), for standard output.
pub fn render(plan: &[(String, f64)]) -> String {
    let lines: Vec<String> = plan.iter().map(|(id, seconds)| format!("{id}\t{seconds:.1} s\n")).collect();
    lines.concat()
}

/// The plan in one line, for standard error: `24 rows, about 1 min 12 s`.
pub fn total(plan: &[(String, f64)]) -> String {
    let seconds: f64 = plan.iter().map(|(_, seconds)| seconds).sum();
    format!("{}, about {}", counted(plan.len() as u64, "row"), duration(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_alone_before_the_tab() {
        let plan = [("cpu/fma/fp64/avx512/t1".to_owned(), 3.44), ("memory/sequential-read/t2".to_owned(), 70.0)];
        assert_eq!(render(&plan), "cpu/fma/fp64/avx512/t1\t3.4 s\nmemory/sequential-read/t2\t70.0 s\n");
        assert_eq!(total(&plan), "2 rows, about 1 min 13 s");
        assert_eq!((render(&[]), total(&[])), (String::new(), "0 rows, about 0.0 s".to_owned()));
    }
}
