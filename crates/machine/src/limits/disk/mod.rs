//! The limits of a disk benchmark, 1/s for random requests, B/s otherwise. Through the page cache only sequential reads
//! from a cold cache and durable writes have one. Half reads and half writes: the harmonic mean on a drive; twice the
//! smaller on a duplex link and for control groups. With an offered load there is no limit.

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
use crate::limits::disk::request::{Ceiling, Direction, Request};
use crate::limits::{input, peak};

const KINDS: [PeakKind; 4] = [PeakKind::Declared, PeakKind::Datasheet, PeakKind::Limit, PeakKind::Link];

/// The peaks of a disk benchmark; empty if its requests do not all reach a device, or if their rate is set.
pub fn disk_peaks(
    machine: &Machine,
    declared: &Declared,
    storage: &Storage,
    limits: &IoLimits,
    params: &DiskParams,
) -> Vec<Peak> {
    let known = Known { machine, declared, storage, limits };
    let ceiling = |kind: PeakKind| {
        let one_way = |way| known.ceiling(kind, Request::new(params, way)?);
        match params.op {
            DiskOp::Read | DiskOp::Reread => one_way(Direction::Read),
            DiskOp::Write | DiskOp::Rewrite => one_way(Direction::Write),
            DiskOp::Mixed => half_and_half(kind, one_way(Direction::Read), one_way(Direction::Write)),
        }
    };
    let found = KINDS.into_iter().filter_map(|kind| Some((kind, ceiling(kind)?)));
    let usable = found.filter(|(_, ceiling)| ceiling.value.is_finite() && ceiling.value > 0.0);
    usable.map(|(kind, one)| peak(kind, one.value, one.with_subject(), one.inputs)).collect()
}

fn half_and_half(kind: PeakKind, read: Option<Ceiling>, write: Option<Ceiling>) -> Option<Ceiling> {
    let twice = |ceiling: Ceiling| {
        let formula = format!("2 x {}", ceiling.formula);
        Ceiling { value: 2.0 * ceiling.value, formula, ..ceiling }
    };
    if kind == PeakKind::Limit {
        return Ceiling::tighter(read, write).map(twice);
    }
    let (read, write) = (read?, write?);
    if read.both_ways && write.both_ways {
        return Ceiling::tighter(Some(read), Some(write)).map(twice);
    }
    let formula = format!("2 / (1 / ({}) + 1 / ({}))", read.formula, write.formula);
    let mut inputs = read.inputs;
    inputs.extend(write.inputs.into_iter().filter(|other| !inputs.contains(other)).collect::<Vec<_>>());
    Some(Ceiling { value: 2.0 / (1.0 / read.value + 1.0 / write.value), formula, inputs, ..write })
}

#[derive(Clone, Copy)]
struct Known<'k> {
    machine: &'k Machine,
    declared: &'k Declared,
    storage: &'k Storage,
    limits: &'k IoLimits,
}

impl Known<'_> {
    fn ceiling(self, kind: PeakKind, request: Request) -> Option<Ceiling> {
        match kind {
            PeakKind::Declared => self.declared(request),
            PeakKind::Datasheet => {
                Ceiling::tighter(self.layers(request, Asked::Sheet), self.layers(request, Asked::OneByOne))
            }
            PeakKind::Limit => self.limit(request),
            PeakKind::Link => self.layers(request, Asked::Link).map(|rate| request.by_bytes(rate)),
            _ => None,
        }
    }

    fn layers(self, request: Request, asked: Asked) -> Option<Ceiling> {
        Layers { machine: self.machine, storage: self.storage, request, asked }.all()
    }

    fn declared(self, request: Request) -> Option<Ceiling> {
        let (bytes, requests) = match request.way {
            Direction::Read => ("disk.read_bps", "disk.read_iops"),
            Direction::Write => ("disk.write_bps", "disk.write_iops"),
        };
        let ceiling = |key: &str, value: f64, shown: String| {
            Ceiling::new(value, format!("{shown} declared"), vec![input(key, value, "declared")])
        };
        let by_bytes =
            self.declared.get(bytes).map(|rate| request.by_bytes(ceiling(bytes, rate, exact_byte_rate(rate))));
        let by_requests = self.declared.get(requests).filter(|_| request.random);
        let by_requests = by_requests.map(|rate| ceiling(requests, rate, format!("{rate} requests/s")));
        Ceiling::tighter(Ceiling::tighter(by_bytes, by_requests), self.heads(request))
    }

    fn heads(self, request: Request) -> Option<Ceiling> {
        let heads = Heads {
            rotations_per_minute: self.declared.get("disk.rpm"),
            seek_seconds: self.declared.get("disk.seek_s"),
        };
        (heads != Heads::default()).then(|| self.layers(request, Asked::DeclaredHeads(heads))).flatten()
    }

    fn limit(self, request: Request) -> Option<Ceiling> {
        let limits = self.limits;
        let (bytes, requests) = match request.way {
            Direction::Read => (&limits.read_bytes_per_second, &limits.reads_per_second),
            Direction::Write => (&limits.write_bytes_per_second, &limits.writes_per_second),
        };
        let allowed = |limit: &IoLimit, name: &str, shown: String| {
            let inputs = vec![input(name, limit.value, &limit.source)];
            Ceiling::new(limit.value, format!("{shown} allowed by the control group"), inputs)
        };
        let by_bytes =
            bytes.as_ref().map(|limit| request.by_bytes(allowed(limit, "limit B/s", exact_byte_rate(limit.value))));
        // Behind the page cache the kernel chooses the request size.
        let by_requests = requests.as_ref().filter(|_| request.random || request.direct).map(|limit| {
            let ceiling = allowed(limit, "limit 1/s", format!("{} requests/s", limit.value));
            if request.random {
                return ceiling;
            }
            let formula = format!("{} x {}", ceiling.formula, format_size(request.block));
            let mut inputs = ceiling.inputs;
            inputs.push(input("block_bytes", request.block_bytes(), "the benchmark's block"));
            Ceiling::new(limit.value * request.block_bytes(), formula, inputs)
        });
        Ceiling::tighter(by_bytes, by_requests)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "values that are exact or rounded the same way")]
mod tests {
    use super::*;
    use crate::fixture::behind;
    use model::io::{DiskCache, DiskEngine, DiskPattern, DiskSync};
    use model::machine::{Disk, DiskLink};

    fn row(pattern: DiskPattern, op: DiskOp, block: u64) -> DiskParams {
        DiskParams::new(pattern, op, block, 32)
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
        let loaded = DiskParams { load_percent: Some(50), ..row(RANDOM, DiskOp::Read, 4096) };
        assert_eq!(peak(loaded), None, "set from outside");
        let mixed = DiskParams { direct: false, cache: DiskCache::Cold, ..row(SEQUENTIAL, DiskOp::Mixed, 4096) };
        assert_eq!(peak(mixed), None, "what was written may be read");
    }

    #[test]
    fn order_threads_and_depth_do_not_change_the_limit() {
        let items = ["disk.read_bps=7e9", "disk.read_iops=1e5"];
        for pattern in [SEQUENTIAL, DiskPattern::Backward, DiskPattern::Strided] {
            assert_eq!(declared_peak(&items, &row(pattern, DiskOp::Reread, 4096)).map(|peak| peak.value), Some(7e9));
        }
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
        let reads_per_second = Some(IoLimit { value: 100.0, source: "io.max".into() });
        let limits = IoLimits { reads_per_second, ..IoLimits::default() };
        let declared = Declared::parse(&["disk.read_iops=90"]).unwrap();
        let kinds = |depth: u32, threads: u32, load_percent: Option<u32>| {
            let params = DiskParams { depth, threads, load_percent, ..row(RANDOM, DiskOp::Read, 4096) };
            let found = disk_peaks(&machine, &declared, &behind(&[(0, "sda", "disk")]), &limits, &params);
            found.iter().map(|peak| peak.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(1, 1, None), KINDS);
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
        let expected = "2 x 4 GB/s (a link; with packets of 256 B 91 % is data)";
        assert_eq!(with("pcie", 4_000_000_000).formula, expected);
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
}
