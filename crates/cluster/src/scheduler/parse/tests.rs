//! Answers as manual pages and a real Slurm have them, and broken ones.

use super::*;
use crate::scheduler::job::EndedBy;

#[test]
fn nodes_by_their_states() {
    let text = "n1|debug|idle|none\nn2|debug|alloc|none\nn3|long|down*|Not responding | [root@2026-11-20]\n\
                n4|debug|mix|none\nn5|debug|idle~|none\nn6|debug|drain|bad DIMM\nn7|debug|idle*|none\n\
                n8|debug|maint|none\n\
                n9|debug|comp|none\nn10|debug|plnd|none\nn11|debug|resv|none\nn12|debug|drng@|x\n";
    let found = nodes(text).unwrap();
    let seats: Vec<String> = found.iter().map(|node| format!("{} {:?}", node.name, node.availability)).collect();
    let expected = [
        "n1 Idle",
        r#"n2 Busy("alloc")"#,
        r#"n3 Down("down* (Not responding | [root@2026-11-20])")"#,
        r#"n4 Busy("mix")"#,
        r#"n5 Busy("idle~")"#,
        r#"n6 Down("drain (bad DIMM)")"#,
        r#"n7 Down("idle*")"#,
        r#"n8 Busy("maint")"#,
        r#"n9 Busy("comp")"#,
        r#"n10 Busy("plnd")"#,
        r#"n11 Busy("resv")"#,
        r#"n12 Down("drng@ (x)")"#,
    ];
    assert_eq!(seats, expected);
    assert_eq!(found[2].partition, "long");
}

#[test]
fn the_queue_counts_every_task_of_an_array_and_nothing_that_is_over() {
    let text = "101|R|None\n102_1|PD|Resources\n102_2|PD|Priority\n103|CG|None\n104|CA|None\n105|PD|ReqNodeNotAvail, \
                UnavailableNodes:n3\n106|RH|a|b\n";
    let found = queue(text).unwrap();
    let short: Vec<String> = found.iter().map(|job| format!("{} {:?} {}", job.id, job.phase, job.reason)).collect();
    let expected = [
        "101 Running None",
        "102_1 Pending Resources",
        "102_2 Pending Priority",
        "103 Running None",
        "105 Pending ReqNodeNotAvail, UnavailableNodes:n3",
        "106 Pending a|b",
    ];
    assert_eq!(short, expected);
    assert_eq!(queue("").unwrap(), []);
    assert_eq!(queue("9|CD|None\n").unwrap(), [], "an ended job is an answer");
}

#[test]
fn partitions_with_their_limits() {
    let text = "PartitionName=debug AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A \
                DefaultTime=NONE DisableRootJobs=NO MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 State=UP \
                Nodes=n[1-4]\n\
                PartitionName=short Default=NO QoS=part MaxNodes=2 MaxTime=1-02:00:00 OverSubscribe=FORCE:4 State=UP Nodes=n[1-2]\n";
    let debug = Partition { name: "debug".into(), default: true, ..Partition::default() };
    let short = Partition {
        name: "short".into(),
        default: false,
        qos: Some("part".into()),
        longest: Some(26 * 3600),
        most_nodes: Some(2),
        shared: true,
    };
    assert_eq!(partitions(text).unwrap(), [debug, short]);
}

#[test]
fn durations_as_slurm_writes_them() {
    let cases =
        [("30", 1800), ("30:05", 1805), ("2:00:00", 7200), ("1-0", 86400), ("1-12", 129_600), ("1-1:30", 91_800)];
    for (text, seconds) in cases {
        assert_eq!(duration(text), Some(seconds), "{text}");
    }
    for text in
        ["UNLIMITED", "INFINITE", "", "-", "1-", "a:b", "1:2:3:4", "99999999999999999999", "18446744073709551615-0"]
    {
        assert_eq!(duration(text), None, "{text}");
    }
}

#[test]
fn associations_and_qualities_with_their_limits() {
    let text = "a|||normal,low||2||\nb|debug|low|low|4|10|3|8|1-00:00:00\n";
    let found = associations(text);
    assert_eq!(found[0].qos, ["normal", "low"]);
    assert_eq!(found[0].limit, Some(2));
    assert_eq!((found[1].partition.as_deref(), found[1].default_qos.as_deref()), (Some("debug"), Some("low")));
    assert_eq!((found[1].limit, found[1].longest, found[0].longest), (Some(3), Some(86_400), None));
    let qos = qualities("normal||||\nlow|1|5||4|00:30:00\n");
    let low = Quality { limit: Some(1), longest: Some(1800) };
    assert_eq!(qos, [("normal".into(), Quality { limit: None, longest: None }), ("low".into(), low)]);
    for broken in ["", "\n", "a|b", "sacctmgr: error: Slurm accounting storage is disabled", "||||||||", "|||||"] {
        assert!(associations(broken).is_empty() && qualities(broken).is_empty(), "{broken}");
    }
}

#[test]
fn what_sbatch_answers() {
    assert_eq!(submitted("123\n").as_deref(), Some("123"));
    assert_eq!(submitted("sbatch: welcome to the site\n\n77;cluster\n\n").as_deref(), Some("77"));
    for broken in ["", "Submitted batch job 5", "12a", ";", "-1"] {
        assert_eq!(submitted(broken), None, "{broken}");
    }
}

#[test]
fn what_a_refusal_means() {
    let policy = "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size \
                  and/or time limits)";
    let limits = [
        format!("sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: {policy}"),
        format!("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: {policy}"),
        format!("sbatch: error: AssocGrpSubmitJobsLimit\nsbatch: error: {policy}"),
        format!("sbatch: error: {policy}"),
        "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying".into(),
    ];
    for said in &limits {
        assert!(matches!(refusal(said), Refusal::Limit(_)), "{said}");
    }
    for said in [
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
    ] {
        assert!(matches!(refusal(said), Refusal::Unreachable(_)), "{said}");
    }
    for said in [
        "sbatch: error: Batch job submission failed: Invalid node name specified",
        "sbatch: error: Batch job submission failed: Requested node configuration is not available",
        &format!("sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: {policy}"),
        &format!("sbatch: error: AssocMaxNodePerJobLimit\nsbatch: error: {policy}"),
        "",
    ] {
        assert!(matches!(refusal(said), Refusal::Wrong(_)), "{said}");
    }
}

#[test]
fn broken_answers_are_errors_and_never_panic() {
    let garbage = ["\u{0}\u{1}|||", "|", "slurm_load_node error: Unable to contact", "||||\n||||", "ä|ö|ü"];
    for text in garbage {
        let _ = (nodes(text), queue(text), partitions(text), associations(text), qualities(text), submitted(text));
    }
    assert!(nodes("no such form").unwrap_err().to_string().contains("no such form"));
    assert!(queue("slurm_load_jobs error").unwrap_err().to_string().contains("squeue"));
    assert!(partitions("").unwrap_err().to_string().contains("nothing"));
    // Every prefix of good answers.
    let good = "n3|long|down*|Not responding\nPartitionName=a Default=YES MaxTime=1-02:00:00\n102_1|PD|Resources\n\
                a|||x||2||\n";
    for length in 0..good.len() {
        let text = &good[..length];
        let _ = (nodes(text), queue(text), partitions(text), associations(text), qualities(text), submitted(text));
    }
}

/// An answer of the real Slurm of `recorded/`: without its last line, which says the exit status.
macro_rules! recorded {
    ($name:literal) => {{
        let text = include_str!(concat!("../recorded/", $name, ".txt"));
        &text[..text.rfind("exit ").unwrap()]
    }};
}

#[test]
fn what_the_real_one_answered() {
    let partitions = partitions(recorded!("show_partition")).unwrap();
    let short: Vec<_> = partitions.iter().map(|one| (one.name.as_str(), one.default, one.longest)).collect();
    assert_eq!(short, [("all", true, Some(3600)), ("short", false, Some(300))]);
    assert_eq!(submitted(recorded!("sbatch_ok")).as_deref(), Some("3"));
    for limited in [recorded!("sbatch_limit"), recorded!("srun_limit"), recorded!("salloc_limit")] {
        assert!(matches!(refusal(limited), Refusal::Limit(_)), "{limited}");
    }
    assert!(matches!(refusal(recorded!("sbatch_controller_down")), Refusal::Unreachable(_)));
    for wrong in [recorded!("sbatch_bad_node"), recorded!("sbatch_node_not_in_partition")] {
        assert!(matches!(refusal(wrong), Refusal::Wrong(_)), "{wrong}");
    }
    for options in [recorded!("sbatch_bad_partition"), recorded!("sbatch_bad_account"), recorded!("sbatch_bad_option")]
    {
        assert!(matches!(refusal(options), Refusal::Options(_)), "{options}");
    }
    assert!(queue(recorded!("squeue_empty")).unwrap().is_empty());
    assert!(queue(recorded!("squeue_controller_down")).is_err());
    assert!(nodes(recorded!("sinfo_controller_down")).is_err());
    // Recorded with other columns: what is read of them is the same.
    assert_eq!(qualities(recorded!("qos")), [("normal".to_owned(), Quality { limit: None, longest: None })]);
}

#[test]
fn kinds_of_mpi_are_words_on_their_own() {
    // Slurm 22.05 and 20.11.
    let new =
        "MPI plugin types are...\n\tnone\n\tpmix\n\tcray_shasta\nspecific pmix plugin versions available: pmix_v4\n";
    assert_eq!(mpi_types(new), ["none", "pmix", "cray_shasta"]);
    let old = "srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: pmix_v3\n";
    assert_eq!(mpi_types(old), ["none", "pmi2", "pmix_v3"]);
    assert!(mpi_types("").is_empty() && mpi_types("srun: error: Invalid MPI type").is_empty());
}

#[test]
fn how_jobs_of_a_real_slurm_ended() {
    let ended = |text| job_end(text).map(|end| (end.to_string(), end.by()));
    let of = |text: &str, by| Some((text.to_owned(), by));
    let failed = of("FAILED, exit status 0:53", EndedBy::Itself);
    assert_eq!(ended(recorded!("show_job_failed")), failed, "its folder was not there");
    assert_eq!(ended(recorded!("show_job_cancelled")), of("CANCELLED", EndedBy::Cancel));
    let preempted = of("PREEMPTED (preempted by another job)", EndedBy::Preemption);
    assert_eq!(ended(recorded!("show_job_preempted")), preempted);
    let states = [
        ("NODE_FAIL", EndedBy::NodeFailure),
        ("TIMEOUT", EndedBy::TimeLimit),
        ("OUT_OF_MEMORY", EndedBy::OutOfMemory),
        ("COMPLETED", EndedBy::Itself),
    ];
    for (state, by) in states {
        assert_eq!(accounted_end(&format!("{state}|0:0\n")).map(|end| end.by()), Some(by), "{state}");
    }
    // Accounting knows who cancelled a job.
    assert_eq!(accounted_end("CANCELLED by 65534|0:15\n").map(|end| end.by()), Some(EndedBy::Cancel));
    assert!(accounted_end("").is_none() && accounted_end("RUNNING|0:0\n").is_none());
    for unended in [recorded!("show_job_running"), recorded!("show_job_pending"), recorded!("show_job_unknown"), ""] {
        assert_eq!(ended(unended), None);
    }
}
