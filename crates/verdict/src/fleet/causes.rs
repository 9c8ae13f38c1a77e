//! Probable causes of a slow node: rules that compare it with its equals, measurements before settings. What holds for most
//! of them is no cause. Some causes make a node a suspect by themselves.

use model::cluster::Cause;
use model::number::{clock, percent_whole as percent};

use crate::rules::Resource;

use super::facts::{NONE, Words};
use super::seen::{AreaConditions, Seen, Usual};

pub(super) struct Case<'a> {
    pub(super) uses: &'static [Resource],
    /// The node's rate in the area over that of its equals; `None` where it does not stand out.
    pub(super) of_median: Option<f64>,
    pub(super) own: &'a AreaConditions,
    pub(super) usual: &'a Usual,
    pub(super) words: &'a Words,
    pub(super) majority: &'a Words,
}

impl Case<'_> {
    fn usual(&self, seen: Seen) -> Option<f64> {
        self.usual.of(seen, self.own)
    }

    /// A fact that is [`NONE`] on a node without the fault, and what most nodes have: less of it, or nothing.
    fn fault_word(&self, fact: &str) -> Option<(&str, String)> {
        let own = self.words.get(fact).filter(|own| *own != NONE)?;
        let usual = self.majority.get(fact);
        let is_less = match usual.filter(|usual| *usual != NONE) {
            Some(usual) => number(own).zip(number(usual)).is_some_and(|(own, usual)| own < usual),
            None => true,
        };
        let words =
            usual.map_or("which other nodes do not have".to_owned(), |usual| format!("where most nodes have {usual}"));
        is_less.then_some((own, words))
    }
}

struct Rule {
    code: &'static str,
    /// The part of the machine that it slows down; `None` for all.
    slows: Option<Resource>,
    /// Whether it makes a node a suspect whose results do not stand out.
    is_fault: bool,
    find: fn(&Case) -> Option<String>,
}

const ALL: Option<Resource> = None;
const CORES: Option<Resource> = Some(Resource::Cores);
const MEMORY: Option<Resource> = Some(Resource::Memory);
const DISK: Option<Resource> = Some(Resource::Disk);
const NETWORK: Option<Resource> = Some(Resource::Network);

const fn rule(code: &'static str, slows: Option<Resource>, find: fn(&Case) -> Option<String>) -> Rule {
    Rule { code, slows, is_fault: false, find }
}

const fn fault(code: &'static str, slows: Option<Resource>, find: fn(&Case) -> Option<String>) -> Rule {
    Rule { code, slows, is_fault: true, find }
}

/// A share of the time by which a node must exceed its equals: less is noise of the counters.
const MORE: f64 = 0.02;
/// How many times the usual value of its equals a node must have: a load on all of them is no cause of one.
const TIMES: f64 = 2.0;
/// The share of the usual clock above which the clock explains nothing: a third of the least drop.
const CLOCK_LOWER: f64 = 0.98;
/// The share of a slowdown (of its logarithm) that the clock must account for to be its cause.
const EXPLAINED: f64 = 0.6;
/// The part of a shortfall that a share of time or traffic must at least have to be named: 2 % of the time do not halve a rate.
const NOTICEABLE: f64 = 0.2;

const RULES: &[Rule] = &[
    fault("cpu_quota", ALL, |case| {
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
        let explains = share < CLOCK_LOWER && share.ln() <= EXPLAINED * case.of_median?.ln();
        let (own, usual) = (clock(own), clock(usual));
        explains.then(|| format!("its clock is {own} where {usual} is usual; its work per cycle is not lower"))
    }),
    rule("swapping", ALL, |case| times(case, Seen::Swapped, "its swap traffic was {} bytes per second")),
    fault("clock_cap", CORES, |case| {
        let (cap, usual) = case.fault_word("clock_cap")?;
        Some(format!("a setting of the kernel caps its clock at {cap}, {usual}"))
    }),
    fault("fewer_channels", MEMORY, |case| less(case, "memory_channels", "memory channels in use")),
    fault("fewer_modules", MEMORY, |case| less(case, "memory_modules", "memory modules found")),
    fault("less_memory", MEMORY, |case| less(case, "memory", "of memory")),
    fault("slower_memory", MEMORY, |case| less(case, "memory_speed", "memory speed")),
    rule("huge_pages", MEMORY, |case| {
        let (own, usual) = (case.own.of(Seen::HugePages)?, case.usual(Seen::HugePages)?);
        (own < usual - MORE)
            .then(|| format!("it got {} of its huge pages where {} are usual", percent(own), percent(usual)))
    }),
    rule("remote_pages", MEMORY, |case| share(case, Seen::RemotePages, "{} of its pages were on another NUMA node")),
    rule("cpus_withheld", CORES, |case| share(case, Seen::CpusWithheld, "{} of its CPUs may not be used")),
    fault("fewer_cores", CORES, |case| less(case, "cores", "cores")),
    rule("disk_hot", DISK, |case| {
        let hot =
            case.own.of(Seen::DiskHeadroom)? <= 0.0 && case.usual(Seen::DiskHeadroom).is_none_or(|usual| usual > 0.0);
        hot.then(|| "its disk reached its temperature limit and throttles".to_owned())
    }),
    fault("disk_link", DISK, |case| {
        let usual = case.usual(Seen::DiskLink).unwrap_or(1.0);
        let share = case.own.of(Seen::DiskLink).filter(|share| *share < usual - MORE)?;
        Some(format!("the link of its disk fell to {} of its rate", percent(share)))
    }),
    fault("disk_link_below", DISK, |case| {
        let (link, usual) = case.fault_word("disk_link_below")?;
        Some(format!("the link of its disk is below the maximum of the disk: {link}, {usual}"))
    }),
    rule("other_disk_load", DISK, |case| {
        share(case, Seen::DiskOthers, "other processes caused {} of the traffic of its disk")
    }),
    rule("other_disk", DISK, |case| differs(case, "disk_models", "disk")),
    rule("disk_link_speed", DISK, |case| differs(case, "disk_links", "link of the disk")),
    rule("other_net_load", NETWORK, |case| {
        share(case, Seen::NetOthers, "other processes caused {} of the traffic of its interface")
    }),
    fault("link_speed", NETWORK, |case| {
        let fastest =
            |speeds: &String| speeds.split(", ").filter_map(|one| number(one.split(' ').nth(1)?)).reduce(f64::max);
        let (own, usual) = (case.words.get("link_speed")?, case.majority.get("link_speed")?);
        let (own_fastest, usual_fastest) = (fastest(own)?, fastest(usual)?);
        (own_fastest < usual_fastest).then(|| format!("its network link is {own}, where most nodes have {usual}"))
    }),
    fault("adapter_bus_below", NETWORK, |case| {
        let (bus, usual) = case.fault_word("adapter_bus_below")?;
        Some(format!("the bus of its network adapter is below the maximum of the adapter: {bus}, {usual}"))
    }),
    rule("adapter_bus", NETWORK, |case| differs(case, "adapter_bus", "bus of the network adapter")),
    rule("other_mtu", NETWORK, |case| differs(case, "mtu", "largest packet")),
    rule("other_governor", ALL, |case| differs(case, "governor", "frequency governor")),
    rule("other_turbo", CORES, |case| differs(case, "turbo", "boost clocks")),
    fault("quota_set", ALL, |case| {
        let (quota, usual) = case.fault_word("cpu_quota").filter(|_| more(case, Seen::Throttled).is_none())?;
        Some(format!("its CPU quota is {quota}, {usual}"))
    }),
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

/// The causes of a node over its areas, each once, the most likely first. Where it does not stand out, only faults count.
pub(super) fn causes(cases: &[Case]) -> Vec<Cause> {
    let found = |rule: &Rule| {
        let concerns = |case: &&Case| {
            let counts = rule.is_fault || case.of_median.is_some();
            counts && rule.slows.is_none_or(|part| case.uses.contains(&part))
        };
        let text = cases.iter().filter(concerns).find_map(rule.find)?;
        Some(Cause { code: rule.code.to_owned(), text })
    };
    RULES.iter().filter_map(found).collect()
}

/// A share of the time that clearly exceeds the usual one.
fn more(case: &Case, seen: Seen) -> Option<f64> {
    let (own, usual) = (case.own.of(seen)?, case.usual(seen).unwrap_or(0.0));
    (own > usual + MORE && own > TIMES * usual).then_some(own)
}

fn share(case: &Case, seen: Seen, words: &str) -> Option<String> {
    let own = more(case, seen)?;
    let shortfall = case.of_median.map_or(0.0, |of_median| 1.0 - of_median);
    (own >= NOTICEABLE * shortfall).then(|| words.replace("{}", &percent(own)))
}

fn times(case: &Case, seen: Seen, words: &str) -> Option<String> {
    let own = case.own.of(seen)?;
    (own > TIMES * case.usual(seen).unwrap_or(0.0)).then(|| words.replace("{}", &format!("{own:.0}")))
}

fn less(case: &Case, fact: &str, what: &str) -> Option<String> {
    let (own, usual) = (case.words.get(fact)?, case.majority.get(fact)?);
    (number(own)? < number(usual)?).then(|| format!("{own} {what} where {usual} is usual"))
}

/// The number that a text begins with.
fn number(text: &str) -> Option<f64> {
    text.split(' ').next()?.parse().ok()
}

fn differs(case: &Case, fact: &str, what: &str) -> Option<String> {
    let (own, usual) = (case.words.get(fact)?, case.majority.get(fact)?);
    (own != usual).then(|| format!("{what}: {own}, where most nodes of its hardware have {usual}"))
}

/// The codes of all causes, for tests.
pub fn codes() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.code).collect()
}
