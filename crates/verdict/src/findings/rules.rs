//! The rules of findings as one table: the code of each, where it belongs, its sentence, what is tested, how sure that has
//! to be, and which rows are its evidence.
//!
//! A sentence is its pattern with the fields filled in, so that the table a reader sees (`docs/findings.md`, held against
//! this one by a test) is what is said. The order within an area is the order of importance.

use model::document::{Finding, Row};
use model::experiment::Area;

/// What a sentence needs before it is said, so that no finding rests on noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Two figures are apart: see [`super::figure::Against`].
    Difference,
    /// Two figures are alike within a tenth, spans included.
    Likeness,
    /// The span of a figure, or of a ratio, is on one side of a bound as a whole.
    Bound,
    /// Nothing: figures are told as they are, and no difference is claimed.
    Figures,
    /// Nothing: rows are counted.
    Counts,
}

impl Needs {
    /// The word of the documented table.
    #[cfg(test)]
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Difference => "difference",
            Self::Likeness => "likeness",
            Self::Bound => "bound",
            Self::Figures => "figures",
            Self::Counts => "count",
        }
    }
}

/// What a sentence is about, which decides how many of its kind there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// What may be trusted, and what to do: one of each rule and area.
    Trust,
    /// A classic table: one of each rule and table.
    Table,
    /// Everything else: at most [`super::MOST`] for an area.
    Result,
}

/// A rule.
#[derive(Debug)]
pub(super) struct Rule {
    /// The code that its findings carry; stable.
    pub(super) code: &'static str,
    /// What it is about.
    pub(super) group: Group,
    /// The areas in which it is tried.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers: the documented table is held against it"))]
    pub(super) areas: &'static [Area],
    /// The sentence, its fields in braces.
    pub(super) pattern: &'static str,
    /// What is tested, for a reader.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers: the documented table is held against it"))]
    pub(super) tested: &'static str,
    /// How sure it has to be.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers: the documented table is held against it"))]
    pub(super) needs: Needs,
    /// Which rows are its evidence, for a reader.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers: the documented table is held against it"))]
    pub(super) evidence: &'static str,
}

const EVERY: &[Area] = Area::ALL;
const CPU: &[Area] = &[Area::Cpu];
const LINPACK: &[Area] = &[Area::Linpack];
const MEMORY: &[Area] = &[Area::Memory];
const DISK: &[Area] = &[Area::Disk];
const NET: &[Area] = &[Area::Net];

macro_rules! rules {
    ($($member:ident, $code:literal, $group:ident, $areas:ident, $needs:ident,
        $pattern:literal, $tested:literal, $evidence:literal;)+) => {
        /// The code of a rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Code { $($member,)+ }

        /// Every rule, in the order of [`Code`].
        pub(super) const RULES: &[Rule] = &[$(Rule {
            code: $code,
            group: Group::$group,
            areas: $areas,
            pattern: $pattern,
            tested: $tested,
            needs: Needs::$needs,
            evidence: $evidence,
        },)+];
    };
}

rules! {
    Disturbed, "disturbed", Trust, EVERY, Counts,
        "{area}: do not quote {rows} measured: {causes}.",
        "rows of grade C, by the first of their warnings that leaves no better grade",
        "these rows";
    WhatToTry, "what_to_try", Trust, EVERY, Counts,
        "{area}: for {rows} measured, try this: {advice}.",
        "the advice of the warning that keeps the most rows of an area below grade A (of as many rows the cause \
         before the symptom); areas with the same advice are told together",
        "these rows";
    TableBest, "table_best", Table, EVERY, Figures,
        "{table}: as fast as any with {best}.",
        "of each workload the fewest threads, then the smallest block (of LINPACK: order), whose figure is not \
         less than the fastest one",
        "of each workload the row told and the fastest";
    TableEfficiency, "table_efficiency", Table, EVERY, Figures,
        "{table}: the highest efficiency is {share} of the {kind}, {what}.",
        "the highest efficiency of a table's rows",
        "that row";
    ScalingMany, "scaling_many", Result, EVERY, Bound,
        "Of {count} kinds of work {linear}, {limited}, least {what}: {factor} from {few} to {many}{why}.",
        "more than three series (rows that differ in their threads alone), from the fewest threads to the most: \
         linear, or below 80 % of the ideal",
        "the first and the last row of every series that is told";
    ScalingLinear, "scaling_linear", Result, EVERY, Bound,
        "{what}: {factor} from {few} to {many}, {share} of the ideal: linear.",
        "the ratio is at least 95 % of the ideal, and its span above 80 %",
        "the rows with the fewest and the most threads";
    ScalingSublinear, "scaling_sublinear", Result, EVERY, Bound,
        "{what}: {factor} from {few} to {many}, no more than {share} of the ideal{why}.",
        "the ratio grows, its span ends below 95 % of the ideal, and it is at least 80 %",
        "the rows with the fewest and the most threads";
    ScalingLimited, "scaling_limited", Result, EVERY, Bound,
        "{what}: saturated, {factor} from {few} to {many}, {share} of the ideal{why}.",
        "the ratio grows, and its span ends below 80 % of the ideal",
        "the rows with the fewest and the most threads";
    ScalingNone, "scaling_none", Result, EVERY, Bound,
        "{what}: no gain from more at a time, {factor} from {few} to {many}{why}.",
        "the figure with the most threads is less, or alike",
        "the rows with the fewest and the most threads";
    LimitBinds, "limit_binds", Result, EVERY, Bound,
        "{area}: {share} of the {kind} in {rows} held against it: {limit}.",
        "rows whose efficiency is at least 90 %, its span at least 85 %, by the kind of their peak",
        "these rows";
    ReferenceDiffers, "reference_differs", Result, EVERY, Difference,
        "{what}: ours is {ratio} the figure of {tool} ({ours} against {theirs}){explanation}.",
        "the ratio of ours to theirs and its span leave 1 on one side by 5 % or more; of each tool the row \
         farthest off",
        "that row";
    ReferenceAgrees, "reference_agrees", Result, EVERY, Likeness,
        "{tool} agrees with ours within {within} in {rows} beside it.",
        "the span of the ratio of ours to theirs is within a tenth of 1",
        "the rows that agree";
    PlainBehindVector, "plain_behind_vector", Result, CPU, Difference,
        "SIMD gain over a plain loop of the same type, one thread: {gains}.",
        "for each type the vector row against the plain one, on one thread",
        "these rows";
    SecondThreads, "second_threads", Result, CPU, Figures,
        "Second threads on the {cores} cores change the vector rates by {least} to {most}.",
        "the fewest threads beyond the cores against as many as there are cores",
        "the rows of the least and of the most change";
    LinpackLadder, "linpack_ladder", Result, LINPACK, Figures,
        "LINPACK on {threads}: DGEMM reaches {product} of multiply-adds alone ({fma}), a solution (N = {n}) \
         {share}; {of_product} of DGEMM's rate.",
        "the fastest product and the fastest solution of a thread count, each against the multiply-adds beside it",
        "the product and the solution";
    LinpackShare, "linpack_share", Result, LINPACK, Figures,
        "LINPACK on {threads}: a solution (N = {n}) reaches {rate}, {share} of multiply-adds alone.",
        "likewise, where no product was measured",
        "the solution";
    LinpackCoreType, "linpack_core_type", Result, LINPACK, Figures,
        "The system's library runs as {kernel}, without the {isa} that this machine has: its rows show the library.",
        "the core type that the library names has a narrower instruction set than the machine",
        "the rows of that library";
    MemoryLevels, "memory_levels", Result, MEMORY, Figures,
        "{what} over working sets has {count} levels: {levels}.",
        "level stretches of the curve (stats::levels), named by the caches that the machine reports",
        "the points of the curve";
    LoadBends, "load_bends", Result, MEMORY, Bound,
        "Latency starts to climb at {rate}, {share} of the most traffic: {latency} there, {most} at the most.",
        "the point of three or more farthest below the line from the least to the most traffic, by a tenth of \
         both ranges at least",
        "the points";
    LoadedLatency, "loaded_latency", Result, MEMORY, Difference,
        "A load takes {least} beside {little} of traffic and {most} beside {much}, the most.",
        "the chase beside the least and the most traffic, where no such point stands out",
        "the points";
    TranslationCost, "translation_cost", Result, MEMORY, Difference,
        "A random access takes {small} with 4 KiB pages and {large} with 2 MiB pages: address translation costs \
         {cost}.",
        "small pages take 5 % longer or more",
        "the two rows";
    RemoteMemory, "remote_memory", Result, MEMORY, Difference,
        "{figure} on another node's memory is {factor} that on the own: {far} against {near}.",
        "the medians over pairs of nodes; the ranges do not meet",
        "all pairs";
    PageCacheGain, "page_cache_gain", Result, DISK, Difference,
        "{what} through a {state} page cache: {through}, {factor} the {past} past it.",
        "rows that differ in the page cache alone, which was in that state",
        "the two rows";
    DepthGain, "depth_gain", Result, DISK, Difference,
        "{what}: {depth} requests in flight bring {factor} the rate of one, and each waits {waits} as long.",
        "the deepest queue is faster than one request at a time",
        "the two rows";
    DepthNoGain, "depth_no_gain", Result, DISK, Likeness,
        "{what}: {depth} requests in flight bring no more than one ({factor}), and each waits {waits} as long.",
        "it is alike, or slower",
        "the two rows";
    LoadKnee, "load_knee", Result, DISK, Figures,
        "{what}: p99 has at least doubled at {load} of the highest rate, {knee} after {least} at {from}.",
        "the first load at which p99 is at least twice that of the least load",
        "the two rows";
    DiskSteady, "disk_steady", Result, DISK, Figures,
        "{what} are steady after {rounds} rounds at {rate}, {share} of the first round's.",
        "a row that went on until the drive was steady",
        "that row";
    Loopback, "loopback_is_no_network", Result, NET, Figures,
        "Loopback is no network: two copies in memory, two wake-ups. The fastest: {what}, {rate}{copies}.",
        "the fastest stream over loopback",
        "that row";
    LimitedByLink, "limited_by_link", Result, NET, Bound,
        "{what}, {rate}, are held back by the path: {share} of what it can carry.",
        "one connection, largest block: efficiency of 90 % against a physical limit; then by the first of the \
         next four that holds",
        "that row";
    LimitedByReceiver, "limited_by_receiver_cpu", Result, NET, Bound,
        "{what}, {rate}, are held back by the receiver's CPU: {share} of a core.",
        "the receiving thread uses 90 % of a core or more",
        "that row";
    LimitedBySender, "limited_by_sender_cpu", Result, NET, Bound,
        "{what}, {rate}, are held back by the sender's CPU: {share} of a core.",
        "the sending thread does",
        "that row";
    LimitedByWindow, "limited_by_receiver_window", Result, NET, Bound,
        "{what}, {rate}, are held back by the receiver's window for {share} of the time.",
        "it was full for half of the time or more",
        "that row";
    LimitedByBuffer, "limited_by_send_buffer", Result, NET, Bound,
        "{what}, {rate}, are held back by the send buffer for {share} of the time.",
        "it was",
        "that row";
    LossOnset, "loss_onset", Result, NET, Figures,
        "{what}: loss sets in above {rate}, the most within {goal}.",
        "of each segmentation and block the highest rate on the fewest connections within the least loss that \
         was asked for and kept to",
        "that row";
    UdpAgainstTcp, "udp_against_tcp", Result, NET, Difference,
        "{what} come to {rate}, {factor} the {stream_rate} of {stream}.",
        "the fastest datagrams of one connection against the fastest stream of one",
        "the two rows";
    LoadLongQueues, "load_delays_long_queues", Result, NET, Bound,
        "{what}: {latency}, {added} more than without: long queues on the way (bufferbloat).",
        "on a path, by 30 ms or more",
        "that row";
    LoadQueues, "load_delays_queues", Result, NET, Bound,
        "{what}: {latency}, {added} more than without: queues that a conversation does not feel.",
        "on a path, by 5 ms or more",
        "that row";
}

impl Code {
    /// Its line of the table.
    pub(super) const fn rule(self) -> &'static Rule {
        &RULES[self as usize]
    }

    /// The finding: the pattern with these fields, and these rows, each once.
    pub(super) fn tell(self, area: Area, fields: &[(&str, String)], evidence: &[&Row]) -> Finding {
        let mut ids: Vec<String> = Vec::new();
        for row in evidence {
            if !ids.contains(&row.id) {
                ids.push(row.id.clone());
            }
        }
        let rule = self.rule();
        Finding { code: rule.code.to_owned(), area, text: filled(rule.pattern, fields), evidence: ids }
    }
}

/// The pattern with its fields filled in; what a field holds is not looked at again.
fn filled(pattern: &str, fields: &[(&str, String)]) -> String {
    let mut parts = pattern.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, literal) = part.split_once('}').unwrap_or((part, ""));
        text.extend(fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value.as_str()));
        text.push_str(literal);
    }
    text
}
