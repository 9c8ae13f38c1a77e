//! What drives and the links in front of them can do, carried up through partitions, arrays and mappings to the device
//! that is mounted.
//!
//! Where it is not known how requests are spread over several devices, nothing is known: mappings of several devices,
//! file systems over several devices, and what lies below a loop device.

use model::machine::{Disk, Machine, StorageDevice};
use model::peak::PeakInput;

use crate::limits::disk::drive::{Heads, as_told, link, one_by_one, sheet};
use crate::limits::disk::request::{Direction, Figure, Request, input};

/// What is asked of each drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Asked {
    /// What passes over the link in front of it, B/s.
    Link,
    /// What its data sheet says, as the row counts.
    Sheet,
    /// What it can do with one random request at a time, 1/s; nothing where there are more. Members of an array help
    /// each other in nothing here.
    OneByOne,
    /// The same of a drive that turns, by what its owner says of it.
    AsToldOf(Heads),
}

/// The devices behind a directory, with a question.
pub(crate) struct Layers<'l> {
    pub(crate) machine: &'l Machine,
    /// Devices, each before those it is built on.
    pub(crate) chain: &'l [StorageDevice],
    pub(crate) request: Request,
    pub(crate) asked: Asked,
}

impl Layers<'_> {
    /// All of them together, as far as it is known how requests are spread over them.
    pub(crate) fn all(&self) -> Option<Figure> {
        // Below a loop device the page cache may answer.
        if self.chain.iter().any(|device| device.kind == "loop") {
            return None;
        }
        match (self.leaves().as_slice(), self.below(None).as_slice()) {
            ([one], _) => self.of_disk(one),
            (_, [top]) => self.of_device(*top),
            _ => None,
        }
    }

    /// The disks at the bottom, each once.
    fn leaves(&self) -> Vec<&str> {
        let depth = |index: usize| self.chain.get(index).map(|device| device.depth);
        let ends = self.chain.iter().enumerate().filter(|(index, device)| depth(index + 1) <= Some(device.depth));
        let mut disks: Vec<&str> = ends.filter_map(|(_, leaf)| leaf.disk.as_deref()).collect();
        disks.sort_unstable();
        disks.dedup();
        disks
    }

    /// The positions of the devices that one is built on; of those at the top for `None`.
    pub(crate) fn below(&self, index: Option<usize>) -> Vec<usize> {
        let (from, depth) = index.map_or((0, 0), |index| (index + 1, self.chain[index].depth + 1));
        let inside = (from..self.chain.len()).take_while(|other| self.chain[*other].depth >= depth);
        inside.filter(|other| self.chain[*other].depth == depth).collect()
    }

    pub(crate) fn disk(&self, name: &str) -> Option<&Disk> {
        self.machine.disks.iter().find(|disk| disk.name == name)
    }

    fn of_disk(&self, name: &str) -> Option<Figure> {
        let disk = self.disk(name)?;
        match self.asked {
            Asked::Link => link(disk),
            Asked::Sheet => sheet(disk, self.request),
            Asked::OneByOne => one_by_one(disk, self.request, self.leaves().len()),
            Asked::AsToldOf(heads) => as_told(disk, self.request, heads, self.leaves().len()),
        }
    }

    pub(crate) fn of_device(&self, index: usize) -> Option<Figure> {
        let device = &self.chain[index];
        match (self.below(Some(index)).as_slice(), device.kind.as_str()) {
            ([], _) => self.of_disk(device.disk.as_deref()?),
            (parts, "raid") => {
                let chunk = self.disk(&device.name)?.raid_chunk_bytes;
                self.of_raid(self.level(index)?, chunk.is_some_and(|chunk| chunk >= self.request.block), parts)
            }
            ([one], _) => self.of_device(*one),
            (paths, "multipath") => self.of_paths(paths),
            _ => None,
        }
    }

    /// The level of an array with all its members and no other: with spares among them it cannot be told which are in
    /// use.
    pub(crate) fn level(&self, index: usize) -> Option<&str> {
        let device = self.chain.get(index).filter(|device| device.kind == "raid")?;
        let raid = self.disk(&device.name)?;
        let members = raid.raid_members.and_then(|count| usize::try_from(count).ok());
        raid.raid_level.as_deref().filter(|_| members == Some(self.below(Some(index)).len()))
    }

    fn of_parts(&self, parts: &[usize]) -> Option<Vec<Figure>> {
        parts.iter().map(|part| self.of_device(*part)).collect()
    }

    /// Several ways to one drive: their links add up, the drive is only one.
    fn of_paths(&self, paths: &[usize]) -> Option<Figure> {
        if self.asked == Asked::Link {
            Some(sum("paths", &self.side_by_side(paths)?, 1.0))
        } else {
            self.of_device(paths[0])
        }
    }

    /// Members together, by the level of the array (md(4)). `whole` says that a request lies on one member.
    ///
    /// Writes in order are taken to fill whole stripes; those at random to write a block and its parity, for which a
    /// drive also reads what the parity is made from. Links carry that the other way, so there it does not count.
    fn of_raid(&self, level: &str, whole: bool, parts: &[usize]) -> Option<Figure> {
        let (reads, parity) = (self.request.way == Direction::Read, parity(level)?);
        if matches!(self.asked, Asked::OneByOne | Asked::AsToldOf(_)) {
            // One member is at work at a time, whichever it is; a mirror has the whole request on each.
            return most(self.of_parts(parts)?).filter(|_| whole || level == "raid1");
        }
        match level {
            "raid1" if !reads => self.mirrored(parts),
            // The file may lie on any of them.
            "linear" => most(self.of_parts(parts)?),
            _ if !reads && self.request.random && parity > 0.0 && self.asked == Asked::Sheet => {
                self.with_parity(level, whole, parts, parity)
            }
            _ => Some(sum(level, &self.side_by_side(parts)?, self.share(level, parts.len())?)),
        }
    }

    /// How much of what all members of an array carry is data; of writes at random with parity that of links alone.
    pub(crate) fn share(&self, level: &str, members: usize) -> Option<f64> {
        let (parity, count) = (parity(level)?, u32::try_from(members).map(f64::from).ok()?);
        Some(match level {
            _ if self.request.way == Direction::Read => 1.0,
            "raid10" => 0.5,
            _ if self.request.random => 1.0 / (1.0 + parity),
            _ => (count - parity) / count,
        })
    }

    /// Random writes with parity, 1/s: of each request the block and its parity are written. Within one member's
    /// piece of a stripe, either both are read before or the other members' pieces, whichever are fewer; of a larger
    /// block it is not known what is read, and nothing is counted.
    fn with_parity(&self, level: &str, whole: bool, parts: &[usize], parity: f64) -> Option<Figure> {
        let count = u32::try_from(parts.len()).map(f64::from).ok()?;
        let writes = 1.0 + parity;
        let reads = if whole { writes.min(count - writes).max(0.0) } else { 0.0 };
        let read = Layers { request: Request { way: Direction::Read, ..self.request }, ..*self };
        let written = self.of_parts(parts)?;
        let read = if reads > 0.0 { read.of_parts(parts)? } else { written.clone() };
        let of_member = |(write, read): (&Figure, &Figure)| {
            let reading = if reads > 0.0 { format!(" + {reads} / ({})", read.formula) } else { String::new() };
            let mut inputs = write.inputs.clone();
            inputs.extend(read.inputs.iter().filter(|_| reads > 0.0).cloned());
            let value = 1.0 / (writes / write.value + reads / read.value);
            let formula = format!("1 / ({writes} / ({}){reading})", write.formula);
            Figure { value, formula, inputs, ..write.clone() }
        };
        let members: Vec<Figure> = written.iter().zip(&read).map(of_member).collect();
        let mut together = sum(level, &members, 1.0);
        let source = format!("a block and its parity of {level}, by the pieces of a stripe");
        together.inputs.push(input("writes of drives for one", writes, &source));
        together.inputs.push(input("reads of drives for one", reads, &source));
        Some(together)
    }
}

/// Members whose room a level spends on parity; `None` for a level that is not known.
fn parity(level: &str) -> Option<f64> {
    match level {
        "raid0" | "raid1" | "raid10" | "linear" => Some(0.0),
        "raid4" | "raid5" => Some(1.0),
        "raid6" => Some(2.0),
        _ => None,
    }
}

fn most(parts: Vec<Figure>) -> Option<Figure> {
    parts.into_iter().max_by(|one, other| one.value.total_cmp(&other.value))
}

/// So much of all members together.
fn sum(level: &str, members: &[Figure], share: f64) -> Figure {
    let formulas: Vec<&str> = members.iter().map(|member| member.formula.as_str()).collect();
    let alike = formulas.windows(2).all(|pair| pair[0] == pair[1]) && formulas.len() > 2;
    let formula = match formulas.as_slice() {
        [one] => (*one).to_owned(),
        all if alike => format!("{} x {}", all.len(), all[0]),
        all => format!("({})", all.join(" + ")),
    };
    let formula = if share < 1.0 { format!("{formula} x {share:.3}") } else { formula };
    let mut about: Vec<&str> = members.iter().map(|member| member.about.as_str()).collect();
    about.dedup();
    let mut inputs: Vec<PeakInput> = Vec::new();
    for one in members.iter().flat_map(|member| &member.inputs) {
        if !inputs.contains(one) {
            inputs.push(one.clone());
        }
    }
    if share < 1.0 {
        inputs.push(input("share of the members", share, &format!("what {level} leaves for data, md/level")));
    }
    Figure {
        value: members.iter().map(|member| member.value).sum::<f64>() * share,
        formula,
        about: format!("{level} over {}", about.join("; ")),
        inputs,
        both_ways: members.iter().any(|member| member.both_ways),
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "figures that are exact, or rounded the same way")]
mod tests {
    use model::io::{DiskOp, DiskSync};
    use model::machine::DiskLink;

    use super::*;
    use crate::limits::disk::drive::DECLARED;

    const EVO: &str = "Samsung SSD 870 EVO 1TB";
    const PLUS: &str = "Samsung SSD 970 EVO Plus 1TB";
    const ULTRASTAR: &str = "HUS724040ALS640";
    const CONSTELLATION: &str = "ST4000NM0023";

    fn request(way: Direction, block: u64, in_flight: u64) -> Request {
        let op = if way == Direction::Read { DiskOp::Read } else { DiskOp::Write };
        Request { way, random: true, direct: true, op, sync: DiskSync::None, block, size: 1 << 30, in_flight }
    }

    fn in_order(way: Direction) -> Request {
        Request { random: false, ..request(way, 1 << 20, 8) }
    }

    /// A disk of the table, on a link of its own.
    fn drive(name: &str, model: &str, bytes: u64) -> Disk {
        Disk {
            name: name.into(),
            model: Some(model.into()),
            bytes: Some(bytes),
            is_virtual: Some(false),
            transport: Some("sata".into()),
            ..Disk::default()
        }
    }

    fn solid(name: &str) -> Disk {
        drive(name, EVO, 1_000_204_886_016)
    }

    fn turning(name: &str) -> Disk {
        drive(name, ULTRASTAR, 4_000_787_030_016)
    }

    fn figure(disks: &[Disk], chain: &[(u32, &str, &str)], request: Request, asked: Asked) -> Option<Figure> {
        let device = |(depth, name, kind): &(u32, &str, &str)| StorageDevice {
            name: (*name).into(),
            depth: *depth,
            kind: (*kind).into(),
            disk: Some((*name).into()),
            ..StorageDevice::default()
        };
        let chain: Vec<StorageDevice> = chain.iter().map(device).collect();
        let machine = Machine { disks: disks.to_vec(), ..Machine::default() };
        Layers { machine: &machine, chain: &chain, request, asked }.all()
    }

    fn of_one(disk: &Disk, request: Request, asked: Asked) -> Option<Figure> {
        figure(std::slice::from_ref(disk), &[(0, &disk.name, "disk")], request, asked)
    }

    fn value(disk: &Disk, request: Request, asked: Asked) -> Option<f64> {
        of_one(disk, request, asked).map(|figure| figure.value)
    }

    #[test]
    fn a_sheets_requests_bind_small_blocks_and_its_bytes_large_ones() {
        let disk = solid("sda");
        let small = of_one(&disk, request(Direction::Read, 4096, 32), Asked::Sheet).unwrap();
        assert_eq!((small.value, small.formula.as_str()), (98_000.0, "98000 requests/s"));
        assert_eq!(small.about, "data sheet of Samsung SSD 870 EVO 1TB");
        assert!(small.inputs[0].source.ends_with("at depth 32"), "{:?}", small.inputs);
        assert_eq!(
            value(&disk, request(Direction::Read, 512, 32), Asked::Sheet),
            Some(98_000.0),
            "no more of smaller ones"
        );
        let large = of_one(&disk, request(Direction::Read, 65_536, 32), Asked::Sheet).unwrap();
        assert_eq!((large.value, large.formula.as_str()), (560e6 / 65_536.0, "560 MB/s / 64KiB"));
        assert_eq!(value(&disk, request(Direction::Write, 4096, 32), Asked::Sheet), Some(88_000.0));
        assert_eq!(value(&disk, in_order(Direction::Write), Asked::Sheet), Some(530e6));
    }

    #[test]
    fn figures_that_limit_nothing_make_no_ceiling() {
        let filled_over_and_over = drive("nvme0n1", "INTEL SSDPE2KX020T7", 2_000_398_934_016);
        let write = of_one(&filled_over_and_over, request(Direction::Write, 4096, 32), Asked::Sheet).unwrap();
        assert_eq!(write.formula, "1.05 GB/s / 4KiB", "not the 38000 of the sheet");
        assert_eq!(value(&filled_over_and_over, request(Direction::Read, 4096, 32), Asked::Sheet), Some(490_000.0));
        let plus = drive("nvme0n1", PLUS, 1_000_204_886_016);
        assert_eq!(value(&plus, request(Direction::Read, 4096, 1), Asked::OneByOne), Some(19_000.0));
        assert_eq!(value(&plus, request(Direction::Read, 4096, 2), Asked::OneByOne), None);
        assert_eq!(value(&plus, request(Direction::Write, 4096, 1), Asked::OneByOne), None);
    }

    #[test]
    fn a_drive_of_no_sheet_or_of_a_hypervisor_has_none() {
        let unknown = drive("sda", "A drive", 1_000_204_886_016);
        assert_eq!(value(&unknown, in_order(Direction::Read), Asked::Sheet), None);
        let made_up = Disk { is_virtual: Some(true), ..solid("sda") };
        assert_eq!(value(&made_up, in_order(Direction::Read), Asked::Sheet), None);
        let passed_through = Disk { is_virtual: None, ..solid("sda") };
        assert_eq!(value(&passed_through, in_order(Direction::Read), Asked::Sheet), Some(560e6));
    }

    #[test]
    fn heads_and_rotation_bind_one_request_at_a_time() {
        let disk = turning("sda");
        let whole = Request { size: 4_000_787_030_016, ..request(Direction::Read, 4096, 1) };
        let figure = of_one(&disk, whole, Asked::OneByOne).unwrap();
        // 8.2 ms + 60 s / 7200 / 2
        assert!((figure.value - 1.0 / (0.0082 + 1.0 / 240.0)).abs() < 1e-9, "{}", figure.value);
        assert_eq!(figure.formula, "1 / (8.2 ms seek x 1.00 + 4.167 ms half a rotation)");
        assert_eq!(figure.about, "one at a time, over the whole disk 81 requests/s");
        let short = of_one(&disk, Request { size: 40_007_870_300, ..whole }, Asked::OneByOne).unwrap();
        assert!(short.value > 230.0 && short.value < 240.0, "a short way for the heads: {}", short.value);
        assert!(short.formula.contains("seek x 0.01"), "{}", short.formula);
        assert!(short.about.contains("over the whole disk 81"), "{}", short.about);
        assert_eq!(value(&disk, request(Direction::Read, 4096, 32), Asked::OneByOne), None, "the drive orders them");
        assert_eq!(value(&disk, request(Direction::Read, 4096, 32), Asked::Sheet), None);
    }

    #[test]
    fn a_disk_of_no_sheet_still_turns() {
        let disk = Disk { rotations_per_minute: Some(5400), ..drive("sda", "A drive", 4_000_787_030_016) };
        let figure = of_one(&disk, request(Direction::Read, 4096, 1), Asked::OneByOne).unwrap();
        assert_eq!(figure.formula, "1 / (5.556 ms half a rotation)");
        assert!(figure.inputs[0].source.contains("the drive itself"));
        let controller = Disk { transport: None, ..disk.clone() };
        assert_eq!(
            value(&controller, request(Direction::Read, 4096, 1), Asked::OneByOne),
            None,
            "an array in hardware"
        );
        let listed = drive("sda", CONSTELLATION, 4_000_787_030_016);
        let figure = of_one(&listed, request(Direction::Read, 1 << 20, 1), Asked::OneByOne).unwrap();
        assert_eq!(figure.formula, "1 / (4.167 ms half a rotation + 5.992 ms for 1MiB)");
        assert_eq!(value(&listed, in_order(Direction::Read), Asked::Sheet), Some(175e6));
        assert_eq!(
            value(&listed, Request { op: DiskOp::Reread, ..in_order(Direction::Read) }, Asked::Sheet),
            None,
            "its memory"
        );
    }

    #[test]
    fn figures_that_nobody_checked_bind_nothing() {
        let unchecked = drive("sda", "WDC WD40EFRX-68N32N0", 4_000_787_030_016);
        for asked in [Asked::Sheet, Asked::OneByOne] {
            assert_eq!(value(&unchecked, in_order(Direction::Read), asked), None);
            assert_eq!(value(&unchecked, request(Direction::Read, 4096, 1), asked), None, "nor how fast it turns");
        }
        let turns = Disk { rotations_per_minute: Some(5400), ..unchecked };
        let figure = of_one(&turns, request(Direction::Read, 1 << 20, 1), Asked::OneByOne).unwrap();
        assert_eq!(figure.formula, "1 / (5.556 ms half a rotation)", "its own word, without the table's rate");
        let told = Asked::AsToldOf(Heads { rotations_per_minute: None, seek_seconds: Some(9e-3) });
        let figure = of_one(&turns, request(Direction::Read, 1 << 20, 1), told).unwrap();
        assert!(!figure.formula.contains("1MiB") && figure.formula.contains("9 ms seek"), "{}", figure.formula);
        let solid = drive("nvme0n1", "SAMSUNG MZQL23T8HCLS-00A07", 3_840_755_982_336);
        assert_eq!(value(&solid, request(Direction::Read, 4096, 32), Asked::Sheet), None);
    }

    #[test]
    fn an_owner_says_how_fast_a_disk_turns_and_seeks() {
        let asked = |rotations_per_minute, seek_seconds| Asked::AsToldOf(Heads { rotations_per_minute, seek_seconds });
        let whole = Request { size: 4_000_787_030_016, ..request(Direction::Read, 4096, 1) };
        let silent = Disk { is_virtual: Some(true), ..drive("sda", "A drive", 4_000_787_030_016) };
        let formula = |disk: &Disk, asked| of_one(disk, whole, asked).map(|figure| figure.formula);
        let all = "1 / (9 ms seek x 1.00 + 4.167 ms half a rotation)";
        assert_eq!(formula(&silent, asked(Some(7200.0), Some(9e-3))).as_deref(), Some(all));
        assert_eq!(formula(&silent, asked(None, Some(9e-3))), None, "nobody says how fast it turns");
        let turns = Disk { rotations_per_minute: Some(7200), is_virtual: Some(false), ..silent.clone() };
        let figure = of_one(&turns, whole, asked(None, Some(9e-3))).unwrap();
        assert_eq!(figure.formula, all);
        let sources: Vec<&str> = figure.inputs.iter().map(|input| input.source.as_str()).collect();
        assert!(sources[0].contains("the drive itself") && sources[1] == DECLARED, "{sources:?}");
        // The seek of the sheet stays where only the rotation was said.
        let listed = formula(&turning("sda"), asked(Some(5400.0), None));
        assert_eq!(listed.as_deref(), Some("1 / (8.2 ms seek x 1.00 + 5.556 ms half a rotation)"));
        let many = Request { in_flight: 32, ..whole };
        assert_eq!(of_one(&silent, many, asked(Some(7200.0), Some(9e-3))), None, "the drive orders them");
    }

    #[test]
    fn writes_wait_for_the_heads_only_where_they_must() {
        let rate = |cache: &str, sync: DiskSync| {
            let disk = Disk { write_cache: Some(cache.into()), ..turning("sda") };
            value(&disk, Request { sync, ..request(Direction::Write, 4096, 1) }, Asked::OneByOne).is_some()
        };
        assert!(rate("write through", DiskSync::None) && rate("write back", DiskSync::Dsync));
        assert!(!rate("write back", DiskSync::None));
        let listed = drive("sda", CONSTELLATION, 4_000_787_030_016);
        assert_eq!(
            value(&listed, request(Direction::Write, 4096, 1), Asked::Sheet),
            None,
            "not so many as fit in order"
        );
    }

    /// An array of so many solid drives.
    fn array(level: &str, members: u32, chunk: u64) -> (Vec<Disk>, Vec<(u32, &'static str, &'static str)>) {
        let names = ["sda", "sdb", "sdc", "sdd"];
        let names = &names[..members as usize];
        let mut disks: Vec<Disk> = names.iter().map(|name| solid(name)).collect();
        disks.push(Disk {
            name: "md0".into(),
            raid_level: Some(level.into()),
            raid_members: Some(members),
            raid_chunk_bytes: Some(chunk),
            ..Disk::default()
        });
        let chain = std::iter::once((0, "md0", "raid")).chain(names.iter().map(|name| (1, *name, "disk"))).collect();
        (disks, chain)
    }

    fn of_array(level: &str, members: u32, request: Request) -> Option<Figure> {
        let (disks, chain) = array(level, members, 512 << 10);
        figure(&disks, &chain, request, Asked::Sheet)
    }

    #[test]
    fn sheets_add_up_as_the_level_says() {
        let rate = |level: &str, way| of_array(level, 4, in_order(way)).map(|figure| figure.value / 1e6);
        assert_eq!((rate("raid0", Direction::Read), rate("raid0", Direction::Write)), (Some(2240.0), Some(2120.0)));
        assert_eq!((rate("raid1", Direction::Read), rate("raid1", Direction::Write)), (Some(2240.0), Some(530.0)));
        assert_eq!((rate("raid10", Direction::Read), rate("raid10", Direction::Write)), (Some(2240.0), Some(1060.0)));
        assert_eq!((rate("raid5", Direction::Read), rate("raid5", Direction::Write)), (Some(2240.0), Some(1590.0)));
        assert_eq!((rate("raid6", Direction::Read), rate("raid6", Direction::Write)), (Some(2240.0), Some(1060.0)));
        assert_eq!((rate("linear", Direction::Read), rate("linear", Direction::Write)), (Some(560.0), Some(530.0)));
        assert_eq!(rate("container", Direction::Read), None);
        let five = of_array("raid5", 4, in_order(Direction::Write)).unwrap();
        assert_eq!(five.formula, "4 x 530 MB/s x 0.750");
        assert_eq!(five.about, "raid5 over data sheet of Samsung SSD 870 EVO 1TB");
    }

    #[test]
    fn small_writes_pay_for_their_parity() {
        let rate =
            |level: &str, members, block| of_array(level, members, request(Direction::Write, block, 32)).unwrap();
        // Two writes of 88,000/s and two reads of 98,000/s for each, spread over four drives.
        let five = rate("raid5", 4, 4096);
        assert!((five.value - 4.0 / (2.0 / 88e3 + 2.0 / 98e3)).abs() < 1e-6, "{}", five.value);
        assert_eq!(five.formula, "4 x 1 / (2 / (88000 requests/s) + 2 / (98000 requests/s))");
        // Of three drives the third is read, rather than two.
        let three = rate("raid5", 3, 4096);
        assert!((three.value - 3.0 / (2.0 / 88e3 + 1.0 / 98e3)).abs() < 1e-6, "{}", three.value);
        let six = rate("raid6", 4, 4096);
        assert!((six.value - 4.0 / (3.0 / 88e3 + 1.0 / 98e3)).abs() < 1e-6, "{}", six.value);
        let large = rate("raid5", 4, 1 << 20);
        assert!(!large.formula.contains("560"), "nothing is known to be read: {}", large.formula);
        assert!(five.inputs.iter().any(|input| input.name.starts_with("reads of drives") && input.value == 2.0));
    }

    #[test]
    fn members_do_not_help_one_request_at_a_time() {
        let (mut disks, chain) = array("raid0", 2, 64 << 10);
        for disk in &mut disks[..2] {
            *disk = turning(&disk.name);
        }
        let one = request(Direction::Read, 4096, 1);
        let alone = value(&turning("sda"), Request { size: one.size / 2, ..one }, Asked::OneByOne);
        assert_eq!(figure(&disks, &chain, one, Asked::OneByOne).map(|figure| figure.value), alone);
        let across = Request { block: 128 << 10, ..one };
        assert_eq!(figure(&disks, &chain, across, Asked::OneByOne), None, "one request on both");
    }

    #[test]
    fn several_paths_lead_to_one_drive() {
        let chain = [(0, "dm-0", "multipath"), (1, "sda", "disk"), (1, "sdb", "disk")];
        let disks = [solid("sda"), solid("sdb")].map(|disk| {
            let link = DiskLink { bytes_per_second: 1_200_000_000, kind: "sas".into(), ..DiskLink::default() };
            Disk { link: Some(link), ..disk }
        });
        let of = |asked| figure(&disks, &chain, in_order(Direction::Read), asked).unwrap();
        assert_eq!((of(Asked::Link).value, of(Asked::Link).both_ways), (2.4e9, true));
        assert_eq!(of(Asked::Sheet).value, 560e6);
        let unknown = [(0, "dm-0", "mapper"), (1, "sda", "disk"), (1, "sdb", "disk")];
        assert_eq!(figure(&disks, &unknown, in_order(Direction::Read), Asked::Sheet), None);
    }
}
