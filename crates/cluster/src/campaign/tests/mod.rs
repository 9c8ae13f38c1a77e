//! Campaigns on a simulated Slurm: real folders, simulated time, nodes that are up, busy, down or never there,
//! limits, other users, refusals, and jobs that end at any moment.

mod simulated;

use std::fs;

use std::cell::RefCell;
use std::rc::Rc;

use model::cluster::{Claim, Outcome, OutcomeStatus, Pairing, SubmittedJob, SuiteTask, Task, Work};

use super::decide::{Action, Options, decide};
use super::history::History;
use super::mark::{LastCampaign, cancel, is_cancelled, last};
use super::remaining::Remaining;
use super::retry::retry;
use super::run::CampaignEnd;
use crate::claims::claim::claimer;
use crate::folder::{Folder, State, read};
use crate::network::pairs;
use crate::scheduler::job::{Availability, SchedulerState};
use crate::tests::plan_of;
use crate::tests::support::Scratch;
use simulated::{Fate, Shared, TASK_SECONDS, World, drive, places, plan, shared, troubled, try_drive, world};

/// A finished campaign.
struct Campaign {
    _scratch: Scratch,
    folder: Folder,
    world: Shared,
    reports: Vec<String>,
}

impl Campaign {
    /// A campaign on nodes of which some have these fates; this many tasks have no result.
    #[track_caller]
    fn finish(nodes: usize, pairs: bool, fates: &[(&str, Fate)], without_result: u64) -> Self {
        let (scratch, folder) = plan(nodes, pairs);
        let mut world = world(&folder, nodes);
        world.fates.extend(fates.iter().map(|(node, fate)| ((*node).to_owned(), *fate)));
        let world = shared(world);
        let (finished, reports) = drive(&world, &Options::default(), None, &[]);
        assert_eq!(finished, CampaignEnd::AllFinished { without_result }, "{reports:?}");
        Self { _scratch: scratch, folder, world, reports }
    }

    /// Asserts that the tasks of this node were skipped, and those of the other nodes measured.
    #[track_caller]
    fn skipped_only(&self, skipped: &str) {
        for ((node, task), status) in places(&self.folder) {
            let expected = if node == skipped { OutcomeStatus::Skipped } else { OutcomeStatus::Ok };
            assert_eq!(status, Some(expected), "{node} {task}");
        }
    }

    /// Asserts that one report has all these parts.
    #[track_caller]
    fn reported(&self, parts: &[&str]) {
        let found = self.reports.iter().any(|report| parts.iter().all(|part| report.contains(part)));
        assert!(found, "no {parts:?} in {:?}", self.reports);
    }
}

#[test]
fn idle_nodes_are_one_job_and_it_ends() {
    let (_scratch, folder) = plan(5, false);
    let world = shared(World { limit: Some(2), ..world(&folder, 5) });
    let (finished, reports) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 }, "{reports:?}");
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
    let fates = [("n2", Fate::Never), ("n3", Fate::DownBetween(30.0, 500.0)), ("n4", Fate::BusyUntil(3000.0))];
    let campaign = Campaign::finish(4, false, &fates, 3);
    campaign.skipped_only("n2");
    campaign.reported(&["'n2' is skipped", "it was not available for 10 min: down*"]);
}
#[test]
fn a_node_whose_jobs_come_to_nothing_is_given_up_with_their_output() {
    let campaign = Campaign::finish(2, false, &[("n1", Fate::Broken)], 3);
    campaign.reported(&["'n1' is skipped", "3 jobs in a row"]);
    campaign.reported(&["ended without finishing a task on 'n1'"]);
}
#[test]
fn a_node_that_does_not_see_the_plan_goes_alone_and_is_given_up() {
    // On the first node of a job its script runs.
    for blind in ["n1", "n3"] {
        let campaign = Campaign::finish(4, false, &[(blind, Fate::Blind)], 3);
        campaign.skipped_only(blind);
        let taken = campaign.world.borrow().taken.clone();
        assert!(taken[1..].iter().filter(|nodes| nodes.contains(&blind.to_owned())).all(|nodes| nodes.len() == 1));
        assert!(taken.len() <= 5, "the other nodes have two jobs at most: {taken:?}");
        campaign.reported(&[
            &format!("'{blind}' is skipped"),
            "has not answered the probe file",
            "cannot read the plan",
        ]);
    }
}
#[test]
fn preempted_jobs_do_not_count_against_their_nodes() {
    let campaign = Campaign::finish(2, false, &[("n2", Fate::EndedUntil(400.0, "PREEMPTED"))], 0);
    assert!(campaign.world.borrow().ends.len() > 3, "more often than a node may fail");
    campaign.reported(&["the scheduler reports PREEMPTED"]);
}

#[test]
fn jobs_that_an_operator_cancels_do_not_count_against_their_nodes() {
    let campaign = Campaign::finish(1, false, &[("n1", Fate::EndedUntil(700.0, "CANCELLED"))], 0);
    assert!(campaign.world.borrow().ends.len() > 3, "more often than a node may fail");
    campaign.reported(&["the scheduler reports CANCELLED"]);
    campaign.reported(&["the job 1 was cancelled"]);
    let first: SubmittedJob = read(&campaign.folder.jobs().join("1.json")).unwrap();
    let ended = first.ended.unwrap();
    assert_eq!((ended.state.as_deref(), ended.fruitless), (Some("CANCELLED"), vec!["n1".to_owned()]));
}

#[test]
fn who_cancels_every_job_does_not_want_them_and_no_node_is_given_up() {
    for (state, why) in [("CANCELLED", "10 jobs in a row were cancelled"), ("TIMEOUT", "3 jobs in a row ended at")] {
        let (_scratch, folder) = plan(1, false);
        let mut world = world(&folder, 1);
        world.fates.insert("n1".into(), Fate::EndedUntil(1e9, state));
        let (finished, reports) = drive(&shared(world), &Options::default(), None, &[]);
        let CampaignEnd::Stopped { left: 3, why: said } = finished else { panic!("{finished:?} {reports:?}") };
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_node_that_fails_again_and_again_is_given_up() {
    let campaign = Campaign::finish(2, false, &[("n1", Fate::EndedUntil(1e9, "NODE_FAIL"))], 3);
    campaign.skipped_only("n1");
    campaign.reported(&["'n1' is skipped", "NODE_FAIL (a node failed)"]);
}

#[test]
fn a_plan_that_is_moved_in_the_middle_is_no_success_and_is_not_made_again() {
    let (_scratch, folder) = plan(3, false);
    let lost = shared(World { moved_at: Some(30.0), ..world(&folder, 3) });
    let (finished, _) = try_drive(&lost, &Options::default(), None, &[]);
    let error = finished.unwrap_err().to_string();
    assert!(error.contains("is lost") && error.contains("no longer mounted"), "{error}");
    assert!(!folder.path().exists(), "{:?}", fs::read_dir(folder.path()));
    // Where it is found again, it continues.
    fs::rename(folder.path().with_extension("moved"), folder.path()).unwrap();
    lost.borrow_mut().jobs.clear();
    let (finished, _) = drive(&lost, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
}

#[test]
fn jobs_that_are_too_short_for_any_task_are_never_submitted() {
    for (longest, asked) in [(Some(20), None), (None, Some(20.0))] {
        let (_scratch, folder) = plan(2, false);
        let world = shared(World { longest, ..world(&folder, 2) });
        let options = Options { job_seconds: asked, ..Options::default() };
        let (finished, _) = drive(&world, &options, None, &[]);
        let CampaignEnd::Stopped { left: 6, why } = finished else { panic!("{finished:?}") };
        assert!(why.contains("takes about 20 s, but its jobs can take 20 s, of which 15 s are for tasks"), "{why}");
        assert!(world.borrow().taken.is_empty());
    }
    let (_scratch, folder) = plan(2, false);
    let world = shared(World { longest: Some(40), ..world(&folder, 2) });
    let (finished, _) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert!(world.borrow().taken.len() > 1, "a task or two for each job");
}

#[test]
fn an_account_that_is_refused_is_refused_once() {
    let (_scratch, folder) = plan(4, false);
    let world = shared(World { refuses_options: true, ..world(&folder, 4) });
    let options = Options { nodes_per_job: 1, ..Options::default() };
    let (finished, _) = drive(&world, &options, None, &[]);
    let CampaignEnd::Stopped { left: 12, why } = finished else { panic!("{finished:?}") };
    assert!(why.contains("Invalid account") && why.contains("--sbatch"), "{why}");
    assert_eq!(world.borrow().next, 1);
}

#[test]
fn a_node_that_was_given_up_is_measured_when_it_is_back() {
    let campaign = Campaign::finish(3, true, &[("n3", Fate::Never)], 7);
    campaign.world.borrow_mut().fates.insert("n3".into(), Fate::Up);
    assert_eq!(retry(&campaign.folder, &campaign.folder.plan().unwrap()).unwrap(), 7);
    assert_eq!(places(&campaign.folder).values().filter(|status| status.is_none()).count(), 7);
    let (finished, _) = drive(&campaign.world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert_eq!(retry(&campaign.folder, &campaign.folder.plan().unwrap()).unwrap(), 0, "nothing is left to try again");
    // A kill in the middle of it loses nothing.
    let done = campaign.folder.tasks(State::Done, "n3");
    fs::rename(done.join("cpu"), done.join(".retry-cpu")).unwrap();
    assert_eq!(retry(&campaign.folder, &campaign.folder.plan().unwrap()).unwrap(), 1);
    assert_eq!(places(&campaign.folder)[&("n3".to_owned(), "cpu".to_owned())], None);
}

#[test]
fn the_tasks_of_excluded_nodes_wait_for_a_later_campaign() {
    let (_scratch, folder) = plan(3, true);
    let world = shared(world(&folder, 3));
    let options = Options { exclude: vec!["n2".into()], ..Options::default() };
    let (finished, _) = drive(&world, &options, None, &[]);
    // Its parts of the suite, and the pairs from it and to it.
    let CampaignEnd::Stopped { left: 7, why } = finished else { panic!("{finished:?}") };
    assert!(why.contains("excluded node (n2)"), "{why}");
    assert!(world.borrow().taken.iter().all(|nodes| !nodes.contains(&"n2".to_owned())));
    let (finished, _) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
}

#[test]
fn a_campaign_says_for_others_whether_it_runs_and_how_it_ended() {
    let (_scratch, folder) = plan(2, false);
    let us = claimer(None).unwrap();
    assert_eq!(last(&folder, &us), None);
    let world = shared(world(&folder, 2));
    let during = Rc::new(RefCell::new(None));
    world.borrow_mut().seen = Some((30.0, Rc::clone(&during)));
    let _ = drive(&world, &Options::default(), None, &[]);
    let during: LastCampaign = during.borrow_mut().take().unwrap();
    assert!(during.is_alive && during.mark.text == "1 job running", "{during:?}");
    let after = last(&folder, &us).unwrap();
    assert_eq!((after.is_alive, after.mark.ended, after.mark.text.as_str()), (false, Some(0), "every task has ended"));
    // One that was killed.
    let (_scratch, folder) = plan(2, false);
    let dead = Claim { pid: 1, pid_start: Some(u64::MAX), ..us.clone() };
    crate::campaign::mark::set(&folder, &dead, "it waits", None).unwrap();
    assert!(!last(&folder, &us).unwrap().is_alive);
    cancel(&folder).unwrap();
    assert!(is_cancelled(&folder));
    let (finished, _) = drive(&shared(self::world(&folder, 2)), &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 }, "a new campaign is not cancelled");
}

#[test]
fn a_campaign_that_is_cancelled_ends() {
    let (_scratch, folder) = plan(2, false);
    let world = shared(World { cancelled_at: Some(15.0), ..world(&folder, 2) });
    let (finished, _) = drive(&world, &Options::default(), None, &[]);
    let CampaignEnd::Stopped { left: 6, why } = finished else { panic!("{finished:?}") };
    assert!(why.contains("assay cluster cancel"), "{why}");
}
#[test]
fn a_node_whose_jobs_are_refused_delays_no_other_and_is_skipped() {
    let campaign = Campaign::finish(4, false, &[("n2", Fate::Refused)], 3);
    campaign.reported(&["'n2' is skipped", "not available"]);
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
    let (finished, reports) = drive(&world, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert!(reports.iter().any(|text| text.contains("3 other jobs of this user")), "{reports:?}");
    assert!(world.borrow().now > 2000.0);
    assert!(world.borrow().most_queued <= 3, "one place stays free");
}

#[test]
fn a_scheduler_that_is_away_is_asked_again_and_in_the_end_left() {
    let (_scratch, folder) = plan(2, false);
    let short = shared(World { away: (10.0, 300.0), ..world(&folder, 2) });
    let (finished, reports) = drive(&short, &Options::default(), None, &[]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert!(reports.iter().any(|text| text.contains("does not answer")), "{reports:?}");
    assert!(reports.iter().any(|text| text.contains("answers again")), "{reports:?}");
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
    let (finished, reports) = drive(&world, &Options::default(), None, std::slice::from_ref(&again));
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 }, "{reports:?}");
    let taken = world.borrow().taken.clone();
    let expected = [&["n1", "n2", "n3"][..], &["n2"], &["n1", "n2", "n3"]];
    assert_eq!(taken, expected, "all, the one that is confirmed, then all together");
    assert_eq!(places(&folder).len(), 3 * 3 + 1 + 6);
    let (finished, _) = drive(&world, &Options::default(), None, &[again]);
    assert_eq!(finished, CampaignEnd::AllFinished { without_result: 0 });
    assert_eq!(world.borrow().taken.len(), 3, "what was confirmed is not confirmed again");
}

#[test]
fn pairs_of_nodes_whose_last_job_is_completing_are_one_job() {
    let (plan, _) = plan_of(&["n1", "n2", "n3"], None);
    let left = Remaining::of(&plan, &pairs::tasks(&plan.nodes, Pairing::All, 1));
    let mut history = History::new(&plan.nodes, true);
    history.may_meet = true;
    let submitted = |third: &str| {
        let busy = |state: &str| Availability::Busy(state.to_owned());
        let nodes = [("n1", Availability::Idle), ("n2", busy("comp")), ("n3", busy(third))];
        let nodes = nodes.map(|(name, availability)| (name.to_owned(), availability)).into();
        let state = SchedulerState { nodes, ..SchedulerState::default() };
        match decide(&state, &left, &Options::default(), &history, 0.0).remove(0) {
            Action::Submit(job) => job.nodes.join(","),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!([submitted("comp"), submitted("alloc")], ["n1,n2,n3", "n1,n2"]);
}

#[test]
fn pairs_with_a_node_that_never_came_up_are_skipped_with_the_reason() {
    // The node's three parts of the suite and two pairs, and the two pairs towards it.
    let campaign = Campaign::finish(3, true, &[("n3", Fate::Never)], 7);
    let outcome: Outcome = read(&campaign.folder.outcome("n1", "to-n3")).unwrap();
    assert!(outcome.reason.as_deref().unwrap().contains("'n3' was skipped"), "{outcome:?}");
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
