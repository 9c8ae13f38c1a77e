//! Warnings: one table with the thresholds of each code, its effect on the number, and what to do.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::Named;

crate::words::words! {
    /// How far a number can be relied on.
    Confidence, "level of confidence", {
        /// Rely on it.
        High => "high" | "A",
        /// Usable; see its warnings.
        Fair => "fair" | "B",
        /// Do not rely on it.
        Low => "low" | "C",
    }

    /// The cause of a warning.
    Cause, "cause", {
        /// Other processes, or other VMs on the host: temporary, so a process run is worth repeating.
        Others => "others",
        /// A setting of the machine or of its control groups: permanent.
        Setting => "setting",
        /// The benchmark did not do what its id says.
        Method => "method",
        /// A property of the samples.
        Samples => "samples",
        /// An unknown or wrong fact.
        Knowledge => "knowledge",
    }
}

/// The rule of a warning code: its thresholds, its effect on the number and the advice.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct WarningRule {
    pub code: WarningCode,
    pub cause: Cause,
    /// What the warning's value is.
    pub value: &'static str,
    /// Values from here on limit the confidence to fair.
    pub fair: Option<f64>,
    /// Values from here on limit the confidence to low.
    pub low: Option<f64>,
    /// The effect on the number.
    pub consequence: &'static str,
    /// What to do, as one imperative.
    pub advice: &'static str,
}

const QUIET: &str = "Measure again on a quieter host, or pin other work to other CPUs.";

macro_rules! warnings {
    ($(
        $code:ident => $name:literal, $cause:ident, $value:literal, ($fair:expr, $low:expr), $consequence:literal, $advice:expr;
    )+) => {
        crate::words::words! {
            /// The kinds of warning, each with its rule in [`WARNINGS`].
            #[expect(missing_docs, reason = "the rule says what each is")]
            WarningCode, "warning", { $($code => $name,)+ }
        }

        /// The rule of every warning code, in the order in which they are shown: causes before symptoms.
        pub const WARNINGS: &[WarningRule] = &[$(
            WarningRule {
                code: WarningCode::$code,
                cause: Cause::$cause,
                value: $value,
                fair: $fair,
                low: $low,
                consequence: $consequence,
                advice: $advice,
            },
        )+];
    };
}

// Code and name, cause, value, the values from which on confidence is fair and low, effect, advice.
warnings! {
    DebugBuild => "debug_build", Setting, "1", (None, Some(1.0)), "The program was built without optimisation.", "Build with cargo build --release.";
    CpuQuota => "cpu_quota", Setting, "share of the time throttled", (Some(0.005), Some(0.05)),
        "The result is that of the CPU quota, not of the processor.", "Raise or remove the cgroup's CPU quota (cpu.max, cpu.cfs_quota_us).";
    CpuShared => "cpu_shared", Others, "share of the CPU not ours", (Some(0.01), Some(0.10)),
        "Another process used the same CPU, and the rate fell by its share.", QUIET;
    Steal => "steal", Others, "share of the time stolen", (Some(0.005), Some(0.03)),
        "The hypervisor gave the CPU to another VM.", "Measure when the host is quieter, or use a dedicated host.";
    VcpuShared => "vcpu_shared", Others, "share of the rate lost", (Some(0.02), Some(0.10)),
        "Another VM used the core, most likely its second hardware thread.", "Measure when the host is quieter, or use a dedicated host.";
    TimeLost => "time_lost", Others, "share of the time lost in gaps", (Some(0.02), Some(0.10)),
        "The kernel recorded no reason for these pauses.", QUIET;
    ClockChainsDisagree => "clock_chains_disagree", Others, "relative difference", (Some(0.03), Some(0.15)),
        "A busy hardware thread of the core slowed one of the two clock measurements; the larger counts.", "Measure when the host is quieter, or use a dedicated host.";
    ClockMoved => "clock_moved", Others, "relative change", (Some(0.03), Some(0.15)),
        "The rate changed with the clock.", "Let the machine settle, or fix its governor and turbo.";
    Migrated => "migrated", Others, "share of the threads", (None, Some(1e-9)),
        "They shared CPUs with other threads of the benchmark.", "Do not change CPUs or cpusets while measuring.";
    OtherLoad => "other_load", Others, "share of the CPUs' time", (Some(0.02), Some(0.10)),
        "Other processes used caches, memory and clock.", "Stop other programs (top lists them), or use --wait-quiet 60s.";
    InvoluntarySwitches => "involuntary_switches", Others, "switches per second and thread", (Some(100.0), Some(1000.0)),
        "Other processes ran on the same CPUs and left their data in the caches.", QUIET;
    Swapping => "swapping", Others, "bytes per second", (Some(4096.0), Some(1e6)),
        "Pages were read from or written to swap during the benchmark.", "Free memory, or choose a smaller --working-set.";
    RemotePages => "remote_pages", Method, "share of the pages", (Some(0.05), Some(0.5)),
        "Access to another NUMA node is slower.", "Free memory on the nodes of the CPUs in use.";
    ThermalLimit => "thermal_limit", Others, "times", (Some(1.0), None),
        "The processor lowered its clock because of its temperature.", "Check the processor's cooling.";
    PowerLimit => "power_limit", Others, "times", (Some(1.0), None),
        "The processor lowered its clock because of its power limit.", "Check the processor's power limits (BIOS, intel-rapl).";
    OtherDiskTraffic => "other_disk_traffic", Others, "share of the device's bytes", (Some(0.01), Some(0.20)),
        "The device also served other processes.", "Stop other programs (iotop lists them), or use --wait-quiet 60s.";
    DeviceThrottled => "throttled", Others, "1", (Some(1.0), None),
        "The device slowed itself down; it can be faster.", "Cool the device and check its link with lspci -vv.";
    OtherNetTraffic => "other_net_traffic", Others, "share of the interface's bytes", (Some(0.05), Some(0.20)),
        "The interface also carried other traffic.", "Stop other programs (ss or iftop list them), or use --wait-quiet 60s.";
    LowPriority => "low_priority", Setting, "nice value; 20 for an idle policy", (Some(1.0), Some(20.0)),
        "Processes of higher priority run first.", "Start Assay without nice: renice -n 0, chrt --other 0.";
    Affinity => "affinity", Setting, "share of the CPUs withheld", (Some(1e-9), None),
        "Results with all threads describe the allowed CPUs, not the machine.", "Run Assay without taskset, or in a cpuset of all CPUs.";
    CpusOffline => "cpus_offline", Setting, "share of the CPUs offline", (Some(1e-9), None),
        "Results with all threads describe the online CPUs, not the machine.", "Turn them on: echo 1 > /sys/devices/system/cpu/cpuN/online.";
    MemoryLimit => "memory_limit", Setting, "share of the limit that the benchmark needs", (Some(0.5), Some(0.95)),
        "The kernel may reclaim pages during the benchmark.", "Raise the limit (memory.max, memory.limit_in_bytes), or choose a smaller --working-set.";
    CappedByCgroup => "capped_by_cgroup", Setting, "share of the limit", (Some(0.95), None),
        "The result is that of the control group's limit, not of the device.", "Raise or remove the limit (io.max, blkio.throttle.*).";
    CappedByProvider => "capped_by_provider", Setting, "share of the declared value", (None, None),
        "The result is that of the volume that was sold, not of the device.", "Choose a larger volume or machine for more.";
    NearlyFull => "nearly_full", Setting, "share of the file system in use", (None, None),
        "Solid-state drives and copy-on-write file systems write more slowly with few free blocks.", "Free space and trim it (fstrim), or choose an emptier file system with --dir.";
    Governor => "governor", Setting, "1", (None, None),
        "Short work may end before the clock has risen.", "Run cpupower frequency-set -g performance.";
    TurboOff => "turbo_off", Setting, "1", (None, None),
        "The clock stays at or below its base.", "Turn it on: echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 1 > /sys/devices/system/cpu/cpufreq/boost.";
    DisturbedBlocks => "disturbed_blocks", Others, "share of the samples", (Some(0.20), None),
        "They count; the median is robust while they are a minority.", QUIET;
    Oversubscribed => "oversubscribed", Method, "threads per CPU", (Some(1.01), None),
        "Threads shared CPUs.", "Use fewer --threads.";
    Timer => "timer", Setting, "1", (Some(1.0), None),
        "Short intervals are timed by a system call instead of the time-stamp counter.", "Check the kernel's clocksource.";
    PagesRefused => "pages_refused", Method, "share of the buffer not in such pages", (Some(0.05), None),
        "Address translation costs more than with the requested pages.", "Allow transparent huge pages: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled.";
    PageFaults => "page_faults", Method, "page faults per second", (Some(100.0), Some(10_000.0)),
        "Page faults lower the rate.", "Free memory, and measure again.";
    PossiblyCached => "possibly_cached", Method, "last-level caches per working set", (Some(0.26), Some(0.51)),
        "Part of the working set may have come from a cache.", "Choose a larger --working-set.";
    NotWritten => "not_written", Method, "share of the file", (Some(1e-9), Some(0.01)),
        "Reads of such parts do not reach the device.", "Report it, with the file system and its mount options.";
    NotDirect => "not_direct", Method, "share that was cached", (Some(0.01), Some(0.05)),
        "The page cache served part of the requests.", "Choose a directory on another file system with --dir (ext4 and xfs support direct I/O).";
    Cached => "cached", Method, "share of the bytes that no device moved", (Some(0.05), Some(0.20)),
        "Memory served the requests instead of the device.", "Choose a larger --size, or a directory on another file system with --dir.";
    NotCold => "not_cold", Method, "share of the file in the page cache before a sample", (Some(0.05), Some(0.50)),
        "Part of it was read from memory.", "Check which process keeps the file open, and measure again.";
    NotWarm => "not_warm", Method, "share of the file not in the page cache before a sample", (Some(0.05), Some(0.50)),
        "Part of it was read from the device.", "Free memory, or choose a smaller --size.";
    Compressed => "compressed", Method, "share of the file", (Some(0.01), Some(0.50)),
        "The result includes the processor's work for compression.", "Turn compression off for the directory: chattr +m, or btrfs property set DIR compression none.";
    Amplified => "amplified", Method, "bytes that the device wrote over bytes requested", (Some(1.1), None),
        "The file system copies or journals writes, or other processes wrote: the device did more than the result says.", "Check with iotop for other writers; ext4 and xfs overwrite in place.";
    PartOfSector => "part_of_sector", Method, "physical sector over block", (None, None),
        "The device reads the rest of each sector and writes all of it, unless its cache merges the writes.", "Choose a --block of whole physical sectors.";
    ShortSpan => "short_span", Method, "share of the disk outside the file", (None, None),
        "The disk's arm moves less than over the whole disk, so random requests are faster than average.", "Choose a larger --size.";
    DepthNotReached => "depth_not_reached", Method, "share of the depth missing", (Some(0.10), None),
        "The result belongs to the lower queue depth.", QUIET;
    LittlesLaw => "little", Method, "relative difference", (Some(0.05), None),
        "The rate is that of the lower queue depth; where it exceeds the depth, bursts at the ends of samples were counted whole.", "Use more --threads, or longer samples in a suite file.";
    LoadNotKept => "load_not_kept", Method, "share late or missing", (Some(0.05), Some(0.50)),
        "Latency includes the wait for a free slot, or the load was lower than requested.", "Choose a larger --depth, or a smaller --load-percent.";
    DatagramsLost => "datagrams_lost", Method, "share of the datagrams", (Some(1e-6), Some(0.01)),
        "Lost messages have no latency; percentiles are over the received ones.", "Check the receiver's buffers and the path.";
    LossAboveGoal => "loss_above_goal", Method, "share of the datagrams beyond the goal", (Some(1e-9), Some(0.01)),
        "The rate does not meet the loss goal.", "Measure again on a quieter host, or raise --loss-goal.";
    Retransmits => "retransmits", Method, "share of the segments", (Some(1e-3), Some(0.05)),
        "Lost segments slow the sender: the result is the path's, not the link's.", "Check cables, duplex, queues and policers (ip -s link, nstat).";
    MtuBlackHole => "mtu_black_hole", Method, "share of the samples", (None, Some(1e-9)),
        "Packets of this size are dropped on the path without an ICMP message.", "Lower the interface's MTU to the path's (tracepath), or allow ICMP.";
    OtherPath => "other_path", Method, "share of the bytes elsewhere", (None, Some(0.5)),
        "They used another path, perhaps memory: the result is not this link's.", "Check the route (ip route get), and measure between two hosts or network namespaces.";
    Fragmented => "fragmented", Method, "packets per datagram", (None, None),
        "One lost packet loses the whole datagram.", "Choose a --block that fits into one packet: 1472B on Ethernet.";
    ReceiveBufferCapped => "receive_buffer_capped", Setting, "share of the buffer missing", (None, None),
        "Bursts beyond the buffer are lost at lower rates.", "Run sysctl -w net.core.rmem_max=16777216.";
    CopyNotSpared => "copy_not_spared", Method, "share of the sends", (Some(0.05), None),
        "Loopback and veth always copy, so the result shows the overhead of zero-copy.", "Measure between two hosts, over an adapter with scatter-gather (ethtool -k).";
    NoOffload => "no_offload", Method, "1", (Some(1.0), None),
        "More system calls were made than with offload.", "Use Linux 4.18 or later, and an interface with checksum offload (ethtool -k).";
    ProbesLate => "probes_late", Method, "share of the probes", (Some(0.05), Some(0.50)),
        "Latency includes our own wait for a CPU.", "Use fewer --threads, so that a CPU stays free.";
    ReceiverLimited => "receiver_limited", Method, "share of the time with data in flight", (None, None),
        "The receiver, not the path, limits the rate.", "Check the receiver's CPU, and raise net.ipv4.tcp_rmem for long paths.";
    BufferLimited => "buffer_limited", Method, "share of the time with data in flight", (None, None),
        "The congestion window allows more data in flight than the send buffer holds.", "Raise net.ipv4.tcp_wmem.";
    CpuBound => "cpu_bound", Method, "share of a CPU, or of our own loop's rate", (None, None),
        "The CPU, not the device or the link, limits the rate.", "Use more --threads if CPUs are free.";
    EngineSteppedDown => "engine_stepped_down", Method, "steps", (None, None),
        "The device may be faster at high queue depths.", "Allow io_uring (kernel.io_uring_disabled, seccomp) and locked memory (ulimit -l).";
    HostCache => "host_cache", Method, "1", (None, None),
        "A host, a server or a lower page cache may serve requests from memory.", "Compare with a file much larger than that memory.";
    Unaccounted => "unaccounted", Method, "1", (None, None),
        "Caching and other traffic on the device cannot be detected.", "Enable its counters (echo 1 > /sys/block/DISK/queue/iostats), or choose a --dir whose device is known.";
    NotSteady => "not_steady", Method, "relative change", (Some(0.05), Some(0.5)),
        "The first samples may be slower or faster than the settled rate.", "Measure again on a quieter host, or raise warm_up in a suite file.";
    NoSteadyState => "no_steady_state", Method, "range or drift of five rounds over its limit", (None, Some(1.0)),
        "The result is that of a temporary state.", "Use more or longer rounds in a suite file.";
    CutShort => "cut_short", Method, "share of the samples missing", (Some(0.01), None),
        "The result rests on fewer samples than planned.", "Raise --time-budget or --write-budget, or let the run finish.";
    FewSamples => "few_samples", Samples, "samples missing", (Some(1.0), None),
        "No 95 % interval exists for this few samples.", "Use --repeat 9 or more, and a --time-budget that allows it.";
    WideInterval => "wide_interval", Samples, "half-width over the target", (Some(2.0), Some(10.0)),
        "The median is less precise than this area's target.", "Measure again on a quieter host, or raise --repeat.";
    CacheCliff => "cache_cliff", Samples, "share of the rate lost from some sample on", (Some(0.20), Some(0.50)),
        "A cache in the device was full, or the device slowed down: the median mixes two rates.", "Raise --repeat, or measure the steady state: assay run steady.";
    Unsteady => "unsteady", Samples, "robust coefficient of variation", (Some(0.25), None),
        "Another run may be a quarter faster or slower.", "Use --repeat 15 or more, and report the interval.";
    Drifting => "drifting", Samples, "1", (Some(1.0), None), "The median depends on when the benchmark ran.", "Let the machine settle, and measure again.";
    Bimodal => "bimodal", Samples, "1", (Some(1.0), None), "The median is that of one of the two groups.", QUIET;
    Autocorrelated => "autocorrelated", Samples, "correlation of successive samples", (Some(0.5), None),
        "Fewer samples are independent, so the interval is too narrow.", "Measure at another time, or in several sessions (assay run rigorous).";
    LaunchesDiffer => "launches_differ", Samples, "spread between process runs over spread within", (Some(3.0), None),
        "The placement of pages and threads matters more than noise within a process run.", "Take more process runs with --repeat.";
    SlowFirst => "slow_first", Samples, "1", (None, None), "The median is not affected.", "No action is needed.";
    Outliers => "outliers", Samples, "samples", (None, None), "No sample was removed.", QUIET;
    Impossible => "impossible", Method, "measured over what is possible", (None, Some(1.0)),
        "A cache here or on the path to the device served requests, so there is no efficiency.", "Choose a --size much larger than the caches of host, controller and drive.";
    AbovePeak => "above_peak", Knowledge, "measured over peak", (Some(1.0), None),
        "The peak, or the clock in it, is wrong, so there is no efficiency.", "Measure again on a quieter host; if it persists, report it with the output of assay info --json.";
    AboveDatasheet => "above_datasheet", Knowledge, "measured over data sheet", (None, None),
        "A data sheet is a promise, not a limit; the efficiency is against a limit where one is known.", "No action is needed.";
    PeakUnknown => "peak_unknown", Knowledge, "1", (None, None), "This machine does not show the limit.", "Declare it with --declare if you know it.";
}

impl WarningCode {
    /// Whether its value is the share of rate, time or capacity that other processes or VMs took.
    pub const fn is_share_of_the_rate(self) -> bool {
        matches!(
            self,
            Self::CpuShared
                | Self::Steal
                | Self::VcpuShared
                | Self::TimeLost
                | Self::OtherLoad
                | Self::OtherDiskTraffic
                | Self::OtherNetTraffic
        )
    }

    /// Its rule in the table.
    pub fn rule(self) -> &'static WarningRule {
        &WARNINGS[self as usize]
    }
}

/// A warning of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Warning {
    /// Its code; documents of later versions can have others.
    pub code: Named<WarningCode>,
    /// What was seen, with its value, and its effect on the number.
    pub text: String,
    /// What to do.
    #[serde(default)]
    pub advice: String,
    /// The value that was compared with the thresholds.
    #[serde(default, rename = "figure")]
    pub value: Option<f64>,
    /// The highest confidence that it allows.
    #[serde(default = "high_confidence", alias = "grade")]
    pub confidence: Confidence,
}

const fn high_confidence() -> Confidence {
    Confidence::High
}

impl Warning {
    /// The warning for a value, by the table's thresholds; `seen` is the sentence about what was seen.
    pub fn new(code: WarningCode, value: f64, seen: &str) -> Self {
        let rule = code.rule();
        let reached = |threshold: Option<f64>| threshold.is_some_and(|threshold| value >= threshold);
        let confidence = match (reached(rule.fair), reached(rule.low)) {
            (_, true) => Confidence::Low,
            (true, false) => Confidence::Fair,
            (false, false) => Confidence::High,
        };
        let text = format!("{seen} {}", rule.consequence);
        Self { code: code.into(), text, advice: rule.advice.into(), value: Some(value), confidence }
    }

    /// The warning if the value reaches the first threshold; codes without thresholds always warn.
    pub fn when(code: WarningCode, value: f64, seen: impl FnOnce() -> String) -> Option<Self> {
        let rule = code.rule();
        let least = rule.fair.or(rule.low).unwrap_or(f64::NEG_INFINITY);
        (value >= least).then(|| Self::new(code, value, &seen()))
    }
}

/// The highest confidence that these warnings allow.
pub fn confidence(warnings: &[Warning]) -> Confidence {
    warnings.iter().map(|warning| warning.confidence).max().unwrap_or(Confidence::High)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_complete() {
        for (code, rule) in WarningCode::ALL.iter().zip(WARNINGS) {
            assert_eq!(code.rule().code, *code);
            assert!(rule.consequence.ends_with('.') && !rule.advice.is_empty() && !rule.value.is_empty(), "{code}");
            assert!(rule.fair.zip(rule.low).is_none_or(|(fair, low)| fair < low), "{code}: fair must come before low");
            if code.is_share_of_the_rate() {
                assert!(rule.cause == Cause::Others && rule.value.starts_with("share of"), "{code}");
            }
        }
    }

    #[test]
    fn letters_of_the_first_schema_load_as_confidence() {
        let run = crate::document::RunInfo { confidence: Some(Confidence::Low), ..Default::default() };
        let warning = Warning { confidence: Confidence::Low, ..Warning::new(WarningCode::Steal, 0.0, "x") };
        let earlier = |text: String| text.replace("confidence", "grade").replace("\"low\"", "\"C\"");
        let earlier_run = earlier(serde_json::to_string(&run).unwrap());
        assert_eq!(serde_json::from_str::<crate::document::RunInfo>(&earlier_run).unwrap(), run);
        let earlier_warning = earlier(serde_json::to_string(&warning).unwrap());
        assert_eq!(serde_json::from_str::<Warning>(&earlier_warning).unwrap(), warning);
    }

    #[test]
    fn thresholds_decide_the_confidence() {
        let at = |value| Warning::new(WarningCode::CpuShared, value, "x").confidence;
        assert_eq!(at(0.001), Confidence::High);
        assert_eq!(at(0.01), Confidence::Fair);
        assert_eq!(at(0.5), Confidence::Low);
        assert!(Warning::when(WarningCode::CpuShared, 0.001, || "x".into()).is_none());
        let warnings = [0.01, 0.5, 0.001].map(|value| Warning::new(WarningCode::CpuShared, value, "x"));
        assert_eq!((confidence(&warnings), confidence(&[])), (Confidence::Low, Confidence::High));
    }
}
