//! What a disk row could reach at best: as declared, by the links in front of the disks, by the limits of control
//! groups.
//!
//! In the unit of the metric that heads the row: 1/s for random requests, B/s for all others. Where nothing is known
//! there is no peak; a figure for reads never serves for writes.

use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskOp, DiskPattern, DiskSync};
use model::machine::{Disk, Machine, Storage, StorageDevice};
use model::peak::{Peak, PeakInput, PeakKind};
use model::unit::format_size;

use crate::declared::Declared;
use crate::throttle::{IoLimit, IoLimits};

/// The peaks of a disk row; none where its requests do not all reach a device, or go both ways.
pub fn disk_peaks(
    machine: &Machine,
    declared: &Declared,
    storage: &Storage,
    limits: &IoLimits,
    params: &DiskParams,
) -> Vec<Peak> {
    let Some(request) = Request::of(params) else { return Vec::new() };
    let peaks = [request.declared(declared), request.link(machine, storage), request.limit(limits)];
    peaks.into_iter().flatten().collect()
}

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Read,
    Write,
}

/// What peaks need to know of a row.
#[derive(Clone, Copy, Debug)]
struct Request {
    way: Way,
    /// Whether the row is headed by requests per second.
    random: bool,
    /// Whether each request reaches the device as it is, past the page cache.
    direct: bool,
    /// B.
    block: u64,
}

/// A figure in the row's unit, before the least of its kind is chosen.
struct Candidate {
    value: f64,
    formula: String,
    inputs: Vec<PeakInput>,
}

impl Request {
    fn of(params: &DiskParams) -> Option<Self> {
        let way = match params.op {
            DiskOp::Read | DiskOp::Reread => Way::Read,
            DiskOp::Write | DiskOp::Rewrite => Way::Write,
            // How much of a link or of a declared rate a mix may use is not known.
            DiskOp::Mixed => return None,
        };
        let random = params.pattern == DiskPattern::Random;
        let direct = params.direct && params.cache == DiskCache::Bypassed;
        let reaches_device = match way {
            // The page cache answers what was read before.
            Way::Read => direct || (params.cache == DiskCache::Cold && !random && params.op == DiskOp::Read),
            Way::Write => direct || params.sync != DiskSync::None,
        };
        let real = params.engine != DiskEngine::Null && params.block > 0;
        (real && reaches_device).then_some(Self { way, random, direct, block: params.block })
    }

    #[expect(clippy::cast_precision_loss, reason = "blocks are far below 2^53 B")]
    fn block_bytes(self) -> f64 {
        self.block as f64
    }

    /// A rate in B/s as the row counts.
    fn by_bytes(self, rate: f64, formula: &str, inputs: Vec<PeakInput>) -> Candidate {
        if !self.random {
            return Candidate { value: rate, formula: formula.to_owned(), inputs };
        }
        let mut inputs = inputs;
        inputs.push(input("block_bytes", self.block_bytes(), "the row's block"));
        let formula = format!("{formula} / {}", format_size(self.block));
        Candidate { value: rate / self.block_bytes(), formula, inputs }
    }

    fn declared(self, declared: &Declared) -> Option<Peak> {
        let (bytes, requests) = match self.way {
            Way::Read => ("disk.read_bps", "disk.read_iops"),
            Way::Write => ("disk.write_bps", "disk.write_iops"),
        };
        let by_bytes = declared.get(bytes).map(|rate| {
            self.by_bytes(rate, &format!("{} declared", bytes_rate(rate)), vec![input(bytes, rate, "declared")])
        });
        let by_requests = declared.get(requests).filter(|_| self.random).map(|rate| Candidate {
            value: rate,
            formula: format!("{rate} requests/s declared"),
            inputs: vec![input(requests, rate, "declared")],
        });
        least(PeakKind::Declared, [by_bytes, by_requests])
    }

    fn link(self, machine: &Machine, storage: &Storage) -> Option<Peak> {
        let pipe = Pipes { machine, chain: &storage.chain, request: self }.all()?;
        let passes = self.by_bytes(pipe.rate, &pipe.formula, pipe.inputs);
        let formula = format!("{} ({})", passes.formula, pipe.about);
        least(PeakKind::Link, [Some(Candidate { formula, ..passes }), None])
    }

    fn limit(self, limits: &IoLimits) -> Option<Peak> {
        let (bytes, requests) = match self.way {
            Way::Read => (&limits.read_bytes_per_second, &limits.reads_per_second),
            Way::Write => (&limits.write_bytes_per_second, &limits.writes_per_second),
        };
        let limited = |limit: &IoLimit, name: &str| vec![input(name, limit.value, &limit.source)];
        let by_bytes = bytes.as_ref().map(|limit| {
            let formula = format!("{} allowed by the control group", bytes_rate(limit.value));
            self.by_bytes(limit.value, &formula, limited(limit, "limit B/s"))
        });
        // Behind the page cache the kernel makes requests of its own size.
        let by_requests = requests.as_ref().filter(|_| self.random || self.direct).map(|limit| {
            let formula = format!("{} requests/s allowed by the control group", limit.value);
            let inputs = limited(limit, "limit 1/s");
            if self.random {
                return Candidate { value: limit.value, formula, inputs };
            }
            let formula = format!("{formula} x {}", format_size(self.block));
            let mut inputs = inputs;
            inputs.push(input("block_bytes", self.block_bytes(), "the row's block"));
            Candidate { value: limit.value * self.block_bytes(), formula, inputs }
        });
        least(PeakKind::Limit, [by_bytes, by_requests])
    }
}

fn input(name: &str, value: f64, source: &str) -> PeakInput {
    PeakInput { name: name.to_owned(), value, source: source.to_owned() }
}

/// The tightest candidate as a peak.
fn least(kind: PeakKind, candidates: [Option<Candidate>; 2]) -> Option<Peak> {
    let usable = candidates.into_iter().flatten().filter(|one| one.value.is_finite() && one.value > 0.0);
    let Candidate { value, formula, inputs } = usable.min_by(|one, other| one.value.total_cmp(&other.value))?;
    Some(Peak { kind, value, formula, inputs, uncertainty: None })
}

/// A rate for a formula: `7.88 GB/s`.
pub(crate) fn bytes_rate(rate: f64) -> String {
    let (value, unit) = match rate {
        1e9.. => (rate / 1e9, "GB/s"),
        1e6.. => (rate / 1e6, "MB/s"),
        _ => (rate, "B/s"),
    };
    let shown = format!("{value:.3}");
    format!("{} {unit}", shown.trim_end_matches('0').trim_end_matches('.'))
}

/// What the links below some device let through, B/s.
#[derive(Clone, Debug, PartialEq)]
struct Pipe {
    rate: f64,
    formula: String,
    /// What the links are.
    about: String,
    inputs: Vec<PeakInput>,
}

/// The links behind a directory.
struct Pipes<'p> {
    machine: &'p Machine,
    /// Devices, each before those it is built on.
    chain: &'p [StorageDevice],
    request: Request,
}

impl Pipes<'_> {
    /// All of them together, as far as it is known how requests are spread over them.
    fn all(&self) -> Option<Pipe> {
        // Below a loop device the page cache may answer.
        if self.chain.iter().any(|device| device.kind == "loop") {
            return None;
        }
        let mut disks: Vec<&str> = self.leaves().filter_map(|leaf| leaf.disk.as_deref()).collect();
        disks.sort_unstable();
        disks.dedup();
        match (disks.as_slice(), self.below(None).as_slice()) {
            ([one], _) => self.of_disk(one),
            (_, [top]) => self.of_device(*top),
            _ => None,
        }
    }

    fn leaves(&self) -> impl Iterator<Item = &StorageDevice> {
        let depth = |index: usize| self.chain.get(index).map(|device| device.depth);
        self.chain
            .iter()
            .enumerate()
            .filter(move |(index, device)| depth(index + 1) <= Some(device.depth))
            .map(|it| it.1)
    }

    /// The positions of the devices that one is built on; of those at the top for `None`.
    fn below(&self, index: Option<usize>) -> Vec<usize> {
        let (from, depth) = index.map_or((0, 0), |index| (index + 1, self.chain[index].depth + 1));
        let inside = (from..self.chain.len()).take_while(|other| self.chain[*other].depth >= depth);
        inside.filter(|other| self.chain[*other].depth == depth).collect()
    }

    fn disk(&self, name: &str) -> Option<&Disk> {
        self.machine.disks.iter().find(|disk| disk.name == name)
    }

    fn of_disk(&self, name: &str) -> Option<Pipe> {
        let link = self.disk(name)?.link.as_ref()?;
        #[expect(clippy::cast_precision_loss, reason = "no link carries 2^53 B/s")]
        let rate = link.bytes_per_second as f64;
        let inputs = vec![input(&format!("link B/s ({name})"), rate, &link.source)];
        Some(Pipe { rate, formula: bytes_rate(rate), about: link.detail.clone(), inputs })
    }

    fn of_device(&self, index: usize) -> Option<Pipe> {
        let device = &self.chain[index];
        let below = self.below(Some(index));
        match below.as_slice() {
            [] => self.of_disk(device.disk.as_deref()?),
            parts if device.kind == "raid" => {
                let raid = self.disk(&device.name)?;
                // With spares among them it cannot be told which are in use.
                let complete = raid.raid_members.and_then(|count| usize::try_from(count).ok()) == Some(parts.len());
                let members: Option<Vec<Pipe>> = parts.iter().map(|part| self.of_device(*part)).collect();
                self.of_raid(raid.raid_level.as_deref().filter(|_| complete)?, &members?)
            }
            [one] => self.of_device(*one),
            _ => None,
        }
    }

    /// Members together, by the level of the array (md(4)). Writes of whole stripes are assumed for one after the other;
    /// for writes at random that each block is written with its parity. What has to be read for the parity is not
    /// counted: links carry both ways at once.
    fn of_raid(&self, level: &str, members: &[Pipe]) -> Option<Pipe> {
        let count = u32::try_from(members.len()).map(f64::from).ok()?;
        let reads = self.request.way == Way::Read;
        let striped = |parity: f64| if self.request.random { 1.0 / (1.0 + parity) } else { (count - parity) / count };
        let share = match level {
            "raid0" => 1.0,
            "raid1" | "raid4" | "raid5" | "raid6" | "raid10" if reads => 1.0,
            "raid10" => 0.5,
            "raid4" | "raid5" => striped(1.0),
            "raid6" => striped(2.0),
            "raid1" => return members.iter().min_by(|one, other| one.rate.total_cmp(&other.rate)).cloned(),
            // The file may lie on any of them.
            "linear" => return members.iter().max_by(|one, other| one.rate.total_cmp(&other.rate)).cloned(),
            _ => return None,
        };
        let sum: Vec<&str> = members.iter().map(|member| member.formula.as_str()).collect();
        let mut about: Vec<&str> = members.iter().map(|member| member.about.as_str()).collect();
        about.dedup();
        let about = format!("{level} over {}", about.join("; "));
        let formula = format!("({})", sum.join(" + "));
        let formula = if share < 1.0 { format!("{formula} x {share:.3}") } else { formula };
        let mut inputs: Vec<PeakInput> = members.iter().flat_map(|member| member.inputs.clone()).collect();
        if share < 1.0 {
            inputs.push(input("share of the links", share, &format!("what {level} leaves for data, md/level")));
        }
        let rate = members.iter().map(|member| member.rate).sum::<f64>() * share;
        Some(Pipe { rate, formula, about, inputs })
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "figures that are exact, or rounded the same way")]
mod tests {
    use super::*;
    use model::io::DiskLayout;
    use model::machine::DiskLink;

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
        assert_eq!(peak(row(SEQUENTIAL, DiskOp::Mixed, 4096)), None);
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
        let cold = DiskParams { direct: false, cache: DiskCache::Cold, ..row(SEQUENTIAL, DiskOp::Read, 4096) };
        assert_eq!(peak(&cold).map(|peak| peak.value), Some(1e6), "read-ahead makes larger requests");
    }

    #[test]
    fn rates_are_written_with_three_places_at_most() {
        assert_eq!([7e9, 7.8765e9, 6e8, 512.0].map(bytes_rate), ["7 GB/s", "7.877 GB/s", "600 MB/s", "512 B/s"]);
    }
}
