//! Probable causes of a slow node: rules that compare it with its equals, measurements before settings.

use model::cluster::Cause;
use model::number::{clock, percent_whole as percent};

use crate::rules::Resource;

use super::facts::Words;
use super::seen::{AreaConditions, Seen, usual};

pub(super) struct Case<'a> {
    pub(super) uses: &'static [Resource],
    /// The node's rate in the area over that of its equals, below 1.
    pub(super) of_median: f64,
    pub(super) own: &'a AreaConditions,
    pub(super) equals: Vec<&'a AreaConditions>,
    pub(super) words: &'a Words,
    pub(super) majority: &'a Words,
}

impl Case<'_> {
    fn usual(&self, seen: Seen) -> Option<f64> {
        usual(&self.equals, seen)
    }
}

struct Rule {
    code: &'static str,
    /// The part of the machine that it slows down; `None` for all.
    slows: Option<Resource>,
    find: fn(&Case) -> Option<String>,
}

const ALL: Option<Resource> = None;
const CORES: Option<Resource> = Some(Resource::Cores);
const MEMORY: Option<Resource> = Some(Resource::Memory);
const DISK: Option<Resource> = Some(Resource::Disk);
const NETWORK: Option<Resource> = Some(Resource::Network);

const fn rule(code: &'static str, slows: Option<Resource>, find: fn(&Case) -> Option<String>) -> Rule {
    Rule { code, slows, find }
}

/// A share of the time by which a node must exceed its equals: less is noise of the counters.
const MORE: f64 = 0.02;
/// The share of the usual clock above which the clock explains nothing: a third of the least drop.
const CLOCK_LOWER: f64 = 0.98;
/// The share of a slowdown (of its logarithm) that the clock must account for to be its cause.
const EXPLAINED: f64 = 0.6;

const RULES: &[Rule] = &[
    rule("cpu_quota", ALL, |case| {
        let stopped = more(case, Seen::Throttled)?;
        let quota = case.own.of(Seen::Quota).map_or(String::new(), |quota| format!(" (quota of {quota:.2} CPUs)"));
        Some(format!("its control group was throttled for {} of the time{quota}", percent(stopped)))
    }),
    rule("other_load", ALL, |case| share(case, Seen::OtherLoad, "other processes used {} of its CPU time")),
    rule("stolen_time", ALL, |case| share(case, Seen::Steal, "its hypervisor stole {} of its CPU time")),
    rule("throttled_heat", CORES, |case| {
        times(case, Seen::Thermal, "its processor reached its temperature limit {} times")
    }),
    rule("throttled_power", CORES, |case| times(case, Seen::Power, "its processor reached its power limit {} times")),
    rule("clock_low", CORES, |case| {
        let (own, usual) = (case.own.of(Seen::Clock)?, case.usual(Seen::Clock)?);
        let share = own / usual;
        let explains = share < CLOCK_LOWER && share.ln() <= EXPLAINED * case.of_median.ln();
        let (own, usual) = (clock(own), clock(usual));
        explains.then(|| format!("its clock is {own} where {usual} is usual; its work per cycle is not lower"))
    }),
    rule("swapping", ALL, |case| times(case, Seen::Swapped, "its swap traffic was {} bytes per second")),
    rule("fewer_channels", MEMORY, |case| less(case, "memory_channels", "memory channels in use")),
    rule("fewer_modules", MEMORY, |case| less(case, "memory_modules", "memory modules found")),
    rule("less_memory", MEMORY, |case| less(case, "memory", "of memory")),
    rule("slower_memory", MEMORY, |case| less(case, "memory_speed", "memory speed")),
    rule("huge_pages", MEMORY, |case| {
        let (own, usual) = (case.own.of(Seen::HugePages)?, case.usual(Seen::HugePages)?);
        (own < usual - MORE)
            .then(|| format!("it got {} of its huge pages where {} are usual", percent(own), percent(usual)))
    }),
    rule("remote_pages", MEMORY, |case| share(case, Seen::RemotePages, "{} of its pages were on another NUMA node")),
    rule("cpus_withheld", CORES, |case| share(case, Seen::CpusWithheld, "{} of its CPUs may not be used")),
    rule("fewer_cores", CORES, |case| less(case, "cores", "cores")),
    rule("disk_hot", DISK, |case| {
        let hot =
            case.own.of(Seen::DiskHeadroom)? <= 0.0 && case.usual(Seen::DiskHeadroom).is_none_or(|usual| usual > 0.0);
        hot.then(|| "its disk reached its temperature limit and throttles".to_owned())
    }),
    rule("disk_link", DISK, |case| {
        let share = case.own.of(Seen::DiskLink).filter(|share| *share < 1.0 - MORE)?;
        Some(format!("the link of its disk fell to {} of its rate", percent(share)))
    }),
    rule("other_disk_load", DISK, |case| {
        share(case, Seen::DiskOthers, "other processes caused {} of the traffic of its disk")
    }),
    rule("other_disk", DISK, |case| differs(case, "disk_models", "disk")),
    rule("disk_link_speed", DISK, |case| differs(case, "disk_links", "link of the disk")),
    rule("other_net_load", NETWORK, |case| {
        share(case, Seen::NetOthers, "other processes caused {} of the traffic of its interface")
    }),
    rule("link_speed", NETWORK, |case| differs(case, "link_speed", "network link")),
    rule("adapter_bus", NETWORK, |case| differs(case, "adapter_bus", "bus of the network adapter")),
    rule("other_mtu", NETWORK, |case| differs(case, "mtu", "largest packet")),
    rule("other_governor", ALL, |case| differs(case, "governor", "frequency governor")),
    rule("other_turbo", CORES, |case| differs(case, "turbo", "boost clocks")),
    rule("quota_set", ALL, |case| differs(case, "cpu_quota", "CPU quota")),
    rule("other_smt", CORES, |case| differs(case, "smt", "SMT")),
    rule("other_huge_pages", MEMORY, |case| differs(case, "transparent_huge_pages", "transparent huge pages")),
    rule("other_microcode", ALL, |case| differs(case, "microcode", "microcode")),
    rule("other_kernel", ALL, |case| differs(case, "kernel", "kernel")),
    rule("other_mitigations", ALL, |case| {
        let is_other =
            |(fact, value): &(&String, &String)| case.majority.get(*fact).is_some_and(|usual| usual != *value);
        let other = case.words.iter().filter(is_other);
        let other: Vec<&str> = other.filter_map(|(fact, _)| fact.strip_prefix("mitigation:")).collect();
        (!other.is_empty()).then(|| format!("mitigations differ from most nodes of its hardware: {}", other.join(", ")))
    }),
];

/// The causes of a slow node over all areas in which it is slow, each once, the most likely first.
pub(super) fn causes(cases: &[Case]) -> Vec<Cause> {
    let found = |rule: &Rule| {
        let concerns = |case: &&Case| rule.slows.is_none_or(|part| case.uses.contains(&part));
        let text = cases.iter().filter(concerns).find_map(rule.find)?;
        Some(Cause { code: rule.code.to_owned(), text })
    };
    RULES.iter().filter_map(found).collect()
}

/// A share of the time that clearly exceeds the usual one.
fn more(case: &Case, seen: Seen) -> Option<f64> {
    let own = case.own.of(seen)?;
    (own > case.usual(seen).unwrap_or(0.0) + MORE).then_some(own)
}

fn share(case: &Case, seen: Seen, words: &str) -> Option<String> {
    Some(words.replace("{}", &percent(more(case, seen)?)))
}

fn times(case: &Case, seen: Seen, words: &str) -> Option<String> {
    let own = case.own.of(seen)?;
    (own > 2.0 * case.usual(seen).unwrap_or(0.0)).then(|| words.replace("{}", &format!("{own:.0}")))
}

fn less(case: &Case, fact: &str, what: &str) -> Option<String> {
    let (own, usual) = (case.words.get(fact)?, case.majority.get(fact)?);
    let number = |text: &str| text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    (number(own)? < number(usual)?).then(|| format!("{own} {what} where {usual} is usual"))
}

fn differs(case: &Case, fact: &str, what: &str) -> Option<String> {
    let (own, usual) = (case.words.get(fact)?, case.majority.get(fact)?);
    (own != usual).then(|| format!("{what}: {own}, where most nodes of its hardware have {usual}"))
}

/// The codes of all causes, for tests.
pub fn codes() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.code).collect()
}
