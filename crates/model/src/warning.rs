//! Everything that can make a number doubtful: one table of codes, what each means for the number, and what to do about
//! it.
//!
//! A warning carries its figure in its text. The grade of a row is the worst that any of its warnings allows; the
//! thresholds stand in the table too, so that the rule a reader sees is the rule that was applied.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::Named;

crate::words::words! {
    /// How far a number can be trusted.
    Grade, "grade", {
        /// Trust it.
        A => "A",
        /// Usable; see its warnings.
        B => "B",
        /// Disturbed: do not quote it.
        C => "C",
    }
}

crate::words::words! {
    /// The kinds of warning.
    WarningCode, "warning", {
        /// Time vanished inside the timed loop.
        TimeLost => "time_lost",
        /// Operations per cycle below this machine's own best for part of the time.
        VcpuShared => "vcpu_shared",
        /// The two clock chains disagree.
        ClockChainsDisagree => "clock_chains_disagree",
        /// The clock moved while the row was measured.
        ClockMoved => "clock_moved",
        /// The threads did not have their CPUs to themselves.
        CpuShared => "cpu_shared",
        /// A cgroup quota stopped the threads.
        CpuQuota => "cpu_quota",
        /// The hypervisor ran somebody else.
        Steal => "steal",
        /// More threads than CPUs.
        Oversubscribed => "oversubscribed",
        /// The rate never settled before timing began.
        NotSteady => "not_steady",
        /// Writes went on and on, and the drive never became steady.
        NoSteadyState => "no_steady_state",
        /// The interval is wider than the area's target.
        WideInterval => "wide_interval",
        /// Too few samples.
        FewSamples => "few_samples",
        /// The samples have a trend.
        Drifting => "drifting",
        /// The samples fall into two groups.
        Bimodal => "bimodal",
        /// The first sample is slower than the rest.
        SlowFirst => "slow_first",
        /// From some moment on the device was much slower.
        CacheCliff => "cache_cliff",
        /// The rate of a device changes from sample to sample.
        Unsteady => "unsteady",
        /// Some samples lie far from the rest.
        Outliers => "outliers",
        /// Launches differ more than the samples within one.
        LaunchesDiffer => "launches_differ",
        /// Page faults happened in the timed part.
        PageFaults => "page_faults",
        /// The pages asked for were not obtained.
        PagesRefused => "pages_refused",
        /// The working set may have been served from a cache.
        PossiblyCached => "possibly_cached",
        /// Measured above the peak: the peak is wrong.
        AbovePeak => "above_peak",
        /// A drive does a little more than its maker says.
        AboveDatasheet => "above_datasheet",
        /// No device of this kind can have done this.
        Impossible => "impossible",
        /// No peak is known.
        PeakUnknown => "peak_unknown",
        /// The clock source is a slow or unstable one.
        Timer => "timer",
        /// The program was built without optimisation.
        DebugBuild => "debug_build",
        /// The row was cut off before its last sample.
        CutShort => "cut_short",
        /// Direct I/O was asked for, and something was cached all the same.
        NotDirect => "not_direct",
        /// The device moved less than was asked for.
        Cached => "cached",
        /// Of a file that was to be out of the page cache, parts were in it.
        NotCold => "not_cold",
        /// Of a file that was to be in the page cache, parts were not.
        NotWarm => "not_warm",
        /// The file system compresses the file.
        Compressed => "compressed",
        /// The device wrote more than was asked for.
        Amplified => "amplified",
        /// Blocks are written that are no whole physical sectors of the device.
        PartOfSector => "part_of_sector",
        /// The file lies on a small part of a disk that spins.
        ShortSpan => "short_span",
        /// Parts of the file were never written, so that reading them reaches no device.
        NotWritten => "not_written",
        /// A disk of a hypervisor, a server or a file: whoever keeps the data may cache it unseen.
        HostCache => "host_cache",
        /// Whether the device moved what was asked for cannot be checked.
        Unaccounted => "unaccounted",
        /// Fewer requests were in flight than the row says.
        DepthNotReached => "depth_not_reached",
        /// Rate, latency and depth do not fit together.
        LittlesLaw => "little",
        /// The load was not what the row says.
        LoadNotKept => "load_not_kept",
        /// Another engine was used than the fastest one.
        EngineSteppedDown => "engine_stepped_down",
        /// The thread that issues requests had no time left.
        CpuBound => "cpu_bound",
        /// Datagrams were lost.
        DatagramsLost => "datagrams_lost",
        /// More datagrams were lost than the goal allows.
        LossAboveGoal => "loss_above_goal",
        /// Segments had to be sent again.
        Retransmits => "retransmits",
        /// What fills a packet does not come through.
        MtuBlackHole => "mtu_black_hole",
        /// The bytes did not go through the interface that leads to the other end.
        OtherPath => "other_path",
        /// Datagrams travel in several packets.
        Fragmented => "fragmented",
        /// The kernel allows a smaller receive buffer than was wanted.
        ReceiveBufferCapped => "receive_buffer_capped",
        /// Sends that were asked to spare their copy were copied.
        CopyNotSpared => "copy_not_spared",
        /// Segmentation offload could not be had.
        NoOffload => "no_offload",
        /// Probes left later than they were due.
        ProbesLate => "probes_late",
        /// The receiver's window held the stream back.
        ReceiverLimited => "receiver_limited",
        /// The send buffer held the stream back.
        BufferLimited => "buffer_limited",
        /// Other programs ran on this machine.
        OtherLoad => "other_load",
        /// Tasks lost their CPUs to others more often than a quiet machine takes them.
        InvoluntarySwitches => "involuntary_switches",
        /// A thread was taken off the CPU that it was pinned to.
        Migrated => "migrated",
        /// Fewer CPUs may be used than the machine has.
        Affinity => "affinity",
        /// CPUs are switched off.
        CpusOffline => "cpus_offline",
        /// The program runs at a lower priority than others.
        LowPriority => "low_priority",
        /// A control group leaves it little memory.
        MemoryLimit => "memory_limit",
        /// A control group allows no more.
        CappedByCgroup => "capped_by_cgroup",
        /// Whoever provides the disk allows no more.
        CappedByProvider => "capped_by_provider",
        /// The file system has little room left.
        NearlyFull => "nearly_full",
        /// Memory was moved to or from swap.
        Swapping => "swapping",
        /// Memory of another NUMA node was used.
        RemotePages => "remote_pages",
        /// The processor slowed down because it was hot.
        ThermalLimit => "thermal_limit",
        /// The processor slowed down because it drew too much power.
        PowerLimit => "power_limit",
        /// The governor may hold the clock down.
        Governor => "governor",
        /// Turbo is switched off.
        TurboOff => "turbo_off",
        /// The disk did something for others.
        OtherDiskTraffic => "other_disk_traffic",
        /// The device was too hot, or its link became slower.
        DeviceThrottled => "throttled",
        /// The interface carried something for others.
        OtherNetTraffic => "other_net_traffic",
        /// Some launches were disturbed.
        DisturbedBlocks => "disturbed_blocks",
        /// Each sample resembles the one before.
        Autocorrelated => "autocorrelated",
    }
}

crate::words::words! {
    /// Where a warning comes from, which decides what may be done about it.
    Cause, "cause", {
        /// Others, here or on the host: it comes and goes, so that a disturbed block is worth repeating.
        Others => "others",
        /// A setting of the machine or of its control groups: it stays until somebody changes it.
        Setting => "setting",
        /// The measurement was not what its name says.
        Method => "method",
        /// What the samples say of themselves.
        Samples => "samples",
        /// What is not known.
        Knowledge => "knowledge",
    }
}

/// What a kind of warning means. `b` and `c` are thresholds of the warning's figure: at or above `b` the grade is B at
/// best, at or above `c` it is C. `None` means that no figure leads to that grade.
#[derive(Clone, Copy, Debug)]
pub struct WarningRule {
    /// The kind.
    pub code: WarningCode,
    /// Where it comes from.
    pub cause: Cause,
    /// What the figure is.
    pub figure: &'static str,
    /// From this figure on the grade is B at best.
    pub b: Option<f64>,
    /// From this figure on the grade is C.
    pub c: Option<f64>,
    /// What it does to the number.
    pub consequence: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

const fn rule(
    code: WarningCode,
    cause: Cause,
    figure: &'static str,
    (b, c): (Option<f64>, Option<f64>),
    consequence: &'static str,
    advice: &'static str,
) -> WarningRule {
    WarningRule { code, cause, figure, b, c, consequence, advice }
}

const QUIET: &str = "Repeat on a quiet host, or pin other work elsewhere.";

/// Every kind of warning, in the order in which they are shown: causes before symptoms.
#[rustfmt::skip]
pub const WARNINGS: &[WarningRule] = &[
    rule(WarningCode::DebugBuild, Cause::Setting, "1", (None, Some(1.0)), "The program itself was not optimised.", "Build with `cargo build --release`."),
    rule(WarningCode::CpuQuota, Cause::Setting, "share of the time throttled", (Some(0.005), Some(0.05)),
        "The figure is the quota's, not the processor's.", "Raise or remove the cgroup's CPU quota (cpu.max, cpu.cfs_quota_us)."),
    rule(WarningCode::CpuShared, Cause::Others, "share of the CPU not ours", (Some(0.01), Some(0.10)),
        "Another process ran on the same CPU, and the rate fell by its share.", QUIET),
    rule(WarningCode::Steal, Cause::Others, "share of the time stolen", (Some(0.005), Some(0.03)),
        "The hypervisor gave the CPU to another guest.", "Repeat when the host is quieter, or use a dedicated host."),
    rule(WarningCode::VcpuShared, Cause::Others, "share of the rate lost", (Some(0.02), Some(0.10)),
        "Something invisible shared the core, most likely a busy sibling thread of the host.",
        "Repeat when the host is quieter, or use a dedicated host."),
    rule(WarningCode::TimeLost, Cause::Others, "share of the time lost in gaps", (Some(0.02), Some(0.10)),
        "The loop stood still although it was not asked to.", QUIET),
    rule(WarningCode::ClockChainsDisagree, Cause::Others, "relative difference", (Some(0.03), Some(0.15)),
        "A busy sibling slowed one of the two clock chains; the clock is the larger of them.",
        "Repeat when the host is quieter, or use a dedicated host."),
    rule(WarningCode::ClockMoved, Cause::Others, "relative change", (Some(0.03), Some(0.15)),
        "The clock changed while the row was measured.", "Let the machine settle, or fix its governor and turbo."),
    rule(WarningCode::Migrated, Cause::Others, "share of the threads", (None, Some(1e-9)),
        "They ran elsewhere than the row says, beside others of ours.", "Let CPUs stay online and cpusets as they are while measuring."),
    rule(WarningCode::OtherLoad, Cause::Others, "share of the CPUs' time", (Some(0.02), Some(0.10)),
        "Others used CPUs, and with them caches, memory and clock.", "Stop other programs (see them with top), or use --wait-quiet 60s."),
    rule(WarningCode::InvoluntarySwitches, Cause::Others, "switches per second and thread", (Some(100.0), Some(1000.0)),
        "Others ran on the same CPUs in between, and left their data in the caches.", QUIET),
    rule(WarningCode::Swapping, Cause::Others, "bytes per second", (Some(4096.0), Some(1e6)),
        "Memory was being moved to or from disk.", "Free memory, or choose a smaller --working-set."),
    rule(WarningCode::RemotePages, Cause::Method, "share of the pages", (Some(0.05), Some(0.5)),
        "Part of the memory belongs to another NUMA node, which is further away.", "Free memory on the nodes of the CPUs in use."),
    rule(WarningCode::ThermalLimit, Cause::Others, "times", (Some(1.0), None),
        "The processor was too hot to keep its clock.", "Look at the processor's cooling."),
    rule(WarningCode::PowerLimit, Cause::Others, "times", (Some(1.0), None),
        "The processor was not allowed the power that its clock would need.", "Look at the processor's power limits (BIOS, intel-rapl)."),
    rule(WarningCode::OtherDiskTraffic, Cause::Others, "share of the device's bytes", (Some(0.01), Some(0.20)),
        "The device served others at the same time.", "Stop other programs (see them with iotop), or use --wait-quiet 60s."),
    rule(WarningCode::DeviceThrottled, Cause::Others, "1", (Some(1.0), None),
        "The device slowed down for its own reasons, so the figure is less than it can do.", "Cool the device, let it rest, and look at its link with lspci -vv."),
    rule(WarningCode::OtherNetTraffic, Cause::Others, "share of the interface's bytes", (Some(0.05), Some(0.20)),
        "The interface served others at the same time.", "Stop other programs (see them with ss or iftop), or use --wait-quiet 60s."),
    rule(WarningCode::LowPriority, Cause::Setting, "nice value; 20 for an idle policy", (Some(1.0), Some(20.0)),
        "Others go first, and the scheduler gives shorter turns.", "Start Assay without nice: renice -n 0, chrt --other 0."),
    rule(WarningCode::Affinity, Cause::Setting, "share of the CPUs withheld", (Some(1e-9), None),
        "What is said of all threads is said of the CPUs allowed, not of the machine.", "Run Assay without taskset, or in a cpuset of all CPUs."),
    rule(WarningCode::CpusOffline, Cause::Setting, "share of the CPUs switched off", (Some(1e-9), None),
        "What is said of all threads is said of the CPUs online, not of the machine.", "echo 1 > /sys/devices/system/cpu/cpuN/online"),
    rule(WarningCode::MemoryLimit, Cause::Setting, "share of the limit that the row needs", (Some(0.5), Some(0.95)),
        "A control group limits the memory, so that pages may be reclaimed under way.", "Raise the limit (memory.max, memory.limit_in_bytes), or choose a smaller --working-set."),
    rule(WarningCode::CappedByCgroup, Cause::Setting, "share of the limit", (Some(0.95), None),
        "The figure is the limit's, not the device's.", "Raise or remove the limit (io.max, blkio.throttle.*)."),
    rule(WarningCode::CappedByProvider, Cause::Setting, "share of what was declared", (None, None),
        "The figure is what the provider sells, not what the device behind it can do.", "Choose a larger volume or machine, if this is too little."),
    rule(WarningCode::NearlyFull, Cause::Setting, "share of the file system in use", (None, None),
        "With few free blocks solid-state drives and file systems that copy on write have to make room first, and many write more slowly.",
        "Free some room and trim it (fstrim), or choose a directory on an emptier file system with --dir."),
    rule(WarningCode::Governor, Cause::Setting, "1", (None, None),
        "Short work may be over before the clock has risen.", "cpupower frequency-set -g performance"),
    rule(WarningCode::TurboOff, Cause::Setting, "1", (None, None),
        "The clock stays at or below its base.", "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 1 > /sys/devices/system/cpu/cpufreq/boost"),
    rule(WarningCode::DisturbedBlocks, Cause::Others, "share of the samples", (Some(0.20), None),
        "They count like the others; the median leans on the undisturbed ones as long as these are most.", QUIET),
    rule(WarningCode::Oversubscribed, Cause::Method, "threads per CPU", (Some(1.01), None),
        "The threads took turns: more of them were asked for than CPUs are available.", "Ask for fewer threads."),
    rule(WarningCode::Timer, Cause::Setting, "1", (Some(1.0), None),
        "Short intervals are timed by a system call instead of the time-stamp counter.", "Check the kernel's clocksource."),
    rule(WarningCode::PagesRefused, Cause::Method, "share of the buffer not in such pages", (Some(0.05), None),
        "Address translation costs more than the row's name says.",
        "Allow transparent huge pages: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
    rule(WarningCode::PageFaults, Cause::Method, "page faults per second", (Some(100.0), Some(10_000.0)),
        "Page faults were taken inside the timed part.", "Free memory, and repeat."),
    rule(WarningCode::PossiblyCached, Cause::Method, "last-level caches per working set", (Some(0.26), Some(0.51)),
        "Part of the working set may have come from a cache.", "Choose a larger --working-set."),
    rule(WarningCode::NotWritten, Cause::Method, "share of the file", (Some(1e-9), Some(0.01)),
        "Reading what was never written reaches no device.", "Report it, with the file system and its mount options."),
    rule(WarningCode::NotDirect, Cause::Method, "share that was cached", (Some(0.01), Some(0.05)),
        "Part of the requests was served by the page cache, not by the device.",
        "Choose a directory on another file system with --dir (ext4 and xfs honour direct I/O)."),
    rule(WarningCode::Cached, Cause::Method, "share of the bytes that no device moved", (Some(0.05), Some(0.20)),
        "Memory answered instead of the device.", "Choose a larger --size, or a directory on another file system with --dir."),
    rule(WarningCode::NotCold, Cause::Method, "share of the file in the page cache before a sample", (Some(0.05), Some(0.50)),
        "Part of it was read from memory.", "See who else keeps the file in use, and repeat."),
    rule(WarningCode::NotWarm, Cause::Method, "share of the file not in the page cache before a sample", (Some(0.05), Some(0.50)),
        "Part of it was read from the device.", "Free memory, or choose a smaller --size."),
    rule(WarningCode::Compressed, Cause::Method, "share of the file", (Some(0.01), Some(0.50)),
        "The processor packs and unpacks what the device moves, so the figure is that of both.", "Switch compression off for the directory: chattr +m, or btrfs property set DIR compression none."),
    rule(WarningCode::Amplified, Cause::Method, "bytes that the device wrote over those asked for", (Some(1.1), None),
        "The file system copies or logs what it writes, or others wrote too: the device did more than the figure says.", "See with iotop whether others write; ext4 and xfs overwrite in place."),
    rule(WarningCode::PartOfSector, Cause::Method, "physical sector over block", (None, None),
        "Unless its cache puts neighbours together, a device reads the rest of such a sector and writes all of it: more work than the row's name says.",
        "Choose a --block of whole physical sectors to see what the device does without that."),
    rule(WarningCode::ShortSpan, Cause::Method, "share of the disk that is not the file's", (None, None),
        "Its arm moves less than over the whole disk, so that requests at random are faster than they are on average.", "Choose a larger --size."),
    rule(WarningCode::DepthNotReached, Cause::Method, "share of the depth missing", (Some(0.10), None),
        "The figure belongs to a smaller depth than the row says.", QUIET),
    rule(WarningCode::LittlesLaw, Cause::Method, "relative difference", (Some(0.05), None),
        "Requests that are not in flight have no latency: where some are missing the device waited for us; more than all there cannot be, so whole bursts were counted at the ends of samples.", "Use more --threads or a larger --depth; where there are too many, longer samples in a suite file."),
    rule(WarningCode::LoadNotKept, Cause::Method, "share late or missing", (Some(0.05), Some(0.50)),
        "Requests that found all places taken waited here first, and the latency contains it; where fewer were made than were due, it is of another load.", "Choose a larger --depth, or a smaller --load-percent."),
    rule(WarningCode::DatagramsLost, Cause::Method, "share of the datagrams", (Some(1e-6), Some(0.01)),
        "Messages that were lost have no latency; the percentiles are those of the others.", "Look at the receiver's buffers and at the path."),
    rule(WarningCode::LossAboveGoal, Cause::Method, "share of the datagrams beyond the goal", (Some(1e-9), Some(0.01)),
        "The rate is not one that meets the goal.", "Repeat on a quiet host, or allow more with --loss-goal."),
    rule(WarningCode::Retransmits, Cause::Method, "share of the segments", (Some(1e-3), Some(0.05)),
        "Lost segments slow the sender down, so the figure is the path's, not the link's.", "Look at the path: cables, duplex, queues, policers (ip -s link, nstat)."),
    rule(WarningCode::MtuBlackHole, Cause::Method, "share of the samples", (None, Some(1e-9)),
        "Somewhere packets of this size vanish without a word.", "Lower the interface's MTU to what the path carries (tracepath), or let ICMP through."),
    rule(WarningCode::OtherPath, Cause::Method, "share of the bytes elsewhere", (None, Some(0.5)),
        "They took another way, perhaps through memory, so the figure is not this link's.", "Look at the route (ip route get), and measure between two hosts or network namespaces."),
    rule(WarningCode::Fragmented, Cause::Method, "packets a datagram", (None, None),
        "With each packet that is lost the whole datagram is.", "Choose a --block that fits into one packet: 1472B on Ethernet."),
    rule(WarningCode::ReceiveBufferCapped, Cause::Setting, "share of the buffer missing", (None, None),
        "Bursts that it cannot hold are lost at lower rates.", "sysctl -w net.core.rmem_max=16777216"),
    rule(WarningCode::CopyNotSpared, Cause::Method, "share of the sends", (Some(0.05), None),
        "Loopback and veth copy always, so the row shows what asking costs.", "Measure between two hosts, over an adapter that gathers (ethtool -k: scatter-gather)."),
    rule(WarningCode::NoOffload, Cause::Method, "1", (Some(1.0), None),
        "The figure is of more system calls than the row's name says.", "Use Linux 4.18 or later, and an interface with checksum offload (ethtool -k)."),
    rule(WarningCode::ProbesLate, Cause::Method, "share of the probes", (Some(0.05), Some(0.50)),
        "Part of the latency is our own wait for the processor.", "Leave a CPU free: ask for fewer --threads."),
    rule(WarningCode::ReceiverLimited, Cause::Method, "share of the time with data in flight", (None, None),
        "The receiver, not the path, sets the rate.", "See what the receiver's CPU does, and raise net.ipv4.tcp_rmem where the path is long."),
    rule(WarningCode::BufferLimited, Cause::Method, "share of the time with data in flight", (None, None),
        "More data in flight would be allowed than the sender may hold.", "Raise net.ipv4.tcp_wmem."),
    rule(WarningCode::CpuBound, Cause::Method, "share of a CPU, or of our own loop's rate", (None, None),
        "The processor, not the device or the link, sets the rate.", "Spread the work over more --threads, as long as CPUs are free."),
    rule(WarningCode::EngineSteppedDown, Cause::Method, "steps", (None, None),
        "The rate at high depths may be below what the device can do.", "Allow io_uring (kernel.io_uring_disabled, seccomp) and locked memory (ulimit -l)."),
    rule(WarningCode::HostCache, Cause::Method, "1", (None, None),
        "What a host, a server or a page cache below it holds cannot be seen from here, so the figure may be that of memory.", "Compare with a file much larger than that memory, if that is possible."),
    rule(WarningCode::Unaccounted, Cause::Method, "1", (None, None),
        "Whether the device moved what was asked for, and what others asked of it meanwhile, cannot be told.", "Switch its counts on (echo 1 > /sys/block/DISK/queue/iostats), or choose a --dir whose device is known."),
    rule(WarningCode::NotSteady, Cause::Method, "relative change", (Some(0.05), Some(0.5)),
        "The rate had not settled when timing began.", "Repeat on a quiet host, or with a longer warm_up in a suite file."),
    rule(WarningCode::NoSteadyState, Cause::Method, "range or drift of five rounds over what is allowed of it", (None, Some(1.0)),
        "The figure is of no state that lasts.", "Write for longer: a suite file with more rounds, or longer ones."),
    rule(WarningCode::CutShort, Cause::Method, "share of the samples missing", (Some(0.01), None),
        "The row was cut off before its last sample.", "Give it more with --time-budget, or --write-budget, or let the run finish."),
    rule(WarningCode::FewSamples, Cause::Samples, "samples missing", (Some(1.0), None),
        "How far off the median may be is not known.", "Repeat with --repeat 9 or more, and a --time-budget that has room for it."),
    rule(WarningCode::WideInterval, Cause::Samples, "half-width over the target", (Some(2.0), Some(10.0)),
        "The median is not known as precisely as this area asks for.", "Repeat on a quiet host, or take more samples with --repeat."),
    rule(WarningCode::CacheCliff, Cause::Samples, "share of the rate lost from some sample on", (Some(0.20), Some(0.50)),
        "A cache in the device was full, or it slowed down: the median mixes two rates.", "Measure longer with --repeat, or see the state that it settles in: assay run steady."),
    rule(WarningCode::Unsteady, Cause::Samples, "robust coefficient of variation", (Some(0.25), None),
        "A single run of this length may as well show a quarter more or less.", "Repeat with --repeat 15 or more, and quote the interval."),
    rule(WarningCode::Drifting, Cause::Samples, "1", (Some(1.0), None), "The samples rise or fall with time.", "Let the machine settle, and repeat."),
    rule(WarningCode::Bimodal, Cause::Samples, "1", (Some(1.0), None), "The samples fall into two groups; the median is one of them.", QUIET),
    rule(WarningCode::Autocorrelated, Cause::Samples, "correlation of neighbours", (Some(0.5), None),
        "There are fewer independent samples than it seems, so the interval is too narrow.", "Repeat at another time, or measure in several sessions (assay run rigorous)."),
    rule(WarningCode::LaunchesDiffer, Cause::Samples, "spread between launches over spread within", (Some(3.0), None),
        "Placement of pages and threads, drawn anew in each launch, matters more than noise within one.", "Take more launches."),
    rule(WarningCode::SlowFirst, Cause::Samples, "1", (None, None), "The first sample was slower than the rest.", "Nothing: the median is not moved by it."),
    rule(WarningCode::Outliers, Cause::Samples, "samples", (None, None), "Some samples lie far from the rest; none was removed.", QUIET),
    rule(WarningCode::Impossible, Cause::Method, "measured over what is possible", (None, Some(1.0)),
        "A cache answered, here or on the way to the device, so no efficiency is given.", "Choose a --size much larger than the caches of host, controller and drive."),
    rule(WarningCode::AbovePeak, Cause::Knowledge, "measured over peak", (Some(1.0), None),
        "The measured figure is above the peak, so the peak or the clock in it is wrong, and no efficiency is given.", "Repeat on a quiet host. If it stays, report the peak, with the output of `assay info --json`."),
    rule(WarningCode::AboveDatasheet, Cause::Knowledge, "measured over data sheet", (None, None),
        "A data sheet is what the maker promises, no limit; the efficiency is against a limit, where one is known.", "Nothing: the drive is as good as it should be."),
    rule(WarningCode::PeakUnknown, Cause::Knowledge, "1", (None, None), "The limit is not visible on this machine.", "Declare it, if you know it."),
];

impl WarningCode {
    /// Whether its figure is a share of the row's rate, time or capacity that others had, so that it says how much they
    /// took.
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

    /// Its line of the table.
    ///
    /// # Panics
    /// Never: a test walks over every code.
    pub fn rule(self) -> &'static WarningRule {
        WARNINGS.iter().find(|rule| rule.code == self).unwrap_or(&WARNINGS[0])
    }
}

/// One warning of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Its kind. A document of a later version may hold kinds that this one does not know, so it is text here.
    pub code: Named<WarningCode>,
    /// What was seen, with its figure, and what it does to the number.
    pub text: String,
    /// What to do about it.
    #[serde(default)]
    pub advice: String,
    /// The figure that the rule judged.
    #[serde(default)]
    pub figure: Option<f64>,
    /// The best grade that it leaves.
    #[serde(default = "grade_a")]
    pub grade: Grade,
}

const fn grade_a() -> Grade {
    Grade::A
}

impl Warning {
    /// A warning of this kind about `figure`, by the table's thresholds; `seen` says what was seen, figure included.
    pub fn new(code: WarningCode, figure: f64, seen: &str) -> Self {
        let rule = code.rule();
        let reached = |threshold: Option<f64>| threshold.is_some_and(|threshold| figure >= threshold);
        let grade = match (reached(rule.b), reached(rule.c)) {
            (_, true) => Grade::C,
            (true, false) => Grade::B,
            (false, false) => Grade::A,
        };
        let text = format!("{seen} {}", rule.consequence);
        Self { code: code.into(), text, advice: rule.advice.into(), figure: Some(figure), grade }
    }

    /// The warning, where its figure is worth one: from the threshold of grade B on. Kinds without one are always worth
    /// it.
    pub fn when(code: WarningCode, figure: f64, seen: impl FnOnce() -> String) -> Option<Self> {
        let rule = code.rule();
        let least = rule.b.or(rule.c).unwrap_or(f64::NEG_INFINITY);
        (figure >= least).then(|| Self::new(code, figure, &seen()))
    }
}

/// The grade that these warnings leave.
pub fn grade(warnings: &[Warning]) -> Grade {
    warnings.iter().map(|warning| warning.grade).max().unwrap_or(Grade::A)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_complete_rule() {
        for code in WarningCode::ALL {
            let rules: Vec<_> = WARNINGS.iter().filter(|rule| rule.code == *code).collect();
            assert_eq!(rules.len(), 1, "{code}");
            let rule = rules[0];
            assert!(rule.consequence.ends_with('.') && !rule.advice.is_empty() && !rule.figure.is_empty(), "{code}");
            if let (Some(b), Some(c)) = (rule.b, rule.c) {
                assert!(b < c, "{code}: B must come before C");
            }
        }
    }

    #[test]
    fn what_others_took_is_told_by_a_share() {
        for code in WarningCode::ALL.iter().filter(|code| code.is_share_of_the_rate()) {
            assert_eq!(code.rule().cause, Cause::Others, "{code}");
            assert!(code.rule().figure.starts_with("share of"), "{code}");
        }
    }

    #[test]
    fn thresholds_decide_the_grade() {
        let at = |figure| Warning::new(WarningCode::CpuShared, figure, "x").grade;
        assert_eq!(at(0.001), Grade::A);
        assert_eq!(at(0.01), Grade::B);
        assert_eq!(at(0.5), Grade::C);
        assert!(Warning::when(WarningCode::CpuShared, 0.001, || "x".into()).is_none());
    }

    #[test]
    fn the_worst_warning_wins() {
        let warnings = [Warning::new(WarningCode::CpuShared, 0.02, "x"), Warning::new(WarningCode::Steal, 0.5, "x")];
        assert_eq!(grade(&warnings), Grade::C);
        assert_eq!(grade(&[]), Grade::A);
    }
}
