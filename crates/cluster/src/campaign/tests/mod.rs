//! Campaigns on a simulated Slurm: real folders, simulated time, nodes that are up, busy, down or never there, limits, other
//! users, refusals, and jobs that end at any moment. Checked for each: never above the limit, no node in two jobs, no job
//! left in the queue, always an end, and each task finished exactly once or still there.

mod simulated;

use std::fs;

use model::cluster::{Outcome, OutcomeStatus, SuiteTask, Task, Work};

use super::decide::Options;
use super::events::CampaignEnd;
use crate::folder::read;
use simulated::{Fate, TASK_SECONDS, World, drive, places, plan, shared, troubled, world};

#[test]
fn idle_nodes_are_one_job_and_it_ends() {
    let (_scratch, folder) = plan(5, false);
    let world = shared(World { limit: Some(2), ..world(&folder, 5) });
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 }, "{told:?}");
    assert_eq!(world.borrow().taken.len(), 1, "{:?}", world.borrow().taken);
    assert_eq!(places(&folder).len(), 15);
    assert_eq!(fs::read_dir(folder.jobs()).unwrap().count(), 1);
}

#[test]
fn nodes_at_once_are_no_more_than_the_user_wants() {
    let (_scratch, folder) = plan(4, false);
    let world = shared(world(&folder, 4));
    let options = Options { at_once: Some(1), ..Options::default() };
    let (finished, _) = drive(&world, &options, None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert!(world.borrow().taken.iter().all(|nodes| nodes.len() == 1), "{:?}", world.borrow().taken);
    assert_eq!(world.borrow().most_queued, 1);
}

#[test]
fn a_node_that_is_not_there_is_given_up_and_one_that_comes_back_is_not() {
    let (_scratch, folder) = plan(4, false);
    let mut world = world(&folder, 4);
    world.fates.insert("n2".into(), Fate::Never);
    world.fates.insert("n3".into(), Fate::DownBetween(30.0, 500.0));
    world.fates.insert("n4".into(), Fate::BusyUntil(3000.0));
    let world = shared(world);
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 3 }, "{told:?}");
    for ((node, task), status) in places(&folder) {
        let expected = if node == "n2" { OutcomeStatus::Skipped } else { OutcomeStatus::Ok };
        assert_eq!(status, Some(expected), "{node} {task}");
    }
    assert!(told.iter().any(|text| text.contains("'n2' is given up") && text.contains("never came up")), "{told:?}");
}

#[test]
fn a_node_whose_jobs_come_to_nothing_is_given_up_with_what_they_said() {
    let (_scratch, folder) = plan(2, false);
    let mut world = world(&folder, 2);
    world.fates.insert("n1".into(), Fate::Broken);
    let world = shared(world);
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 3 }, "{told:?}");
    assert!(told.iter().any(|text| text.contains("'n1' is given up") && text.contains("3 jobs in a row")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("ended with nothing done on 'n1'")), "{told:?}");
}

#[test]
fn a_node_that_does_not_see_the_plan_goes_alone_and_is_given_up() {
    // The first node's are jobs whose script does not begin; the other's are those of which a part does not.
    for blind in ["n1", "n3"] {
        let (_scratch, folder) = plan(4, false);
        let mut world = world(&folder, 4);
        world.fates.insert(blind.into(), Fate::Blind);
        let world = shared(world);
        let (finished, told) = drive(&world, &Options::default(), None, &[]);
        assert_eq!(finished, CampaignEnd::AllFinished { without_result: 3 }, "{told:?}");
        for ((node, task), status) in places(&folder) {
            let expected = if node == blind { OutcomeStatus::Skipped } else { OutcomeStatus::Ok };
            assert_eq!(status, Some(expected), "{node} {task}");
        }
        let taken = world.borrow().taken.clone();
        assert!(taken[1..].iter().filter(|nodes| nodes.contains(&blind.to_owned())).all(|nodes| nodes.len() == 1));
        assert!(taken.len() <= 5, "the others have two jobs at most: {taken:?}");
        let given_up = format!("'{blind}' is given up");
        let told = told.iter().find(|text| text.contains(&given_up)).unwrap();
        assert!(told.contains("has not answered the probe file") && told.contains("does not see"), "{told}");
    }
}

#[test]
fn jobs_that_are_ended_for_others_are_no_nodes_fault() {
    let (_scratch, folder) = plan(2, false);
    let mut world = world(&folder, 2);
    world.fates.insert("n2".into(), Fate::WantedUntil(400.0));
    let world = shared(world);
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 }, "{told:?}");
    assert!(world.borrow().preempted.len() > 3, "more often than a node may fail");
    assert!(told.iter().any(|text| text.contains("the scheduler says PREEMPTED")), "{told:?}");
}

#[test]
fn a_node_whose_jobs_are_refused_holds_up_nobody_and_is_given_up() {
    let (_scratch, folder) = plan(4, false);
    let mut some = world(&folder, 4);
    some.fates.insert("n2".into(), Fate::Refused);
    let (finished, told) = drive(&shared(some), &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 3 }, "{told:?}");
    assert!(told.iter().any(|text| text.contains("'n2' is given up") && text.contains("not available")), "{told:?}");
    // Where every job is refused it is not the nodes' fault, and they keep their tasks.
    let (_scratch, folder) = plan(4, false);
    let mut all = world(&folder, 4);
    all.fates.values_mut().for_each(|fate| *fate = Fate::Refused);
    let (finished, _) = drive(&shared(all), &Options::default(), None, &[]);
    let CampaignEnd::Stopped { left: 12, why } = finished else { panic!("{finished:?}") };
    assert!(why.contains("10 submissions in a row"), "{why}");
}

#[test]
fn a_user_whose_own_jobs_fill_the_limit_waits_and_never_submits_above_it() {
    let (_scratch, folder) = plan(3, false);
    let world = shared(World { limit: Some(4), others: (3, 2000.0), ..world(&folder, 3) });
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert!(told.iter().any(|text| text.contains("3 other jobs of this user")), "{told:?}");
    assert!(world.borrow().now > 2000.0);
    assert!(world.borrow().most_queued <= 3, "one place stays free");
}

#[test]
fn a_scheduler_that_is_away_is_asked_again_and_in_the_end_left() {
    let (_scratch, folder) = plan(2, false);
    let short = shared(World { away: (10.0, 300.0), ..world(&folder, 2) });
    let (finished, told) = drive(&short, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert!(told.iter().any(|text| text.contains("does not answer")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("answers again")), "{told:?}");
    let (_scratch, folder) = plan(2, false);
    let long = shared(World { away: (0.0, 1e9), ..world(&folder, 2) });
    let (finished, _) = drive(&long, &Options::default(), None, &[]);
    let CampaignEnd::Stopped { left: 6, why } = finished else { panic!("{finished:?}") };
    assert!(why.contains("did not answer") && why.contains("Unable to contact"), "{why}");
}

#[test]
fn a_campaign_that_is_ended_goes_on_with_the_jobs_that_it_left_in_the_queue() {
    let (_scratch, folder) = plan(3, false);
    let world = shared(world(&folder, 3));
    let (finished, _) = drive(&world, &Options::default(), Some(10.0), &[]);
    assert_eq!(finished, CampaignEnd::Interrupted { signal: 2, jobs: vec!["1".into()] });
    // The made-up scheduler refuses a node in two jobs.
    let (finished, _) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert_eq!(world.borrow().taken.len(), 1);
    let (finished, _) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 }, "nothing is left to do, and nothing is done");
    assert_eq!(world.borrow().taken.len(), 1);
}

#[test]
fn slow_nodes_are_measured_again_once_and_then_pairs() {
    let (_scratch, folder) = plan(3, true);
    let world = shared(world(&folder, 3));
    let again = Task {
        node: "n2".into(),
        name: "cpu-again".into(),
        pass: 2,
        seconds: TASK_SECONDS,
        tried: 0,
        work: Work::Suite(SuiteTask { areas: vec!["cpu".into()], filter: None }),
    };
    let (finished, told) = drive(&world, &Options::default(), None, std::slice::from_ref(&again));
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 }, "{told:?}");
    let taken = world.borrow().taken.clone();
    let expected = [&["n1", "n2", "n3"][..], &["n2"], &["n1", "n2", "n3"]];
    assert_eq!(taken, expected, "all, the one that is confirmed, then all together");
    assert_eq!(places(&folder).len(), 3 * 3 + 1 + 6);
    let (finished, _) = drive(&world, &Options::default(), None, &[again]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert_eq!(world.borrow().taken.len(), 3, "what was confirmed is not confirmed again");
}

#[test]
fn pairs_with_a_node_that_never_came_up_are_skipped_and_say_so() {
    let (_scratch, folder) = plan(3, true);
    let mut world = world(&folder, 3);
    world.fates.insert("n3".into(), Fate::Never);
    let world = shared(world);
    let (finished, told) = drive(&world, &Options::default(), None, &[]);
    // Its three parts of the suite, its two pairs, and the two towards it.
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 7 }, "{told:?}");
    let outcome: Outcome = read(&folder.outcome("n1", "to-n3")).unwrap();
    assert!(outcome.reason.as_deref().unwrap().contains("'n3' was given up"), "{outcome:?}");
}

#[test]
fn in_whatever_trouble_every_task_is_over_once_and_nothing_of_ours_stays() {
    for seed in 0..40_u32 {
        let nodes = 1 + seed as usize % 7;
        let (_scratch, folder) = plan(nodes, seed % 3 == 0);
        let tasks = places(&folder).len();
        let world = shared(troubled(seed, &folder, nodes));
        let most = 1 + seed % 5;
        let options = Options { max_jobs: most, nodes_per_job: 1 + seed % 4, ..Options::default() };
        // Ended once at any moment, and begun again.
        let (first, _) = drive(&world, &options, Some(f64::from((seed * 37) % 500)), &[]);
        let finished = match first {
            CampaignEnd::Interrupted { .. } => drive(&world, &options, None, &[]).0,
            other => other,
        };
        let found = places(&folder);
        assert_eq!(found.len(), tasks, "seed {seed}: a task was lost");
        let without: u64 = found.values().filter(|status| **status != Some(OutcomeStatus::Ok)).count() as u64;
        let world = world.borrow();
        if let CampaignEnd::Stopped { why, .. } = &finished {
            let refused = world.fates.values().filter(|fate| **fate == Fate::Refused).count();
            assert!(refused > 0 && why.contains("in a row were refused"), "seed {seed}: {why}");
            continue;
        }
        assert_eq!(finished, CampaignEnd::AllFinished { without_result: without }, "seed {seed}");
        for ((node, task), status) in &found {
            if matches!(world.fates[node], Fate::Never | Fate::Broken | Fate::Blind) {
                assert_eq!(*status, Some(OutcomeStatus::Skipped), "seed {seed}: {node} {task}");
            }
        }
        assert!(world.jobs.values().all(|job| job.started.is_some()), "seed {seed}: a job waits for nothing");
    }
}
