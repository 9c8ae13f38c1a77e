//! Workers that meet for HPL: the plan's program is a shell script here, and what starts the processes another one.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use model::cluster::{HplPlan, NodeFacts, Outcome, OutcomeStatus, Plan, PlanNode, Task, Work};
use model::machine::Machine;

use super::meeting::run_hpl;
use super::tasks::{is_hpl, task};
use crate::attempt::context::NodeContext;
use crate::claims::claim::{self, HeldClaim, claimer};
use crate::claims::lease::Leases;
use crate::evaluate::evaluate;
use crate::folder::{Folder, NODE, State, names, write};
use crate::network::idle::{IdleEnd, IdleWorker, Waits};
use crate::plan;
use crate::tasks::{lease, waiting};
use crate::tests::plan_of;
use crate::tests::support::{Scratch, install, scratch};

/// The plan's program: becomes the launcher as `assay attempt` does.
const ASSAY: &str =
    "#!/bin/sh\n[ \"$1 $2\" = 'attempt --program' ] || exit 2\nprogram=$3\nshift 4\nexec \"$program\" \"$@\"\n";

/// Records its arguments, then runs the commands after it.
const LAUNCHER: &str = "#!/bin/sh\nhere=$(dirname \"$0\")\necho \"$*\" >> \"$here/called\"\n";

/// Prints a result for the system in `HPL.dat`: the order is in line 6, the grid in lines 11 and 12.
const SOLVES: &str = "line() { sed -n \"$1p\" HPL.dat | cut -d' ' -f1; }\nn=$(line 6)\nseconds=100.00\n\
    rate=$(awk -v n=$n 'BEGIN { printf \"%.6e\", (2 / 3 * n * n * n + 1.5 * n * n) / 100 / 1e9 }')\n\
    echo \"WR11C2R4 $n 192 $(line 11) $(line 12) $seconds $rate\"\n\
    echo '||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.5e-03 ...... PASSED'\necho 'End of Tests.'\n";

/// A plan whose nodes have finished all tasks but HPL.
struct World {
    scratch: Scratch,
    folder: Folder,
    plan: Plan,
    nodes: Vec<(String, HeldClaim)>,
}

fn world(nodes: &[(&str, &str)], launcher: &str) -> World {
    let scratch = scratch();
    let names: Vec<&str> = nodes.iter().map(|(name, _)| *name).collect();
    let (mut plan, tasks) = plan_of(&names, Some(60.0));
    plan.program_path = install(&scratch, "assay", ASSAY).display().to_string();
    plan.hpl = Some(HplPlan {
        program: install(&scratch, "xhpl", "").display().to_string(),
        launcher: vec![install(&scratch, "launcher", &format!("{LAUNCHER}{launcher}")).display().to_string()],
        most_seconds: Some(60.0),
    });
    let folder = Folder::at(&scratch.path().join("plan"));
    let tasks: Vec<Task> = tasks.into_iter().filter(|task| matches!(task.work, Work::Hpl(_))).collect();
    plan::write::write(&folder, &plan, &tasks, Path::new(&plan.program_path)).unwrap();
    let us = claimer(None).unwrap();
    let held = nodes.iter().map(|(node, model)| {
        let mut machine = Machine::default();
        machine.cpu.cores = Some(2);
        machine.cpu.model_name = Some((*model).to_owned());
        machine.memory.total_bytes = Some(4_000_000_000);
        let facts = NodeFacts {
            node: (*node).to_owned(),
            program: plan.program.clone(),
            machine,
            settings: [].into(),
            clock_skew_seconds: None,
        };
        write(&folder.node(node).join("facts.json"), &facts).unwrap();
        let [waiting, running] = [State::Waiting, State::Running].map(|state| folder.tasks(state, node));
        fs::create_dir_all(&running).unwrap();
        ((*node).to_owned(), claim::claim(&waiting, &running, NODE, &us).unwrap().unwrap())
    });
    let nodes = held.collect();
    World { scratch, folder, plan, nodes }
}

impl World {
    /// A worker on each of these nodes; how each ended.
    fn meet(&self, nodes: &[&str], linger: f64) -> Vec<IdleEnd> {
        let environment = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        std::thread::scope(|scope| {
            let one = |node: &&str| {
                let (node, environment) = ((*node).to_owned(), &environment);
                scope.spawn(move || {
                    let (leases, us) = (Leases::new(lease(&self.plan)), claimer(None).unwrap());
                    let (folder, plan) = (&self.folder, &self.plan);
                    let context = NodeContext {
                        folder,
                        plan,
                        node: &node,
                        environment,
                        leases: &leases,
                        until: None,
                        cancelled: &AtomicBool::new(false),
                    };
                    let waits = Waits { linger, ..Waits::default() };
                    run_hpl(&IdleWorker { context: &context, us: &us, waits, report: &|_| {}, on_result: &|_, _| {} })
                        .unwrap()
                })
            };
            let started: Vec<_> = nodes.iter().map(one).collect();
            started.into_iter().map(|worker| worker.join().unwrap()).collect()
        })
    }

    fn all(&self) -> Vec<IdleEnd> {
        let nodes: Vec<&str> = self.nodes.iter().map(|(node, _)| node.as_str()).collect();
        self.meet(&nodes, 60.0)
    }

    fn outcome(&self, task: &str) -> Outcome {
        crate::folder::read(&self.folder.outcome("n1", task)).unwrap()
    }

    fn called(&self) -> Vec<String> {
        let text = fs::read_to_string(self.scratch.path().join("called")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn all_nodes_meet_and_one_launches() {
    // All are marked as idle while it runs.
    let idle = "ls \"$here\"/plan/net/idle >> \"$here/idle\"\n";
    let world = world(&[("n1", "a"), ("n2", "a"), ("n3", "a")], &format!("{idle}{SOLVES}"));
    assert_eq!(world.all(), [const { IdleEnd::AllFinished }; 3]);
    let outcome = world.outcome("hpl");
    assert_eq!((outcome.status, outcome.reason.as_deref()), (OutcomeStatus::Ok, None));
    let value = |name: &str| outcome.values[name];
    // All three are this machine, whose two cores they share: one process each.
    assert_eq!((value("p"), value("q"), value("nb"), value("residual")), (1.0, 3.0, 192.0, 2.5e-3));
    assert!(value("n") % 192.0 == 0.0 && value("flop_per_s") > 0.0, "{outcome:?}");
    let called = world.called();
    assert!(called.len() == 1 && called[0].starts_with("-np 3 /usr/bin/env "), "{called:?}");
    let idle = fs::read_to_string(world.scratch.path().join("idle")).unwrap();
    assert_eq!(idle.split_whitespace().collect::<Vec<_>>(), ["n1", "n2", "n3"]);
    let done = world.folder.tasks(State::Done, "n1").join("hpl");
    assert!(["HPL.dat", "hpl.txt"].iter().all(|name| done.join(name).is_file()), "kept as it was");
    let evaluated = evaluate(&world.folder, world.plan.program.clone()).unwrap().hpl;
    assert_eq!((evaluated.len(), evaluated[0].rate, evaluated[0].nodes.len()), (1, Some(value("flop_per_s")), 3));
    assert_eq!(world.all(), [const { IdleEnd::AllFinished }; 3], "there is nothing to meet for any more");
    assert_eq!(world.called().len(), 1);
}

#[test]
fn nodes_of_equal_hardware_have_their_own() {
    let world = world(&[("n1", "a"), ("n2", "b"), ("n3", "b"), ("n4", "c")], SOLVES);
    assert_eq!(world.all(), [const { IdleEnd::AllFinished }; 4]);
    let nodes = |task: &str| {
        let Work::Hpl(hpl) = world.outcome(task).task.work else { panic!("{task}") };
        hpl.nodes.join(",")
    };
    let mut done = names(&world.folder.tasks(State::Done, "n1")).unwrap();
    done.sort_unstable();
    assert_eq!(done, ["hpl", "hpl.group-1"], "two are the only ones of their kind");
    assert_eq!((nodes("hpl"), nodes("hpl.group-1")), ("n1,n2,n3,n4".to_owned(), "n2,n3".to_owned()));
    assert_eq!(evaluate(&world.folder, world.plan.program.clone()).unwrap().hpl.len(), 2);
}

#[test]
fn what_fails_is_a_sentence() {
    for (does, why) in [
        (SOLVES.replace("PASSED", "FAILED"), "found its own solution wrong"),
        ("echo 'no route to n2' >&2; exit 7\n".to_owned(), "no route to n2"),
        ("true\n".to_owned(), "0 results"),
        ("kill -9 $$\n".to_owned(), "signal 9"),
    ] {
        let world = world(&[("n1", "a"), ("n2", "a")], &does);
        assert_eq!(world.all(), [const { IdleEnd::AllFinished }; 2]);
        let outcome = world.outcome("hpl");
        let reason = outcome.reason.unwrap();
        assert_eq!(outcome.status, OutcomeStatus::Failed, "{reason}");
        assert!(reason.contains("2 attempts failed") && reason.contains(why), "{reason}");
        assert_eq!(world.called().len(), 2, "as often as the plan says");
        let evaluated = &evaluate(&world.folder, world.plan.program.clone()).unwrap().hpl[0];
        assert!(
            evaluated.rate.is_none() && evaluated.n > 0 && evaluated.reason.as_ref().unwrap().contains(why),
            "{evaluated:?}"
        );
    }
}

#[test]
fn what_is_not_there_is_said_and_not_tried() {
    type Change = fn(&mut HplPlan);
    let cases: [(Change, &str); 3] = [
        (|hpl| hpl.program = "/no/such/xhpl".into(), "'/no/such/xhpl' is not a program on 'n1'"),
        (|hpl| hpl.launcher = vec!["/no/such/mpirun".into()], "'/no/such/mpirun' is not installed"),
        (|hpl| hpl.most_seconds = Some(0.5), "no problem size fits"),
    ];
    for (change, why) in cases {
        let mut world = world(&[("n1", "a"), ("n2", "a")], SOLVES);
        change(world.plan.hpl.as_mut().unwrap());
        assert_eq!(world.all(), [const { IdleEnd::AllFinished }; 2]);
        let outcome = world.outcome("hpl");
        assert_eq!(outcome.status, OutcomeStatus::Skipped);
        assert!(outcome.reason.as_ref().unwrap().contains(why), "{outcome:?}");
        assert!(world.called().is_empty());
    }
}

#[test]
fn who_waits_in_vain_leaves_the_task() {
    let world = world(&[("n1", "a"), ("n2", "a")], SOLVES);
    assert_eq!(world.meet(&["n1"], 0.5), [IdleEnd::PartnersMissing]);
    assert!(world.called().is_empty());
    assert!(waiting(&world.folder, "n1").unwrap().contains("hpl"));
    assert_eq!(world.all(), [const { IdleEnd::AllFinished }; 2], "later they meet");
}

#[test]
fn a_node_alone_has_no_such_task() {
    let hpl = HplPlan { program: "xhpl".into(), launcher: Vec::new(), most_seconds: Some(60.0) };
    let node = |name: &str| PlanNode { name: name.to_owned(), partition: None };
    assert!(task(&[node("n1")], &hpl).unwrap_err().to_string().contains("at least two"));
    let of_two = task(&[node("n1"), node("n2")], &hpl).unwrap();
    assert_eq!((of_two.node.as_str(), of_two.seconds), ("n1", 90.0));
    assert!(is_hpl("hpl") && is_hpl("hpl.group-2") && !is_hpl("hplx") && !is_hpl("cpu"));
}
