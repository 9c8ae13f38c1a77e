//! Does the undisturbed value stay where a quiet run has its median, whatever interferes? Each trial measures a benchmark
//! with a disturbance and without, one after the other.

use std::time::Instant;

use serde_json::{Value, json};

use super::disturbances::{Ground, pinned, quota};
use crate::held::Held;
use crate::record::Keeper;

pub(super) const TRIALS: u32 = 20;

const ONE: &str = "cpu --op fma --type fp64 --isa vector --threads 1 --repeat 7";
const ALL: &str = "cpu --op fma --type fp64 --isa vector --threads all --repeat 7";
const DOT: &str = "cpu --op dot --type int8 --isa vector --threads 1 --repeat 7";
const READ: &str = "memory --pattern sequential --op read --threads 1 --repeat 8";
const LINPACK: &str = "linpack --op lu --n 2000 --threads 1 --repeat 7";
const LINPACK_ALL: &str = "linpack --op lu --n 2000 --threads all --repeat 7";
const CHASE: &str = "memory --pattern chase --pages 4KiB --working-set 128MiB --threads 1 --repeat 8";

pub(super) struct Case {
    pub(super) name: &'static str,
    /// For the page.
    pub(super) how: &'static str,
    rows: &'static [&'static str],
    /// How far the undisturbed value may be from the quiet median.
    pub(super) within: f64,
    trial: fn(&Ground, &str) -> Result<Value, String>,
}

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case { name: "spinning process", how: "a shell's endless loop pinned to one of the CPUs", rows: &[ONE, LINPACK, READ, CHASE], within: 0.02,
        trial: |ground, row| { let _loop = Held::busy(":", &pinned(ground.first).join(" "), &[])?; ground.call(row) } },
    Case { name: "quota of 50 %", how: "a control group with half a CPU for each thread", rows: &[ONE, LINPACK, READ], within: 0.02, trial: quota },
    Case { name: "niceness", how: "a shell's endless loop on the same CPU, the program by nice -n 5", rows: &[ONE, LINPACK, READ], within: 0.02,
        trial: |ground, row| {
            let _loop = Held::busy(":", &pinned(ground.first).join(" "), &[])?;
            let through = [["nice", "-n", "5"].map(str::to_owned).to_vec(), pinned(ground.first)].concat();
            ground.through(&through, row)
        } },
    Case { name: "memory hog", how: "dd if=/dev/zero of=/dev/null bs=512M on another CPU", rows: &[READ, CHASE], within: 0.05,
        trial: |ground, row| { let _hog = Held::busy("dd if=/dev/zero of=/dev/null bs=512M", &pinned(ground.last).join(" "), &[])?; ground.call(row) } },
    Case { name: "nothing", how: "a second quiet run", rows: &[ALL, DOT, LINPACK_ALL, READ, CHASE], within: 0.015, trial: |ground, row| ground.call(row) },
];

pub(super) fn run(keeper: &mut Keeper) -> Result<(), String> {
    let ground = Ground::new(keeper)?;
    for case in CASES {
        for row in case.rows {
            let (mut within, start) = (0, Instant::now());
            for _ in 0..TRIALS {
                let quiet = ground.call(row)?;
                let disturbed = (case.trial)(&ground, row)?;
                let [median, value] = [value(&quiet, "median"), value(&disturbed, "undisturbed")];
                let ratio = value.zip(median).map(|(value, median)| value / median);
                within += u32::from(ratio.is_some_and(|ratio| (ratio - 1.0).abs() <= case.within));
                keeper.keep(&json!({
                    "part": "undisturbed", "what": case.name, "row": row, "ratio": ratio,
                    "slices": disturbed["experiments"][0]["metrics"][0]["summary"]["undisturbed"]["n"],
                    "measured": self::value(&disturbed, "median").zip(median).map(|(value, median)| value / median),
                }))?;
            }
            let seconds = start.elapsed().as_secs();
            println!("{}: {within} of {TRIALS} within {} %, {seconds} s: {row}", case.name, 100.0 * case.within);
        }
    }
    Ok(())
}

/// A value of the first benchmark: its median, or its undisturbed value.
fn value(document: &Value, what: &str) -> Option<f64> {
    let summary = &document["experiments"][0]["metrics"][0]["summary"];
    if what == "undisturbed" { summary["undisturbed"]["value"].as_f64() } else { summary["median"].as_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_headline_metric() {
        let summary = json!({"median": 3.0, "undisturbed": {"value": 4.0, "n": 9}});
        let document = json!({"experiments": [{"metrics": [{"summary": summary}]}]});
        assert_eq!((value(&document, "median"), value(&document, "undisturbed")), (Some(3.0), Some(4.0)));
        assert_eq!(value(&json!({}), "median"), None);
    }
}
