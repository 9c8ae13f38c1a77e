//! What is refused, and what a reader must know before the results.

use super::*;

#[test]
fn a_run_with_itself_and_runs_without_results_are_refused() {
    let (base, mut failed) = against(100.0);
    failed.experiments[0].status = Status::Failed;
    let (empty, other) = (run(3, Vec::new()), run(4, vec![row("cpu/z/t1", &[1.0])]));
    for (base, new, expected) in [
        (&base, &base, "'run-1' is both runs: a run cannot be compared with itself. Name two runs: assay runs"),
        (&base, &empty, "NEW, the run 'run-3', has no measured result of 0 benchmarks. Name another run: assay runs"),
        (&failed, &base, "BASE, the run 'run-2', has no measured result of 1 benchmark. Name another run: assay runs"),
        (&base, &other, "the two runs have no benchmark that can be compared: cpu/fma/fp64/avx2/t1: only in BASE"),
    ] {
        assert_eq!(compare(base, new, &[]).unwrap_err(), expected);
    }
}

#[test]
fn what_a_reader_must_know_is_shown_before_the_rows() {
    let warned = |change: fn(&mut Document)| {
        let (base, mut new) = against(100.0);
        change(&mut new);
        compared(&base, &new).warnings.join("\n")
    };
    assert_eq!(warned(|_| {}), "");
    assert_eq!(
        warned(|new| {
            new.machine.cpu.model_name = Some("Example 9001".into());
            new.machine.cpu.cores = Some(4);
            new.machine.memory.total_bytes = Some(8 << 30);
            new.machine.os.kernel = Some("6.1".into());
            new.machine.cpu.microcode = Some("0x1".into());
            new.machine.virtualization = Some(Virtualization { hypervisor: Some("KVM".into()), signature: None });
        }),
        "The machines differ: processor Example 9000 against Example 9001, cores 2 against 4, memory 50 % less in NEW, \
         hypervisor none against KVM, kernel unknown against 6.1, microcode unknown against 0x1."
    );
    assert_eq!(
        warned(|new| (new.machine.cpu.turbo, new.machine.cpu.quota_cpus) = (Some(false), Some(0.5))),
        "The settings differ: turbo unknown against off, quota of CPUs none against 0.5."
    );
    assert_eq!(
        warned(|new| (new.assay.version, new.assay.git) = ("9".into(), Some("abc".into()))),
        "The programs that measured differ: version  against 9, commit unknown against abc."
    );
    assert_eq!(
        warned(|new| new.run.suite = "standard".into()),
        "The suites differ: suite  against standard; a benchmark may be sampled longer in one of them."
    );
    assert_eq!(
        warned(|new| new.run.declared = [("memory.channels".to_owned(), 12.0)].into()),
        "The declared limits differ: memory.channels none against 12; results do not depend on them."
    );
    assert_eq!(warned(|new| new.run.complete = false), "NEW was cut off: 1 of 1 benchmarks were measured.");
    assert_eq!(
        warned(|new| new.run.started = "2026-10-31T12:00:00Z".into()),
        "NEW (2026-10-31T12:00:00Z) began before BASE (2026-11-01T12:00:00Z): swap them, or check the machine's clock."
    );
    assert_eq!(
        warned(|new| new.run.confidence = Some(Confidence::Low)),
        "NEW has low confidence: assay show lists the reasons."
    );
}

#[test]
fn surroundings_that_differ_without_a_warning_are_differences() {
    let (base, mut new) = against(92.0);
    new.experiments[0].conditions.quota_cpus = Some(1.5);
    let comparison = compared(&base, &new);
    assert_eq!(explanation(&comparison), "The conditions differ: quota of CPUs none against 1.5.");
}
