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
    NarrowTypeSlower, "narrow_type_slower", Result, CPU, Difference,
        "{what} runs at {share} of the rate of FP32 on this core: it saves memory here, not time.",
        "fp16 or bf16 is less than fp32, on one thread",
        "the two rows";
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
    LinpackHalf, "linpack_half", Result, LINPACK, Bound,
        "LINPACK on {threads} reaches half of its best rate ({best}, N = {n}) at about N = {half}.",
        "three orders or more, the smallest below half of the best: on the straight line between the two orders \
         around it",
        "the smallest order, the two orders and the best";
    LinpackPadding, "linpack_padding", Result, LINPACK, Difference,
        "Padding the columns of N = {n} from {from} to {to} elements makes it {factor} as fast.",
        "rows that differ in their leading dimension alone",
        "the two rows";
    LinpackCoreType, "linpack_core_type", Result, LINPACK, Figures,
        "The system's library runs as {kernel}, without the {isa} that this machine has: its rows show the library.",
        "the core type that the library names has a narrower instruction set than the machine",
        "the rows of that library";
    MemoryLevels, "memory_levels", Result, MEMORY, Figures,
        "{what} over working sets has {count} levels: {levels}.",
        "level stretches of the curve (stats::levels), named by the caches that the machine reports",
        "the points of the curve";
    CacheSizesAgree, "cache_sizes_agree", Result, MEMORY, Bound,
        "The curve leaves its levels where the machine reports the ends of {caches}.",
        "the level that a cache serves ends between 0.5 and 1.5 times its size",
        "the points of the curve";
    CacheSizeDiffers, "cache_size_differs", Result, MEMORY, Bound,
        "The level of the {cache} ends at {end}, not at the {size} that the machine reports{guest}.",
        "it ends elsewhere",
        "the points of the curve";
    CacheNotSeen, "cache_not_seen", Result, MEMORY, Figures,
        "The curve has no level of its own for the {cache} of {size} that the machine reports{guest}.",
        "a cache within the reach of the curve serves no level",
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
    ParallelMisses, "parallel_misses", Result, MEMORY, Figures,
        "One core has {lines} lines in flight at most: {rate} independent loads/s, each {latency} when idle; \
         that is {bytes}.",
        "three counts of chains or more: the most loads per second x the idle latency, and x 64 B",
        "the chase of one chain and that of the most loads";
    WriteAllocate, "write_allocate", Result, MEMORY, Difference,
        "Past the cache (non-temporal stores) on {threads}: {gains}; stores through it read each line first.",
        "non-temporal stores are faster than the same through the cache, on the most threads that both have",
        "the pairs told";
    WiderVectors, "wider_vectors", Result, MEMORY, Difference,
        "512-bit vectors against 256-bit ones on {threads}: {gains}.",
        "streams that differ in their vectors alone, on the most threads",
        "the pairs told";
    UnevenThreads, "uneven_threads", Result, MEMORY, Bound,
        "The threads of {what} did not go alike: the fastest did {factor} what the slowest did.",
        "the fastest thread's rate over the slowest's: 1.1 in the median, 1.05 in every sample of three or \
         more; the farthest row",
        "that row";
    RemoteMemory, "remote_memory", Result, MEMORY, Difference,
        "{figure} on another node's memory is {factor} that on the own: {far} against {near}.",
        "the medians over pairs of nodes; the ranges do not meet",
        "all pairs";
    PageCacheGain, "page_cache_gain", Result, DISK, Difference,
        "{what} through a {state} page cache: {through}, {factor} the {past} past it.",
        "rows that differ in the page cache alone, which was in that state",
        "the two rows";
    DurabilityCosts, "durability_costs", Result, DISK, Difference,
        "{what} take {durable}, {factor} the {plain} until the device has taken one.",
        "latency of synchronous writes is more than that of plain ones",
        "the two rows";
    DurabilityIsFree, "durability_is_free", Result, DISK, Likeness,
        "{what} take {durable}, no longer than the {plain} until the device has taken one: a safe cache, or a \
         lost flush.",
        "it is alike, or less",
        "the two rows";
    DepthGain, "depth_gain", Result, DISK, Difference,
        "{what}: {depth} requests in flight bring {factor} the rate of one, and each waits {waits} as long.",
        "the deepest queue is faster than one request at a time",
        "the two rows";
    DepthNoGain, "depth_no_gain", Result, DISK, Likeness,
        "{what}: {depth} requests in flight bring no more than one ({factor}), and each waits {waits} as long.",
        "it is alike, or slower",
        "the two rows";
    BlockFlat, "block_flat", Result, DISK, Figures,
        "{what}: of blocks of {from} to {to}, {block} is the smallest as fast as any, {rate}.",
        "three blocks or more, outside the classic tables: the smallest that is not less than the fastest",
        "the smallest block, the largest, the one told and the fastest";
    OrderMatters, "order_matters", Result, DISK, Difference,
        "{what} have {factor} the rate of those in order: {random} against {ordered}.",
        "random against sequential with the smallest block and the fewest in flight that both have",
        "the two rows";
    OrderDoesNotMatter, "order_does_not_matter", Result, DISK, Likeness,
        "{what} have the rate of those in order within a tenth: {random} against {ordered}.",
        "the two are alike",
        "the two rows";
    MixedHinders, "mixed_hinders", Result, DISK, Bound,
        "{what} come to {mixed}, {factor} the {expected} of reads and writes alone: they hinder each other.",
        "the span of the ratio to the harmonic mean of reads alone and writes alone ends below 1, the ratio below 0.9",
        "the mixed row, reads and writes";
    MixedOverlaps, "mixed_overlaps", Result, DISK, Bound,
        "{what} come to {mixed}, {factor} the {expected} of reads and writes alone: they overlap.",
        "it begins above 1, the ratio above 1.11",
        "the mixed row, reads and writes";
    LoadKnee, "load_knee", Result, DISK, Figures,
        "{what}: p99 has at least doubled at {load} of the highest rate, {knee} after {least} at {from}.",
        "the first load at which p99 is at least twice that of the least load",
        "the two rows";
    LoadFlat, "load_flat", Result, DISK, Figures,
        "{what}: p99 stays below twice its {least} up to {load} of the highest rate.",
        "there is none",
        "all loads";
    TouchedBefore, "touched_before_is_faster", Result, DISK, Difference,
        "{what} run at {again}, {factor} the {fresh} of blocks not touched just before: a cache below answers.",
        "rereads or rewrites are faster than reads or writes, by 1.2x or more",
        "the two rows";
    LoopLimits, "loop_limits", Result, DISK, Bound,
        "{what} take {share} of what our own loop makes without a device ({own} a thread): the loop sets the rate.",
        "requests per second and thread are above 80 % of our loop's alone, span included; the row that comes nearest",
        "that row";
    FlushCosts, "flush_costs", Result, DISK, Bound,
        "{what} come to {flushed} with the flush after them counted in, {share} of the {rate} without.",
        "with the flush the rate is below the span without it, and below 95 %; past the page cache and through \
         it the row that loses most",
        "that row";
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
    BlastLoses, "blast_loses", Result, NET, Bound,
        "{what} as fast as the sender can lose {share} of the datagrams.",
        "the loss of a blast, its span above nothing",
        "that row";
    DirectionsDiffer, "directions_differ", Result, NET, Difference,
        "{what} have down {factor} the rate up: {down} against {up}.",
        "down against up: the largest block and the fewest connections",
        "the two rows";
    BothDirections, "both_directions", Result, NET, Figures,
        "{what} both ways at once come to {both}, {factor} one way alone.",
        "both at once against up; 2x would be two directions that share nothing",
        "the two rows";
    UdpAgainstTcp, "udp_against_tcp", Result, NET, Difference,
        "{what} come to {rate}, {factor} the {stream_rate} of {stream}.",
        "the fastest datagrams of one connection against the fastest stream of one",
        "the two rows";
    SegmentationGain, "segmentation_gain", Result, NET, Difference,
        "{what} move {rate}, {factor} the {off} without.",
        "segmentation offload is faster",
        "the two rows";
    ZeroCopy, "zero_copy", Result, NET, Difference,
        "{what} move {rate}, {factor} the {copied} without; {share} of the sends were spared their copy.",
        "MSG_ZEROCOPY against sends that copy",
        "the two rows";
    SmallBlocks, "small_blocks_cost_calls", Result, NET, Difference,
        "{what} cost {dear} CPU seconds per GB, those of {block} only {cheap}: {calls} go into the calls of \
         each block.",
        "CPU time of a block as calls + bytes x block, through the smallest and the largest block of one stream",
        "the two rows";
    SleepingCosts, "sleeping_costs", Result, NET, Difference,
        "{what} take {spinning} instead of {asleep}: waking threads up costs {cost}.",
        "spinning takes less than sleeping until the answer is there",
        "the two rows";
    ConnectionCosts, "connection_costs", Result, NET, Difference,
        "A connection that carries {block} there and back takes {connect}, {factor} a round trip on an open one \
         ({trip}).",
        "setting up a connection takes longer than a round trip on an open one",
        "the two rows";
    LoadSchedules, "load_delays_scheduling", Result, NET, Bound,
        "{what}: {latency}, {added} more than without: inside a machine, a wait for CPUs and copies.",
        "round trips take longer under load than without, span included, over loopback",
        "that row";
    LoadLongQueues, "load_delays_long_queues", Result, NET, Bound,
        "{what}: {latency}, {added} more than without: long queues on the way (bufferbloat).",
        "on a path, by 30 ms or more",
        "that row";
    LoadQueues, "load_delays_queues", Result, NET, Bound,
        "{what}: {latency}, {added} more than without: queues that a conversation does not feel.",
        "on a path, by 5 ms or more",
        "that row";
    LoadShortQueues, "load_delays_short_queues", Result, NET, Bound,
        "{what}: {latency}, {added} more than without: short queues on the way.",
        "on a path, by less",
        "that row";
    SegmentsResent, "segments_resent", Result, NET, Bound,
        "{what} sent {count} segments per GB again, the most of all streams: something on the way drops packets.",
        "retransmitted segments on a real path, the span above none: the stream with the most for its bytes",
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
