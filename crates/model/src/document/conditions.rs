//! What was seen of the machine, the file and the network while a benchmark was measured.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::io::DiskEngine;
use crate::benchmark::linpack::LinpackConditions;
use crate::document::status::Stop;

/// The state of the machine at one end of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct MachineState {
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Memory available, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Time stolen by the hypervisor since boot, in seconds.
    pub steal_seconds: Option<f64>,
    /// Seconds since the run began.
    pub at_seconds: Option<f64>,
}

/// The clock that intervals are timed by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct TimerFacts {
    /// `counter` (the processor's time-stamp counter, on Arm the generic timer) or `system` (`CLOCK_MONOTONIC_RAW`).
    pub source: String,
    /// Its rate by calibration against `CLOCK_MONOTONIC_RAW`, in ticks per second.
    pub ticks_per_second: f64,
    /// Least time between two time stamps, in seconds: what a time stamp costs.
    pub overhead_seconds: f64,
    /// Spread of the time between two time stamps, in seconds (10th to 90th percentile): how precise one is.
    pub precision_seconds: f64,
    /// Relative difference from `CLOCK_MONOTONIC_RAW` over the whole run.
    pub drift: Option<f64>,
}

/// The state of the machine before and after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct MachineStates {
    /// The clock that intervals are timed by.
    #[serde(default)]
    pub timer: TimerFacts,
    /// Seconds spent waiting for a quiet machine; `null` where nobody asked for it.
    pub waited_seconds: Option<f64>,
    /// Before the first row.
    pub before: MachineState,
    /// After the last.
    pub after: MachineState,
}

/// What was seen while a row was measured. Absent facts are `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Conditions {
    /// The CPUs the threads were pinned to, in thread order.
    pub cpus: Vec<u32>,
    /// Median core clock at the samples, in Hz.
    pub clock_hz: Option<f64>,
    /// How the clock was measured: `chains` around the work, a `paced` one in it, or the hardware's `counter`.
    pub clock_source: Option<String>,
    /// Clock at the first sample, in Hz.
    pub clock_start_hz: Option<f64>,
    /// Clock at the last sample, in Hz.
    pub clock_end_hz: Option<f64>,
    /// Relative difference of the two clock chains (median).
    pub clock_disagreement: Option<f64>,
    /// CPU time per elapsed time of each thread, as a mean.
    pub cpu_share: Option<f64>,
    /// Share of the time stolen by other VMs, from /proc/stat.
    pub steal: Option<f64>,
    /// Share of the time that a cgroup quota stopped us.
    pub throttled: Option<f64>,
    /// CPUs that a cgroup quota allows.
    pub quota_cpus: Option<f64>,
    /// CPU time per elapsed time of the thread that had the least; `null` for rows that wait.
    pub least_cpu_share: Option<f64>,
    /// Share of all CPUs' time that other programs used while the row was measured.
    pub other_load: Option<f64>,
    /// Threads that were not on the CPU they were pinned to when they ended, summed over the process runs.
    pub migrated_threads: Option<u32>,
    /// Nice value of the program; 20 for an idle policy.
    pub nice: Option<i32>,
    /// Share of the machine's CPUs that this program may not use.
    pub cpus_withheld: Option<f64>,
    /// Bytes moved to or from swap per second, by anybody.
    pub swapped_bytes_per_second: Option<f64>,
    /// Share of the buffers' pages that belong to another NUMA node than the thread that uses them.
    pub remote_pages: Option<f64>,
    /// Times that a core or package was too hot for its clock.
    pub thermal_events: Option<u64>,
    /// Times that a core or package ran into its power limit.
    pub power_events: Option<u64>,
    /// Process runs disturbed by other processes or VMs.
    pub disturbed_launches: Option<u32>,
    /// Process runs made to repeat a disturbed one.
    pub repeated_launches: Option<u32>,
    /// Times that a thread lost its CPU against its will.
    pub involuntary_switches: Option<u64>,
    /// Page faults in the timed part.
    pub page_faults: Option<u64>,
    /// Operations per cycle and core over whole bursts, median.
    pub ops_per_cycle: Option<f64>,
    /// Operations per cycle and core, 90th percentile of bursts of at least 1 ms: the undisturbed rate.
    pub ops_per_cycle_p90: Option<f64>,
    /// Share of the rate lost to interference: gaps and shared cores together.
    pub lost_share: Option<f64>,
    /// The part of it that was standing still: gaps between and inside bursts.
    pub lost_in_gaps: Option<f64>,
    /// Share of the buffer that is in pages of the size asked for.
    pub pages_obtained: Option<f64>,
    /// Seconds to generate the position of one access, included in its time; `null` where none is.
    pub order_seconds: Option<f64>,
    /// The C library whose function was measured: `glibc 2.36`, or `musl`, which says no version; `null` where none was.
    pub c_library: Option<String>,
    /// Seconds from the first thread's first work to the last one's, the most of the samples; `null` of one thread.
    pub start_spread_seconds: Option<f64>,
    /// Rate of the slowest thread over the fastest's (median); `null` of one thread and for latencies.
    pub slowest_over_fastest: Option<f64>,
    /// Seconds of untimed preparation, summed over the process runs.
    pub setup_seconds: Option<f64>,
    /// Seconds of warm-up, summed over the process runs.
    pub warm_up_seconds: Option<f64>,
    /// Relative change of the rate at the end of the last warm-up.
    pub warm_up_change: Option<f64>,
    /// Worker processes the samples came from.
    pub launches: Option<u32>,
    /// Which rule ended the sampling.
    pub stop: Option<Stop>,
    /// The same with its values.
    pub stop_reason: Option<String>,
    /// What else was seen, for a disk row.
    pub disk: Option<DiskConditions>,
    /// What else was seen, for a network row.
    pub net: Option<NetConditions>,
    /// What else was seen, for a LINPACK row.
    pub linpack: Option<LinpackConditions>,
}

/// What was seen of the file, the engine and the device while a disk row was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct DiskConditions {
    /// The engine that was used in the end.
    pub engine: Option<DiskEngine>,
    /// What of it was in force: `registered_files`, `registered_buffers`, `single_issuer`, `defer_taskrun` …
    pub features: Vec<String>,
    /// What was wanted and refused, and by whom.
    pub stepped_down: Vec<String>,
    /// Type of file system.
    pub filesystem: Option<String>,
    /// The disks at the lower end, by their names among the machine's disks; empty where none is known.
    pub devices: Vec<String>,
    /// The devices above those disks that all data passes through, from the top: `loop0`, `dm-1`, `md0`.
    pub layers: Vec<String>,
    /// Alignment that direct I/O needs of memory, in bytes; `null` where the file system does not say.
    pub memory_align_bytes: Option<u32>,
    /// Alignment that direct I/O needs of offsets and lengths, in bytes.
    pub offset_align_bytes: Option<u32>,
    /// Size of the file, in bytes: less than planned where laying out all of it would have taken too long.
    pub file_bytes: Option<u64>,
    /// Bytes of test files written before the first sample; later benchmarks use the same files.
    pub laid_out_bytes: Option<u64>,
    /// Bytes that its requests wrote in all process runs, also in warm-ups and outside windows.
    pub written_bytes: Option<u64>,
    /// Extents of the file.
    pub extents: Option<u32>,
    /// Bytes of the file that are holes, unwritten or inline: a read of them reaches no device.
    pub unwritten_bytes: Option<u64>,
    /// Bytes of the file that are compressed or encrypted on the device.
    pub encoded_bytes: Option<u64>,
    /// Whether the file system compresses the file, or is to; `null` where it does not say.
    pub compressed: Option<bool>,
    /// Requests in flight, as a mean over the timed part (Little: rate x mean latency), per thread.
    pub depth_achieved: Option<f64>,
    /// Whether the file is overwritten in place. `false`: copy on write, perhaps buffered; `null` where unknown.
    pub in_place: Option<bool>,
    /// Whether the file was laid out through the page cache, since the file system has no direct I/O.
    pub laid_out_through_cache: Option<bool>,
    /// Share of the file that was in the page cache after the samples.
    pub cached_share: Option<f64>,
    /// Share of it that was there before a sample (the largest of them for a cold cache, the least for a warm one).
    pub cached_share_before: Option<f64>,
    /// Of a cold cache: whether all clean pages of the system had to be dropped, which only root may.
    pub dropped_system_wide: Option<bool>,
    /// Bytes per second of writes with the flush after each sample counted in (median).
    pub flushed_bytes_per_second: Option<f64>,
    /// Where both are made: share of the requests that were reads.
    pub read_share: Option<f64>,
    /// Where both are made: median latency of the reads, in seconds.
    pub read_latency_seconds: Option<f64>,
    /// Where both are made: median latency of the writes, in seconds.
    pub write_latency_seconds: Option<f64>,
    /// Open loop: requests per second that the same process run reached without pauses, the base of the load.
    pub full_iops: Option<f64>,
    /// Open loop: share of requests that started late because all slots were in use.
    pub late_share: Option<f64>,
    /// Open loop: requests per second that were due.
    pub due_iops: Option<f64>,
    /// Bytes that the kernel says reached storage for this process, over the bytes asked for; around 1 for direct I/O.
    pub storage_share: Option<f64>,
    /// Bytes that the device moved over those that this program moved; `null` where uncounted or cached.
    pub device_share: Option<f64>,
    /// The highest temperature at the end of a process run, of the device nearest to its limit, in degrees Celsius.
    pub device_celsius: Option<f64>,
    /// The temperature from which on it slows itself down, in degrees Celsius.
    pub device_limit_celsius: Option<f64>,
    /// The rate of the device's link after a process run over that before it; the lowest of all.
    pub link_share: Option<f64>,
    /// Mean latency of all requests, in seconds.
    pub mean_latency_seconds: Option<f64>,
    /// Bytes that the device moved for others while the row was measured, over all that it moved.
    pub other_share: Option<f64>,
    /// Seconds of the flush after a sample of writes (median); not part of the result.
    pub flush_seconds: Option<f64>,
    /// Steady state: rounds until it was reached, the five steady ones included; `null` where it never was.
    pub steady_rounds: Option<u32>,
    /// Requests per second in the steady state, as a mean over its five rounds.
    pub steady_iops: Option<f64>,
    /// From the lowest to the highest of the five rounds, over their mean; of the last five where none were steady.
    pub steady_range: Option<f64>,
    /// Slope of the least-squares line over the five rounds, over their mean.
    pub steady_drift: Option<f64>,
    /// CPU seconds per second of the busiest working thread, or of all per CPU where that is more.
    pub cpu_busy: Option<f64>,
    /// CPU seconds of a thread per request, checks of the data included; the mean over the threads.
    pub cpu_seconds_per_request: Option<f64>,
    /// Requests per second of the same loop without a device (with `io_uring` the no-op), in the same process run.
    pub loop_iops: Option<f64>,
}

/// What was seen of the path while a network row was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct NetConditions {
    /// The interface that the bytes went through.
    pub interface: Option<String>,
    /// Its largest packet, in bytes.
    pub mtu: Option<u32>,
    /// Its offloads that were on: `tso`, `gso`, `gro`, `lro`, checksums …
    pub offloads: Vec<String>,
    /// Congestion control of the sending sockets.
    pub congestion_control: Option<String>,
    /// Receive buffer of the sockets at the end, in bytes.
    pub receive_buffer_bytes: Option<u64>,
    /// CPUs of the server's threads, in thread order.
    pub peer_cpus: Vec<u32>,
    /// Bytes per second of two dependent copies between the same CPUs, measured in the same process run.
    pub two_copy_bytes_per_second: Option<f64>,
    /// Bytes of our sockets on the link in one process run, headers included, in both directions.
    pub link_bytes: Option<u64>,
    /// Bytes that the interface carried for others while the row was measured, over all that it carried.
    pub other_share: Option<f64>,
    /// Datagrams that never came back.
    pub lost: Option<u64>,
    /// CPU seconds of the measuring end's threads per second of the timed part.
    pub cpu_busy: Option<f64>,
    /// `IPv4` or `IPv6`.
    pub address_family: Option<String>,
    /// TCP's smoothed round trip to the server before measuring, in seconds.
    pub round_trip_seconds: Option<f64>,
    /// What TCP said of the senders' connections.
    pub tcp: Option<TcpConditions>,
    /// CPU seconds of the sending threads inside samples, all process runs.
    pub sending_cpu_seconds: Option<f64>,
    /// CPU seconds of the receiving threads inside samples, all process runs.
    pub receiving_cpu_seconds: Option<f64>,
    /// How datagrams were sent and received: `gso`, `gro`, `sendmmsg`, `recvmmsg`.
    pub batching: Vec<String>,
    /// Share of the sends with `MSG_ZEROCOPY` whose copy was really spared.
    pub zero_copied_share: Option<f64>,
    /// Bytes of data that were offered per second, where the sender keeps to a rate.
    pub offered_bytes_per_second: Option<f64>,
    /// Microseconds for which a spinning receive polls the device (`SO_BUSY_POLL`); 0 where refused.
    pub busy_poll_microseconds: Option<u32>,
    /// Of a latency under load: the median round trip before the load began, in seconds.
    pub idle_latency_seconds: Option<f64>,
    /// Of a latency under load: the load's bytes per second.
    pub load_bytes_per_second: Option<f64>,
    /// Of a latency under load: probes that could not leave when they were due, as a share.
    pub late_share: Option<f64>,
    /// The longest packet, in bytes, that the path takes as far as the measuring end's kernel knows.
    pub path_mtu: Option<u32>,
    /// How that is found out (`IP_MTU_DISCOVER`): `off`, `want`, `do`, `probe`, `interface`, `omit`.
    pub mtu_discovery: Option<String>,
}

/// What TCP says of connections (`struct tcp_info`), over the senders of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TcpConditions {
    /// Segments that were sent again.
    pub retransmits: Option<u64>,
    /// The smoothed round trip at the end, the longest of the connections, in seconds.
    pub round_trip_seconds: Option<f64>,
    /// The least round trip, the least of the connections, in seconds.
    pub least_round_trip_seconds: Option<f64>,
    /// Bytes in flight that the congestion control allows, the least of the connections.
    pub congestion_window_bytes: Option<u64>,
    /// Seconds with data in flight, all connections.
    pub busy_seconds: Option<f64>,
    /// Of these, seconds in which the receiver's window was full.
    pub receiver_limited_seconds: Option<f64>,
    /// Of these, seconds in which the send buffer was full.
    pub buffer_limited_seconds: Option<f64>,
}
