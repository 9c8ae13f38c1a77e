//! The fixed text of the pages, and how they show values.

pub(super) const HEAD: &str = "\
# Performance compared with reference tools

Written by `cargo lab peers`, never by hand. It runs our program and the tool alternately through `assay run --references`: pairs
in the order ABBA, on the same CPUs, at the same sizes, each side in new processes, with a fixed number of pairs. Every attempt is
appended to [peers.jsonl](../../lab/data/peers.jsonl). Without Rust, run `assay run suites/peers.toml --references all` on that
machine, and add its document with `cargo lab peers from`. `cargo lab peers page` writes the pages again without measuring.

- **ratio**: our median over theirs, with its 95 % interval over pairs. For latencies, lower is better.
- **cv**: variation from pair to pair: 1.4826 MAD / median.
- **the best of …**: the best of several tools for one benchmark, which is the one to reach.
- **verdict**: *at least as good*: the ratio favours us, and the worse end of its interval is within 5 % of 1. *Behind*: the whole
  interval favours the tool. *Inconclusive*: all other cases. ± is half of the interval.
- **attempts**: their number on this machine, with the least and the greatest ratio.

Clusters are simulated: see [how often slow nodes are found](cluster-simulation.md) and [what ten thousand nodes
cost](cluster-scale.md).
";

pub(super) const LIMITS_HEAD: &str = "\
# Our arithmetic kernels compared with their limits

Written by `cargo lab peers limits`. Reference tools are compared in [performance.md](performance.md). Every measurement is kept in
[limits.jsonl](../../lab/data/limits.jsonl).
";

pub(super) const FOLDER: &str = "performance";
pub(super) const COMMANDS_OF_LAST: &str = "performance-commands.md";

pub(super) const OTHERS: &str = "
## Other machines

Each benchmark compared with its best tool, CPUs not kept awake:

| machine | tools | benchmarks | at least as good | behind | inconclusive |
|---|---|---|---|---|---|
";

pub(super) const BETWEEN: &str = "\
### Between two network namespaces

From `cargo lab peers veth`: client and server in namespaces of their own, joined by a pair of veth interfaces. Our side is `assay
net --to` with `assay net serve`, with the options and on the CPUs of the tool. TCP keeps no metrics of earlier connections
(`tcp_no_metrics_save`), so that no benchmark depends on those before it.

";

pub(super) const AWAKE: &str = "\
### With CPUs kept awake

From `cargo lab peers AREA --awake`: a loop of the idle class (`SCHED_IDLE`) on each CPU prevents it from going idle and yields to
every other process, for both sides alike. A difference that appears only above is the wake-up time of sleeping CPUs.

";

pub(super) const ON_A_LOOP: &str = "\
### Disk benchmarks on a loop device

From `cargo lab peers disk --loop`: ext4 on a loop device (`losetup --direct-io=on`) whose file is on the disk of the benchmarks
above. On the disk of a virtual machine, each request pays for an exit to the hypervisor, which dominates its cost at queue depth
1, equally for every program. Here a kernel thread does that work, which leaves the overhead of the program and of the kernel's
block layer. These results do not measure the disk.

";

pub(super) const FROM_ELSEWHERE: &str = "\
On this machine `assay run suites/peers.toml --references …` was run by hand; `cargo lab peers from` added the comparisons of its
documents.

";

pub(super) const COSTS: &str = "
### Latency and CPU time of a request

From the same pairs: median latency (fio: `lat_ns`), and CPU time of the working threads per request, user and system; ours
includes the check of every block. Ratios are ours over theirs with the 95 % interval; lower is better. *our loop* is the rate of
our own loop at that queue depth without a device, system calls included, measured on one core. *ratio without it* is the CPU ratio
if that loop took no time: what remains is the kernel's path to the device.

| benchmark | tool | p50 ours | theirs | ratio (95 %) | CPU ours | theirs | ratio (95 %) | our loop | ratio without it |
|---|---|---|---|---|---|---|---|---|---|
";

pub(super) const TAILS: &str = "
The 99th percentile of each run's round trips, from the same pairs; lower is better:

| benchmark | tool | p99 ours | theirs | ratio (95 %) |
|---|---|---|---|---|
";

pub(super) const COMMANDS_HEAD: &str = "\
# How the tools were called

Written by `cargo lab peers`: the CPUs and the last command of each comparison in [performance.md](performance.md), after the
command of its server. The other machines have their own pages, linked there. Not shown: the locale (`LC_ALL=C`), and the empty
folder that is each tool's working directory, `HOME` and `TMPDIR`.
";

/// A value with four digits and a prefix.
pub(super) fn quantity(value: f64, unit: &str) -> String {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    let (factor, prefix) = steps.into_iter().find(|(factor, _)| value >= *factor).unwrap_or((1.0, ""));
    let scaled = value / factor;
    let decimals = 3 - usize::from(scaled >= 10.0) - usize::from(scaled >= 100.0);
    let unit = if unit == "1/s" { "/s" } else { unit };
    format!("{scaled:.decimals$} {prefix}{unit}")
}

/// The text of a table's cell, – if it is unknown.
pub(super) fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "–".to_owned())
}
