//! Twenty trials: something is killed or cancelled at a random time, the command runs again, and every task is in the report once.

use std::time::Duration;

use super::accept::check;
use super::config::NODES;
use super::daemons::{self, until};
use super::plan::{PATIENCE, Plan};
use super::queue::jobs;
use super::rig;
use stats::random::Random;
use xtask::shell::Shell;
use xtask::tally::Tally;

const SEED: u64 = 12;
const TRIALS: usize = 20;
/// Milliseconds in which something is disturbed: an undisturbed plan takes about nine seconds.
const MOMENTS: u64 = 7_000;
const AFTER: Duration = Duration::from_secs(45);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disturbance {
    Node,
    Worker,
    Submitter,
    Job,
}

const DISTURBANCES: [Disturbance; 4] =
    [Disturbance::Node, Disturbance::Worker, Disturbance::Submitter, Disturbance::Job];

fn of_trial(trial: usize, random: &mut Random) -> (Disturbance, Duration) {
    (DISTURBANCES[trial % DISTURBANCES.len()], Duration::from_millis(500 + random.below(MOMENTS)))
}

pub(super) fn run(_: &Shell) -> Tally {
    let mut random = Random::new(SEED);
    let mut tally = Tally::default();
    let mut hit = 0_usize;
    for trial in 0..TRIALS {
        let (disturbance, moment) = of_trial(trial, &mut random);
        let name = format!("trial {}: {disturbance:?} after {} ms", trial + 1, moment.as_millis());
        let made = || Plan::made(&format!("trial-{}", trial + 1), &[]);
        let begun = |_: &Plan| {
            std::thread::sleep(moment);
            Ok(())
        };
        let result = rig::ready().and_then(|()| once(&made()?, disturbance, &begun, &mut random));
        hit += usize::from(matches!(result, Ok(true)));
        tally.add(check(&name, result.map(drop)));
    }
    // Trials in which nothing was there to be disturbed show nothing.
    let enough = if hit * 4 >= TRIALS * 3 { Ok(()) } else { Err(format!("only {hit} of {TRIALS}")) };
    tally.add(check("most disturbances met something", enough));
    tally
}

/// The same while pairs of nodes are measured.
pub(super) fn pairs(_: &Shell) -> Tally {
    let mut random = Random::new(SEED);
    let mut tally = Tally::default();
    for (trial, disturbance) in DISTURBANCES.into_iter().enumerate() {
        let (_, moment) = of_trial(trial, &mut random);
        let made = || Plan::made(&format!("pairs-trial-{}", trial + 1), &["--pairs", "all"]);
        let begun = |plan: &Plan| {
            until("the first pair", PATIENCE, || plan.folder.join("net/call.json").exists())?;
            std::thread::sleep(moment);
            Ok(())
        };
        let met = rig::ready().and_then(|()| once(&made()?, disturbance, &begun, &mut random));
        let met = met.and_then(|met| if met { Ok(()) } else { Err("nothing was there to disturb".to_owned()) });
        tally.add(check(&format!("pairs: {disturbance:?} {} ms after the first call", moment.as_millis()), met));
    }
    tally
}

fn pick<T: Copy>(random: &mut Random, of: &[T]) -> Option<T> {
    of.get(usize::try_from(random.below(of.len() as u64)).ok()?).copied()
}

/// Runs a plan, disturbs it when `begun` returns, and runs it again; whether there was something to disturb.
fn once(
    plan: &Plan,
    disturbance: Disturbance,
    begun: &dyn Fn(&Plan) -> Result<(), String>,
    random: &mut Random,
) -> Result<bool, String> {
    let mut first = plan.begin(&["--no-confirm"], "first.txt")?;
    begun(plan)?;
    let met = match disturbance {
        Disturbance::Node => crash(plan, random)?,
        Disturbance::Worker => {
            let victim = pick(random, &plan.workers(None));
            daemons::signal("KILL", victim.as_slice());
            victim.is_some()
        }
        Disturbance::Submitter => {
            let met = first.is_running();
            first.signal("KILL");
            met
        }
        Disturbance::Job => match pick(random, &jobs().iter().collect::<Vec<_>>()) {
            Some(job) => daemons::must(daemons::command("scancel").arg(job)).map(|_| true)?,
            None => false,
        },
    };
    let said = first.wait(AFTER);
    println!("  first call: {}", said.tail());
    let again = plan.run(&["--no-confirm"]);
    if !again.well() {
        return Err(format!("run again: {}", again.tail()));
    }
    plan.whole().map(|()| met)
}

fn crash(plan: &Plan, random: &mut Random) -> Result<bool, String> {
    let node = pick(random, &NODES).ok_or("there are no nodes")?;
    daemons::kill(&format!("run/slurmd.{node}.pid"))?;
    let workers = plan.workers(Some(node));
    daemons::signal("KILL", &workers);
    std::thread::sleep(Duration::from_secs(3));
    daemons::node(node, None)?;
    // A slurmd that is not there is met even where it had no worker.
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disturbance_comes_equally_often_and_the_same_every_time() {
        let trials = || {
            let mut random = Random::new(SEED);
            (0..TRIALS).map(|trial| of_trial(trial, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(trials(), trials());
        for disturbance in DISTURBANCES {
            assert_eq!(trials().iter().filter(|(chosen, _)| *chosen == disturbance).count(), TRIALS / 4);
        }
        assert!(trials().iter().all(|(_, moment)| *moment < AFTER && *moment < PATIENCE));
    }
}
