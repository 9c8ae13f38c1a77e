//! What a disk row could reach at best: as declared, by the data sheets of the drives, by the limits of control groups,
//! by the links in front of the drives.
//!
//! In the unit of the metric that heads the row: 1/s for random requests, B/s for all others. Of random requests there
//! are no more than so many small ones, and no more bytes than in order; the formula shows which binds. Where nothing
//! is known there is no peak; a figure for reads never serves for writes, and none is multiplied by threads.
//!
//! What holds for which row:
//! - Through the page cache there is a peak only where the device must be asked: reads in order from a cold cache, and
//!   writes that wait for stable storage. Those have the ceilings of writes that do not wait, which they cannot exceed.
//! - Half reads and half writes share one drive: the harmonic mean of both rates. A link that carries both ways at once
//!   carries twice the lesser. A control group limits each way by itself, so twice the lesser, too.
//! - With a load set from outside there is none.

pub(crate) mod drive;
pub(crate) mod layers;
pub(crate) mod request;
pub(crate) mod sharing;

use model::disk_target::{IoLimit, IoLimits};
use model::experiment::DiskParams;
use model::io::DiskOp;
use model::machine::{Machine, Storage};
use model::number::exact_byte_rate;
use model::peak::{Peak, PeakKind};
use model::unit::format_size;

use crate::declared::Declared;
use crate::limits::disk::drive::Heads;
use crate::limits::disk::layers::{Asked, Layers};
use crate::limits::disk::request::{Direction, Figure, Request, input};

/// What peaks of a disk rest on, in the order they are listed in.
const KINDS: [PeakKind; 4] = [PeakKind::Declared, PeakKind::Datasheet, PeakKind::Limit, PeakKind::Link];

/// The peaks of a disk row; none where its requests do not all reach a device, or where their rate is set from outside.
pub fn disk_peaks(
    machine: &Machine,
    declared: &Declared,
    storage: &Storage,
    limits: &IoLimits,
    params: &DiskParams,
) -> Vec<Peak> {
    let known = Known { machine, declared, storage, limits };
    let figure = |kind: PeakKind| {
        let one_way = |way| known.figure(kind, Request::of_benchmark(params, way)?);
        match params.op {
            DiskOp::Read | DiskOp::Reread => one_way(Direction::Read),
            DiskOp::Write | DiskOp::Rewrite => one_way(Direction::Write),
            DiskOp::Mixed => half_and_half(kind, one_way(Direction::Read), one_way(Direction::Write)),
        }
    };
    KINDS.into_iter().filter_map(|kind| peak(kind, figure(kind)?)).collect()
}

fn peak(kind: PeakKind, figure: Figure) -> Option<Peak> {
    let usable = figure.value.is_finite() && figure.value > 0.0;
    let formula = figure.told();
    usable.then_some(Peak { kind, value: figure.value, formula, inputs: figure.inputs, uncertainty: None })
}

/// What as many reads as writes come to together.
fn half_and_half(kind: PeakKind, read: Option<Figure>, write: Option<Figure>) -> Option<Figure> {
    let twice = |figure: Figure| {
        let formula = format!("2 x {}", figure.formula);
        Figure { value: 2.0 * figure.value, formula, ..figure }
    };
    if kind == PeakKind::Limit {
        return Figure::tighter(read, write).map(twice);
    }
    let (read, write) = (read?, write?);
    if read.both_ways && write.both_ways {
        return Figure::tighter(Some(read), Some(write)).map(twice);
    }
    let formula = format!("2 / (1 / ({}) + 1 / ({}))", read.formula, write.formula);
    let mut inputs = read.inputs;
    inputs.extend(write.inputs.into_iter().filter(|other| !inputs.contains(other)).collect::<Vec<_>>());
    Some(Figure { value: 2.0 / (1.0 / read.value + 1.0 / write.value), formula, inputs, ..write })
}

/// All that is known of the way to a directory.
#[derive(Clone, Copy)]
struct Known<'k> {
    machine: &'k Machine,
    declared: &'k Declared,
    storage: &'k Storage,
    limits: &'k IoLimits,
}

impl Known<'_> {
    fn figure(self, kind: PeakKind, request: Request) -> Option<Figure> {
        match kind {
            PeakKind::Declared => self.declared(request),
            PeakKind::Datasheet => {
                Figure::tighter(self.layers(request, Asked::Sheet), self.layers(request, Asked::OneByOne))
            }
            PeakKind::Limit => self.limit(request),
            PeakKind::Link => self.layers(request, Asked::Link).map(|rate| request.by_bytes(rate)),
            _ => None,
        }
    }

    fn layers(self, request: Request, asked: Asked) -> Option<Figure> {
        Layers { machine: self.machine, chain: &self.storage.chain, request, asked }.all()
    }

    fn declared(self, request: Request) -> Option<Figure> {
        let (bytes, requests) = match request.way {
            Direction::Read => ("disk.read_bps", "disk.read_iops"),
            Direction::Write => ("disk.write_bps", "disk.write_iops"),
        };
        let figure = |key: &str, value: f64, shown: String| Figure {
            value,
            formula: format!("{shown} declared"),
            inputs: vec![input(key, value, "declared")],
            ..Figure::default()
        };
        let by_bytes =
            self.declared.get(bytes).map(|rate| request.by_bytes(figure(bytes, rate, exact_byte_rate(rate))));
        let by_requests = self.declared.get(requests).filter(|_| request.random);
        let by_requests = by_requests.map(|rate| figure(requests, rate, format!("{rate} requests/s")));
        Figure::tighter(Figure::tighter(by_bytes, by_requests), self.heads(request))
    }

    /// What heads and rotation allow, if the owner said anything of either.
    fn heads(self, request: Request) -> Option<Figure> {
        let told = Heads {
            rotations_per_minute: self.declared.get("disk.rpm"),
            seek_seconds: self.declared.get("disk.seek_s"),
        };
        (told != Heads::default()).then(|| self.layers(request, Asked::AsToldOf(told))).flatten()
    }

    fn limit(self, request: Request) -> Option<Figure> {
        let limits = self.limits;
        let (bytes, requests) = match request.way {
            Direction::Read => (&limits.read_bytes_per_second, &limits.reads_per_second),
            Direction::Write => (&limits.write_bytes_per_second, &limits.writes_per_second),
        };
        let allowed = |limit: &IoLimit, name: &str, shown: String| Figure {
            value: limit.value,
            formula: format!("{shown} allowed by the control group"),
            inputs: vec![input(name, limit.value, &limit.source)],
            ..Figure::default()
        };
        let by_bytes =
            bytes.as_ref().map(|limit| request.by_bytes(allowed(limit, "limit B/s", exact_byte_rate(limit.value))));
        // Behind the page cache the kernel makes requests of its own size.
        let by_requests = requests.as_ref().filter(|_| request.random || request.direct).map(|limit| {
            let figure = allowed(limit, "limit 1/s", format!("{} requests/s", limit.value));
            if request.random {
                return figure;
            }
            let formula = format!("{} x {}", figure.formula, format_size(request.block));
            let mut inputs = figure.inputs;
            inputs.push(input("block_bytes", request.block_bytes(), "the row's block"));
            Figure { value: limit.value * request.block_bytes(), formula, inputs, ..Figure::default() }
        });
        Figure::tighter(by_bytes, by_requests)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "figures that are exact, or rounded the same way")]
mod tests {
    use super::*;
    use model::io::{DiskCache, DiskEngine, DiskLayout, DiskPattern, DiskSync};
    use model::machine::{Disk, DiskLink, StorageDevice};

    fn row(pattern: DiskPattern, op: DiskOp, block: u64) -> DiskParams {
        DiskParams {
            pattern,
            op,
            block,
            size: 1 << 30,
            depth: 32,
            load_percent: None,
            engine: DiskEngine::IoUring,
            direct: true,
            sync: DiskSync::None,
            cache: DiskCache::Bypassed,
            layout: DiskLayout::Shared,
            threads: 1,
            path: "/data".into(),
        }
    }

    const SEQUENTIAL: DiskPattern = DiskPattern::Sequential;
    const RANDOM: DiskPattern = DiskPattern::Random;

    /// Disks by name and link, 0 for none.
    fn machine(disks: &[(&str, u64)]) -> Machine {
        let disk = |(name, rate): &(&str, u64)| {
            let link = DiskLink { bytes_per_second: *rate, detail: "a link".into(), ..DiskLink::default() };
            Disk { name: (*name).into(), link: (*rate > 0).then_some(link), ..Disk::default() }
        };
        Machine { disks: disks.iter().map(disk).collect(), ..Machine::default() }
    }

    fn behind(chain: &[(u32, &str, &str)]) -> Storage {
        let device = |(depth, name, kind): &(u32, &str, &str)| StorageDevice {
            name: (*name).into(),
            depth: *depth,
            kind: (*kind).into(),
            disk: Some(name.trim_end_matches("p1").into()),
            ..StorageDevice::default()
        };
        Storage { chain: chain.iter().map(device).collect(), ..Storage::default() }
    }

    fn link_peak(machine: &Machine, chain: &[(u32, &str, &str)], params: &DiskParams) -> Option<Peak> {
        let found = disk_peaks(machine, &Declared::default(), &behind(chain), &IoLimits::default(), params);
        assert!(found.len() <= 1, "{found:?}");
        found.into_iter().next()
    }

    fn link_rate(machine: &Machine, chain: &[(u32, &str, &str)], op: DiskOp, pattern: DiskPattern) -> Option<f64> {
        link_peak(machine, chain, &row(pattern, op, 4096)).map(|peak| peak.value)
    }

    fn declared_peak(items: &[&str], params: &DiskParams) -> Option<Peak> {
        let declared = Declared::parse(items).unwrap();
        let machine = Machine::default();
        disk_peaks(&machine, &declared, &Storage::default(), &IoLimits::default(), params).into_iter().next()
    }

    #[test]
    fn a_declared_rate_serves_its_own_way_only() {
        let items = ["disk.read_bps=7e9", "disk.read_iops=1e6"];
        let sequential = declared_peak(&items, &row(SEQUENTIAL, DiskOp::Read, 1 << 20)).unwrap();
        assert_eq!((sequential.kind, sequential.value), (PeakKind::Declared, 7e9));
        assert_eq!(sequential.formula, "7 GB/s declared");
        let random = declared_peak(&items, &row(RANDOM, DiskOp::Read, 4096)).unwrap();
        assert_eq!((random.value, random.formula.as_str()), (1e6, "1000000 requests/s declared"));
        let large = declared_peak(&items, &row(RANDOM, DiskOp::Read, 1 << 20)).unwrap();
        assert_eq!((large.value, large.formula.as_str()), (7e9 / 1_048_576.0, "7 GB/s declared / 1MiB"));
        assert!(large.inputs.iter().any(|input| input.name == "disk.read_bps" && input.source == "declared"));
        assert_eq!(declared_peak(&items, &row(SEQUENTIAL, DiskOp::Write, 1 << 20)), None);
        assert_eq!(declared_peak(&["disk.write_iops=5"], &row(SEQUENTIAL, DiskOp::Write, 4096)), None);
        let write = declared_peak(&["disk.write_bps=4096"], &row(RANDOM, DiskOp::Rewrite, 4096)).unwrap();
        assert_eq!(write.value, 1.0);
    }

    #[test]
    fn requests_that_do_not_all_reach_the_device_have_no_peak() {
        let read = row(SEQUENTIAL, DiskOp::Read, 4096);
        let peak = |params: DiskParams| declared_peak(&["disk.read_bps=1", "disk.write_bps=1"], &params);
        assert!(peak(read.clone()).is_some());
        let cold = |pattern, op| DiskParams { direct: false, cache: DiskCache::Cold, ..row(pattern, op, 4096) };
        assert!(peak(cold(SEQUENTIAL, DiskOp::Read)).is_some());
        assert_eq!(peak(cold(RANDOM, DiskOp::Read)), None, "a block may come twice");
        assert_eq!(peak(cold(SEQUENTIAL, DiskOp::Reread)), None);
        assert_eq!(peak(cold(SEQUENTIAL, DiskOp::Write)), None);
        let durable = DiskParams { sync: DiskSync::Dsync, ..cold(SEQUENTIAL, DiskOp::Write) };
        assert!(peak(durable).is_some());
        assert_eq!(peak(DiskParams { direct: false, cache: DiskCache::Warm, ..read.clone() }), None);
        assert_eq!(peak(DiskParams { engine: DiskEngine::Null, ..read }), None);
        assert_eq!(
            peak(DiskParams { load_percent: Some(50), ..row(RANDOM, DiskOp::Read, 4096) }),
            None,
            "set from outside"
        );
        let mixed = DiskParams { direct: false, cache: DiskCache::Cold, ..row(SEQUENTIAL, DiskOp::Mixed, 4096) };
        assert_eq!(peak(mixed), None, "what was written may be read");
    }

    #[test]
    fn other_orders_than_the_ascending_one_have_its_ceiling() {
        let items = ["disk.read_bps=7e9", "disk.read_iops=1e5"];
        for pattern in [SEQUENTIAL, DiskPattern::Backward, DiskPattern::Strided] {
            let peak = declared_peak(&items, &row(pattern, DiskOp::Reread, 4096)).unwrap();
            assert_eq!(peak.value, 7e9, "{pattern}");
        }
    }

    #[test]
    fn threads_and_depth_multiply_nothing() {
        let items = ["disk.read_bps=7e9", "disk.read_iops=1e5"];
        let few = row(RANDOM, DiskOp::Read, 4096);
        let many = DiskParams { threads: 64, depth: 128, ..few.clone() };
        assert_eq!(declared_peak(&items, &few), declared_peak(&items, &many));
    }

    #[test]
    fn kinds_come_in_their_order_and_a_second_request_in_flight_ends_the_rule_for_one() {
        let mut machine = machine(&[("sda", 600_000_000)]);
        let sda = &mut machine.disks[0];
        (sda.rotations_per_minute, sda.is_virtual) = (Some(7200), Some(false));
        sda.transport = Some("sata".into());
        let limits = IoLimits {
            reads_per_second: Some(IoLimit { value: 100.0, source: "io.max".into() }),
            ..IoLimits::default()
        };
        let declared = Declared::parse(&["disk.read_iops=90"]).unwrap();
        let kinds = |depth: u32, threads: u32, load_percent: Option<u32>| {
            let params = DiskParams { depth, threads, load_percent, ..row(RANDOM, DiskOp::Read, 4096) };
            let found = disk_peaks(&machine, &declared, &behind(&[(0, "sda", "disk")]), &limits, &params);
            found.iter().map(|peak| peak.kind).collect::<Vec<_>>()
        };
        let all = [PeakKind::Declared, PeakKind::Datasheet, PeakKind::Limit, PeakKind::Link];
        assert_eq!(kinds(1, 1, None), all);
        let without_rotation = [PeakKind::Declared, PeakKind::Limit, PeakKind::Link];
        assert_eq!((kinds(2, 1, None), kinds(1, 2, None)), (without_rotation.to_vec(), without_rotation.to_vec()));
        assert_eq!(kinds(1, 1, Some(50)), []);
    }

    #[test]
    fn half_reads_and_half_writes_share_the_drive() {
        let both = ["disk.read_iops=3e5", "disk.write_iops=1e5"];
        let mixed = row(RANDOM, DiskOp::Mixed, 4096);
        let peak = declared_peak(&both, &mixed).unwrap();
        assert_eq!(peak.value.round(), 150_000.0);
        assert_eq!(peak.formula, "2 / (1 / (300000 requests/s declared) + 1 / (100000 requests/s declared))");
        assert_eq!(peak.inputs.len(), 2);
        assert_eq!(declared_peak(&both[..1], &mixed), None, "one way is not known");
    }

    #[test]
    fn links_that_carry_both_ways_at_once_carry_twice_as_much_of_both() {
        let chain = [(0, "sda", "disk")];
        let mixed = row(SEQUENTIAL, DiskOp::Mixed, 1 << 20);
        let with = |kind: &str, rate: u64| {
            let mut machine = machine(&[("sda", rate)]);
            machine.disks[0].link.as_mut().unwrap().kind = kind.into();
            link_peak(&machine, &chain, &mixed).unwrap()
        };
        assert_eq!(with("pcie", 4_000_000_000).value, 8e9);
        let told = "2 x 4 GB/s (a link; in packets of 256 B some 0.91 of it is data)";
        assert_eq!(with("pcie", 4_000_000_000).formula, told);
        assert_eq!(with("sata", 600_000_000).formula.matches("packets").count(), 0, "it has none of that kind");
        assert_eq!(with("sata", 600_000_000).value, 6e8, "one way at a time");
        assert_eq!(with("usb", 60_000_000).value, 6e7);
        assert_eq!(with("usb", 500_000_000).value, 1e9);
    }

    #[test]
    fn one_disk_under_any_layers_is_bound_by_its_link() {
        let machine = machine(&[("nvme0n1", 7_876_500_000), ("dm-0", 0)]);
        let chain = [(0, "dm-0", "mapper"), (1, "nvme0n1p1", "partition"), (2, "nvme0n1", "disk")];
        let peak = link_peak(&machine, &chain, &row(SEQUENTIAL, DiskOp::Write, 1 << 20)).unwrap();
        assert_eq!((peak.kind, peak.value), (PeakKind::Link, 7_876_500_000.0));
        assert_eq!(peak.formula, "7.877 GB/s (a link)");
        let random = link_peak(&machine, &chain, &row(RANDOM, DiskOp::Read, 4096)).unwrap();
        assert_eq!(random.value, 7_876_500_000.0 / 4096.0);
        assert_eq!(random.formula, "7.877 GB/s / 4KiB (a link)");
        // Two partitions of one disk under one volume.
        let twice = [(0, "dm-0", "mapper"), (1, "nvme0n1p1", "partition"), (2, "nvme0n1", "disk"), (1, "nvme0n1", "x")];
        assert_eq!(link_rate(&machine, &twice, DiskOp::Read, SEQUENTIAL), Some(7_876_500_000.0));
    }

    #[test]
    fn what_is_not_known_has_no_link_peak() {
        let disks = machine(&[("vda", 0), ("sda", 600), ("sdb", 600), ("dm-0", 0), ("loop0", 0)]);
        let rate = |chain: &[(u32, &str, &str)]| link_rate(&disks, chain, DiskOp::Read, SEQUENTIAL);
        assert_eq!(rate(&[]), None);
        assert_eq!(rate(&[(0, "vda", "disk")]), None, "virtual");
        assert_eq!(rate(&[(0, "dm-0", "mapper"), (1, "sda", "disk"), (1, "sdb", "disk")]), None, "how it is laid out");
        assert_eq!(rate(&[(0, "sda", "disk"), (0, "sdb", "disk")]), None, "a file system over both");
        assert_eq!(rate(&[(0, "loop0", "loop"), (1, "sda", "disk")]), None, "the page cache is between");
        assert_eq!(rate(&[(0, "sda", "disk")]), Some(600.0));
    }

    fn array(level: &str, members: u32) -> Machine {
        let mut array = machine(&[("sda", 600), ("sdb", 600), ("sdc", 300), ("md0", 0)]);
        array.disks[3].raid_level = Some(level.into());
        array.disks[3].raid_members = Some(members);
        array
    }

    #[test]
    fn arrays_are_summed_as_their_level_says() {
        let chain = [(0, "md0", "raid"), (1, "sda", "disk"), (1, "sdb", "disk"), (1, "sdc", "disk")];
        let rates = |level: &str| {
            let rate = |op, pattern| link_rate(&array(level, 3), &chain, op, pattern);
            let read = rate(DiskOp::Read, SEQUENTIAL).map(f64::round);
            (read, rate(DiskOp::Write, SEQUENTIAL), rate(DiskOp::Write, RANDOM).map(|rate| (rate * 4096.0).round()))
        };
        assert_eq!(rates("raid0"), (Some(1500.0), Some(1500.0), Some(1500.0)));
        assert_eq!(rates("raid1"), (Some(1500.0), Some(300.0), Some(300.0)));
        assert_eq!(rates("raid10"), (Some(1500.0), Some(750.0), Some(750.0)));
        assert_eq!(rates("raid5"), (Some(1500.0), Some(1000.0), Some(750.0)));
        assert_eq!(rates("raid6"), (Some(1500.0), Some(500.0), Some(500.0)));
        assert_eq!(rates("linear"), (Some(600.0), Some(600.0), Some(600.0)));
        assert_eq!(rates("container"), (None, None, None));
        assert_eq!(link_rate(&array("raid0", 2), &chain, DiskOp::Read, SEQUENTIAL), None, "one is a spare");
    }

    #[test]
    fn an_arrays_formula_names_its_parts() {
        let chain = [(0, "md0", "raid"), (1, "sda", "disk"), (1, "sdb", "disk"), (1, "sdc", "disk")];
        let peak = link_peak(&array("raid5", 3), &chain, &row(SEQUENTIAL, DiskOp::Write, 1 << 20)).unwrap();
        assert_eq!(peak.formula, "(600 B/s + 600 B/s + 300 B/s) x 0.667 (raid5 over a link)");
        assert_eq!(peak.inputs.len(), 4);
        let unknown = machine(&[("sda", 600), ("sdb", 0), ("md0", 0)]);
        assert_eq!(link_rate(&unknown, &chain[..3], DiskOp::Read, SEQUENTIAL), None);
    }

    #[test]
    fn the_tightest_limit_of_the_control_group_counts() {
        let limit = |value: f64| Some(IoLimit { value, source: "/sys/fs/cgroup/io.max".into() });
        let limits =
            IoLimits { read_bytes_per_second: limit(1e6), reads_per_second: limit(100.0), ..IoLimits::default() };
        let peak = |params: &DiskParams| {
            let (machine, storage) = (Machine::default(), Storage::default());
            disk_peaks(&machine, &Declared::default(), &storage, &limits, params).into_iter().next()
        };
        let small = peak(&row(SEQUENTIAL, DiskOp::Read, 4096)).unwrap();
        assert_eq!((small.kind, small.value), (PeakKind::Limit, 409_600.0));
        assert_eq!(small.formula, "100 requests/s allowed by the control group x 4KiB");
        assert_eq!(peak(&row(SEQUENTIAL, DiskOp::Read, 1 << 20)).map(|peak| peak.value), Some(1e6));
        assert_eq!(peak(&row(RANDOM, DiskOp::Read, 4096)).map(|peak| peak.value), Some(100.0));
        assert_eq!(peak(&row(RANDOM, DiskOp::Read, 1 << 20)).map(|peak| peak.value), Some(1e6 / 1_048_576.0));
        assert_eq!(peak(&row(SEQUENTIAL, DiskOp::Write, 4096)), None);
        let mixed = peak(&row(RANDOM, DiskOp::Mixed, 4096)).unwrap();
        assert_eq!((mixed.value, mixed.formula.as_str()), (200.0, "2 x 100 requests/s allowed by the control group"));
        let cold = DiskParams { direct: false, cache: DiskCache::Cold, ..row(SEQUENTIAL, DiskOp::Read, 4096) };
        assert_eq!(peak(&cold).map(|peak| peak.value), Some(1e6), "read-ahead makes larger requests");
    }

    #[test]
    fn rates_are_written_with_three_places_at_most() {
        assert_eq!([7e9, 7.8765e9, 6e8, 512.0].map(exact_byte_rate), ["7 GB/s", "7.877 GB/s", "600 MB/s", "512 B/s"]);
    }
}
