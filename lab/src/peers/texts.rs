//! The fixed text of the pages.

pub(super) const HEAD: &str = "\
# Performance beside the tools that people trust

Written by `cargo lab peers`; every figure here comes from that command, and nothing is edited by hand. It measures
ours and theirs in turn (pairs in the order ABBA, on the same CPUs, at the same sizes, each side in fresh processes, the
number of pairs fixed beforehand) through the same seam that `assay run --references` uses, and appends every attempt,
whatever it shows, to [peers.jsonl](../../lab/data/peers.jsonl). Where a machine has no Rust, `assay run suites/peers.toml --references
all` is run there by hand, and `cargo lab peers from` takes what its document says.

- **ratio**: ours over theirs, of the medians, with its 95 % interval over pairs. For latencies less is better.
- **cv**: how far the figures of a side scatter from pair to pair: 1.4826 MAD / median.
- **spread**: how far ours scatter over how far theirs do, with its 95 % interval over the same pairs: of the logarithms,
  less the level that both share over a few pairs, by Rousseeuw and Croux's Qn. *Above*: the whole interval is above 1.
  *Not above*: the ratio is at most 1 and the interval ends by 1.5. *Cannot tell*: anything between. From 20 pairs a
  ratio of spreads is known to a factor of about 2 only. – stands where the figures of the pairs were not kept.
- **the best of …**: of several tools beside one row, the one with the best figure: what we have to reach.
- **verdict**: *at least as good*: the ratio is on our side of 1 and its worse end within 5 % of it. *Behind*: the whole
  interval is on the other side of 1. *Cannot tell*: anything between; ± is half of the interval.
- **attempts**: how many there have been on this machine, with the least and the greatest ratio.

Clusters are simulated: how often slow nodes are named is in [cluster-simulation.md](cluster-simulation.md), and what plan
and report of ten thousand nodes cost in [cluster-scale.md](cluster-scale.md).
";

/// What is said above the limits.
pub(super) const LIMITS_HEAD: &str = "\
# Our arithmetic kernels against their own limits

Written by `cargo lab peers limits` beside [performance.md](performance.md), which holds ours against the tools that
people trust; every look is kept in [limits.jsonl](../../lab/data/limits.jsonl).
";

/// The folder of the machines that are not on the front page.
pub(super) const FOLDER: &str = "performance";
/// Where the commands of the machine on the front page are.
pub(super) const COMMANDS_OF_LAST: &str = "performance-commands.md";

/// What is said above the links to other machines.
pub(super) const OTHERS: &str = "
## Other machines

Each beside the best tool of each row, with CPUs left to sleep:

| machine | tools | rows | at least as good | behind | cannot tell |
|---|---|---|---|---|---|
";

/// What is said above the comparisons over veth.
pub(super) const BETWEEN: &str = "\
### Between two network namespaces

From `cargo lab peers veth`: the near and the far end in namespaces of their own, joined by a pair of veth interfaces;
ours is `assay net --to` against `assay net serve`, with the same options and on the same CPUs as the tool. TCP keeps
nothing of one connection for the next (`tcp_no_metrics_save`), so that no row depends on those before it.

";

/// What is said above the comparisons with CPUs that do not go idle.
pub(super) const AWAKE: &str = "\
### With CPUs kept awake

From `cargo lab peers AREA --awake`: a loop of the idle class (`SCHED_IDLE`) on each CPU keeps it from going idle and
gives way at once, for ours and theirs alike. What differs above and not here is how long sleeping CPUs took to wake.

";

/// What is said above the comparisons on a loop device.
pub(super) const ON_A_LOOP: &str = "\
### Disk rows on a loop device

From `cargo lab peers disk --loop`: ext4 on a loop device (`losetup --direct-io=on`) whose file lies on the disk of the
rows above. In a virtual machine whoever makes a request to the disk itself pays for the exit to the hypervisor, which with
one in flight is most of what a request costs, the same for every program. Here a thread of the kernel pays, and what is
left is the program and the kernel's way for it. These rows say nothing of the disk.

";

/// What is said below comparisons from documents that were made elsewhere.
pub(super) const FROM_ELSEWHERE: &str = "\
On this machine `assay run suites/peers.toml --references …` was run by hand; `cargo lab peers from` took the comparisons
from its documents.

";

/// What is said above the commands.
pub(super) const COMMANDS_HEAD: &str = "\
# How the tools were called

Written by `cargo lab peers` beside [performance.md](performance.md): for each comparison there, on which CPUs and with
which words the tool was run last, and its server before it. The machines measured before have pages of their own in
[performance.md](performance.md). Left out is what every tool is given: the locale
(`LC_ALL=C`), and an empty folder of its own to run in, which is its `HOME` and its `TMPDIR`.
";
