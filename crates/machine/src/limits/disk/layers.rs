//! The limits of drives and their links, combined through partitions, arrays and mappings; unknown where requests
//! spread over several devices in an unknown way, and below a loop device.

use model::machine::{Disk, Machine, Storage};
use model::peak::PeakInput;

use crate::limits::disk::drive::{Heads, declared_heads, link, one_by_one, sheet};
use crate::limits::disk::request::{Ceiling, Direction, Request};
use crate::limits::input;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Asked {
    Link,
    Sheet,
    /// Random requests at queue depth 1, 1/s. Members of an array do not speed this up.
    OneByOne,
    DeclaredHeads(Heads),
}

pub(crate) struct Layers<'l> {
    pub(crate) machine: &'l Machine,
    /// Each device is listed before those it is built on.
    pub(crate) storage: &'l Storage,
    pub(crate) request: Request,
    pub(crate) asked: Asked,
}

impl Layers<'_> {
    pub(crate) fn all(&self) -> Option<Ceiling> {
        // The page cache may answer below a loop device.
        if self.storage.chain.iter().any(|device| device.kind == "loop") {
            return None;
        }
        match (self.storage.disks().as_slice(), self.below(None).as_slice()) {
            ([one], _) => self.disk_ceiling(one),
            (_, [top]) => self.device_ceiling(*top),
            _ => None,
        }
    }

    /// The positions of the devices directly below one, or of the top devices for `None`.
    pub(crate) fn below(&self, index: Option<usize>) -> Vec<usize> {
        let (from, depth) = index.map_or((0, 0), |index| (index + 1, self.storage.chain[index].depth + 1));
        let inside = (from..self.storage.chain.len()).take_while(|other| self.storage.chain[*other].depth >= depth);
        inside.filter(|other| self.storage.chain[*other].depth == depth).collect()
    }

    pub(crate) fn disk(&self, name: &str) -> Option<&Disk> {
        self.machine.disks.iter().find(|disk| disk.name == name)
    }

    fn disk_ceiling(&self, name: &str) -> Option<Ceiling> {
        let disk = self.disk(name)?;
        match self.asked {
            Asked::Link => link(disk),
            Asked::Sheet => sheet(disk, self.request),
            Asked::OneByOne => one_by_one(disk, self.request, self.storage.disks().len()),
            Asked::DeclaredHeads(heads) => declared_heads(disk, self.request, heads, self.storage.disks().len()),
        }
    }

    pub(crate) fn device_ceiling(&self, index: usize) -> Option<Ceiling> {
        let device = &self.storage.chain[index];
        match (self.below(Some(index)).as_slice(), device.kind.as_str()) {
            ([], _) => self.disk_ceiling(device.disk.as_deref()?),
            (parts, "raid") => {
                let chunk = self.disk(&device.name)?.raid_chunk_bytes;
                self.raid_ceiling(self.level(index)?, chunk.is_some_and(|chunk| chunk >= self.request.block), parts)
            }
            ([one], _) => self.device_ceiling(*one),
            (paths, "multipath") => self.multipath_ceiling(paths),
            _ => None,
        }
    }

    /// The level of an array with all its members and no spare: with spares the members in use are unknown.
    pub(crate) fn level(&self, index: usize) -> Option<&str> {
        let device = self.storage.chain.get(index).filter(|device| device.kind == "raid")?;
        let raid = self.disk(&device.name)?;
        let members = raid.raid_members.and_then(|count| usize::try_from(count).ok());
        raid.raid_level.as_deref().filter(|_| members == Some(self.below(Some(index)).len()))
    }

    pub(crate) fn part_ceilings(&self, parts: &[usize]) -> Option<Vec<Ceiling>> {
        parts.iter().map(|part| self.device_ceiling(*part)).collect()
    }

    /// Several paths to one drive: their links add up, the drive does not.
    fn multipath_ceiling(&self, paths: &[usize]) -> Option<Ceiling> {
        if self.asked == Asked::Link {
            Some(sum("paths", &self.side_by_side(paths)?, 1.0))
        } else {
            self.device_ceiling(paths[0])
        }
    }

    /// Members together, by RAID level (md(4)); `whole`: one member holds a request. Sequential writes fill whole stripes.
    /// A random write writes block and parity and reads first what the parity is computed from, which links do not count.
    fn raid_ceiling(&self, level: &str, whole: bool, parts: &[usize]) -> Option<Ceiling> {
        let (reads, parity) = (self.request.way == Direction::Read, parity(level)?);
        if matches!(self.asked, Asked::OneByOne | Asked::DeclaredHeads(_)) {
            // One member works at a time; a mirror has the whole request on each member.
            return most(self.part_ceilings(parts)?).filter(|_| whole || level == "raid1");
        }
        match level {
            "raid1" if !reads => self.mirrored(parts),
            // The file may be on any member.
            "linear" => most(self.part_ceilings(parts)?),
            _ if !reads && self.request.random && parity > 0.0 && self.asked == Asked::Sheet => {
                self.with_parity(level, whole, parts, parity)
            }
            _ => Some(sum(level, &self.side_by_side(parts)?, self.share(level, parts.len())?)),
        }
    }

    pub(crate) fn share(&self, level: &str, members: usize) -> Option<f64> {
        let (parity, count) = (parity(level)?, u32::try_from(members).map(f64::from).ok()?);
        Some(match level {
            _ if self.request.way == Direction::Read => 1.0,
            "raid10" => 0.5,
            _ if self.request.random => 1.0 / (1.0 + parity),
            _ => (count - parity) / count,
        })
    }

    /// Random writes with parity, 1/s: in one chunk the fewer of block and parity or the others is read first.
    fn with_parity(&self, level: &str, whole: bool, parts: &[usize], parity: f64) -> Option<Ceiling> {
        let count = u32::try_from(parts.len()).map(f64::from).ok()?;
        let writes = 1.0 + parity;
        let reads = if whole { writes.min(count - writes).max(0.0) } else { 0.0 };
        let read = Layers { request: Request { way: Direction::Read, ..self.request }, ..*self };
        let written = self.part_ceilings(parts)?;
        let read = if reads > 0.0 { read.part_ceilings(parts)? } else { written.clone() };
        let of_member = |(write, read): (&Ceiling, &Ceiling)| {
            let reading = if reads > 0.0 { format!(" + {reads} / ({})", read.formula) } else { String::new() };
            let mut inputs = write.inputs.clone();
            inputs.extend(read.inputs.iter().filter(|_| reads > 0.0).cloned());
            let value = 1.0 / (writes / write.value + reads / read.value);
            let formula = format!("1 / ({writes} / ({}){reading})", write.formula);
            Ceiling { value, formula, inputs, ..write.clone() }
        };
        let members: Vec<Ceiling> = written.iter().zip(&read).map(of_member).collect();
        let mut together = sum(level, &members, 1.0);
        let source = format!("a block and its parity of {level}, by the pieces of a stripe");
        together.inputs.push(input("writes of drives for one", writes, &source));
        together.inputs.push(input("reads of drives for one", reads, &source));
        Some(together)
    }
}

/// Members that a level uses for parity; `None` for an unknown level.
fn parity(level: &str) -> Option<f64> {
    match level {
        "raid0" | "raid1" | "raid10" | "linear" => Some(0.0),
        "raid4" | "raid5" => Some(1.0),
        "raid6" => Some(2.0),
        _ => None,
    }
}

fn most(parts: Vec<Ceiling>) -> Option<Ceiling> {
    parts.into_iter().max_by(|one, other| one.value.total_cmp(&other.value))
}

fn sum(level: &str, members: &[Ceiling], share: f64) -> Ceiling {
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
    Ceiling {
        value: members.iter().map(|member| member.value).sum::<f64>() * share,
        formula,
        about: format!("{level} over {}", about.join("; ")),
        inputs,
        both_ways: members.iter().any(|member| member.both_ways),
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "values that are exact or rounded the same way")]
mod tests {
    use model::io::{DiskOp, DiskSync};
    use model::machine::DiskLink;

    use super::*;
    use crate::fixture::behind;
    use crate::limits::disk::drive::DECLARED;
    use Asked::{OneByOne, Sheet};
    use Direction::{Read, Write};

    const PLUS: &str = "Samsung SSD 970 EVO Plus 1TB";
    const CONSTELLATION: &str = "ST4000NM0023";
    const TERABYTE: u64 = 1_000_204_886_016;
    const FOUR_TERABYTES: u64 = 4_000_787_030_016;

    fn request(way: Direction, block: u64, in_flight: u64) -> Request {
        let op = if way == Read { DiskOp::Read } else { DiskOp::Write };
        Request { way, random: true, direct: true, op, sync: DiskSync::None, block, size: 1 << 30, in_flight }
    }

    fn in_order(way: Direction) -> Request {
        Request { random: false, ..request(way, 1 << 20, 8) }
    }

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
        drive(name, "Samsung SSD 870 EVO 1TB", TERABYTE)
    }

    fn turning(name: &str) -> Disk {
        drive(name, "HUS724040ALS640", FOUR_TERABYTES)
    }

    fn ceiling(disks: &[Disk], chain: &[(u32, &str, &str)], request: Request, asked: Asked) -> Option<Ceiling> {
        let machine = Machine { disks: disks.to_vec(), ..Machine::default() };
        Layers { machine: &machine, storage: &behind(chain), request, asked }.all()
    }

    fn of_one(disk: &Disk, request: Request, asked: Asked) -> Option<Ceiling> {
        ceiling(std::slice::from_ref(disk), &[(0, &disk.name, "disk")], request, asked)
    }

    fn value(disk: &Disk, request: Request, asked: Asked) -> Option<f64> {
        of_one(disk, request, asked).map(|ceiling| ceiling.value)
    }

    #[test]
    fn a_sheets_requests_bind_small_blocks_and_its_bytes_large_ones() {
        let disk = solid("sda");
        let small = of_one(&disk, request(Read, 4096, 32), Sheet).unwrap();
        assert_eq!((small.value, small.formula.as_str()), (98_000.0, "98000 requests/s"));
        assert_eq!(small.about, "data sheet of Samsung SSD 870 EVO 1TB");
        assert!(small.inputs[0].source.ends_with("at depth 32"), "{:?}", small.inputs);
        assert_eq!(value(&disk, request(Read, 512, 32), Sheet), Some(98_000.0), "no more of smaller ones");
        let large = of_one(&disk, request(Read, 65_536, 32), Sheet).unwrap();
        assert_eq!((large.value, large.formula.as_str()), (560e6 / 65_536.0, "560 MB/s / 64KiB"));
        assert_eq!(value(&disk, request(Write, 4096, 32), Sheet), Some(88_000.0));
        assert_eq!(value(&disk, in_order(Write), Sheet), Some(530e6));
    }

    #[test]
    fn a_sheet_without_requests_or_without_rates_limits_only_the_other() {
        let rates = drive("nvme0n1", "WDS100T3X0C-00SJG0", TERABYTE);
        assert_eq!(value(&rates, in_order(Read), Sheet), Some(3.47e9));
        assert_eq!(value(&rates, request(Read, 4096, 32), Sheet), None);
        let requests = drive("nvme0n1", "SAMSUNG MZQLB1T9HAJR-00007", 1_920_383_410_176);
        assert_eq!(value(&requests, in_order(Read), Sheet), None);
        assert_eq!(value(&requests, request(Read, 4096, 32), Sheet), Some(540_000.0));
    }

    #[test]
    fn values_that_drives_exceed_or_that_are_unchecked_are_no_limit() {
        let filled_over_and_over = drive("nvme0n1", "INTEL SSDPE2KX020T7", 2_000_398_934_016);
        let write = of_one(&filled_over_and_over, request(Write, 4096, 32), Sheet).unwrap();
        assert_eq!(write.formula, "1.05 GB/s / 4KiB", "not the 38000 of the sheet");
        assert_eq!(value(&filled_over_and_over, request(Read, 4096, 32), Sheet), Some(490_000.0));
        let plus = drive("nvme0n1", PLUS, TERABYTE);
        assert_eq!(value(&plus, request(Read, 4096, 1), OneByOne), Some(19_000.0));
        assert_eq!(value(&plus, request(Read, 4096, 2), OneByOne), None);
        assert_eq!(value(&plus, request(Write, 4096, 1), OneByOne), None);
        let unchecked = drive("sda", "WDC WD40EFRX-68N32N0", FOUR_TERABYTES);
        for asked in [Sheet, OneByOne] {
            assert_eq!(value(&unchecked, in_order(Read), asked), None);
            assert_eq!(value(&unchecked, request(Read, 4096, 1), asked), None, "nor how fast it turns");
        }
        let turns = Disk { rotations_per_minute: Some(5400), ..unchecked };
        let ceiling = of_one(&turns, request(Read, 1 << 20, 1), OneByOne).unwrap();
        assert_eq!(ceiling.formula, "1 / (5.556 ms half a rotation)", "by the drive, without the table's rate");
        let declared = Asked::DeclaredHeads(Heads { rotations_per_minute: None, seek_seconds: Some(9e-3) });
        let ceiling = of_one(&turns, request(Read, 1 << 20, 1), declared).unwrap();
        assert!(!ceiling.formula.contains("1MiB") && ceiling.formula.contains("9 ms seek"), "{}", ceiling.formula);
    }

    #[test]
    fn a_drive_of_no_sheet_or_of_a_hypervisor_has_none() {
        let made_up = Disk { is_virtual: Some(true), ..solid("sda") };
        let passed_through = Disk { is_virtual: None, ..solid("sda") };
        let disks = [drive("sda", "A drive", TERABYTE), made_up, passed_through];
        assert_eq!(disks.map(|disk| value(&disk, in_order(Read), Sheet)), [None, None, Some(560e6)]);
    }

    #[test]
    fn heads_and_rotation_bind_one_request_at_a_time() {
        let disk = turning("sda");
        let whole = Request { size: FOUR_TERABYTES, ..request(Read, 4096, 1) };
        let ceiling = of_one(&disk, whole, OneByOne).unwrap();
        // 8.2 ms + 60 s / 7200 / 2
        assert!((ceiling.value - 1.0 / (0.0082 + 1.0 / 240.0)).abs() < 1e-9, "{}", ceiling.value);
        assert_eq!(ceiling.formula, "1 / (8.2 ms seek x 1.00 + 4.167 ms half a rotation)");
        assert_eq!(ceiling.about, "one at a time, over the whole disk 81 requests/s");
        let short = of_one(&disk, Request { size: 40_007_870_300, ..whole }, OneByOne).unwrap();
        assert!((230.0..240.0).contains(&short.value), "a short way for the heads: {}", short.value);
        assert!(short.formula.contains("seek x 0.01") && short.about.contains("over the whole disk 81"), "{short:?}");
        assert_eq!(value(&disk, request(Read, 4096, 32), OneByOne), None, "the drive orders them");
        assert_eq!(value(&disk, request(Read, 4096, 32), Sheet), None);
    }

    #[test]
    fn a_disk_of_no_sheet_still_turns() {
        let disk = Disk { rotations_per_minute: Some(5400), ..drive("sda", "A drive", FOUR_TERABYTES) };
        let ceiling = of_one(&disk, request(Read, 4096, 1), OneByOne).unwrap();
        assert_eq!(ceiling.formula, "1 / (5.556 ms half a rotation)");
        assert!(ceiling.inputs[0].source.contains("the drive itself"));
        let controller = Disk { transport: None, ..disk.clone() };
        assert_eq!(value(&controller, request(Read, 4096, 1), OneByOne), None, "an array in hardware");
        let listed = drive("sda", CONSTELLATION, FOUR_TERABYTES);
        let ceiling = of_one(&listed, request(Read, 1 << 20, 1), OneByOne).unwrap();
        assert_eq!(ceiling.formula, "1 / (4.167 ms half a rotation + 5.992 ms for 1MiB)");
        assert_eq!(value(&listed, in_order(Read), Sheet), Some(175e6));
        let again = Request { op: DiskOp::Reread, ..in_order(Read) };
        assert_eq!(value(&listed, again, Sheet), None, "its memory");
    }

    #[test]
    fn an_owner_says_how_fast_a_disk_turns_and_seeks() {
        let asked =
            |rotations_per_minute, seek_seconds| Asked::DeclaredHeads(Heads { rotations_per_minute, seek_seconds });
        let whole = Request { size: FOUR_TERABYTES, ..request(Read, 4096, 1) };
        let silent = Disk { is_virtual: Some(true), ..drive("sda", "A drive", FOUR_TERABYTES) };
        let formula = |disk: &Disk, asked| of_one(disk, whole, asked).map(|ceiling| ceiling.formula);
        let all = "1 / (9 ms seek x 1.00 + 4.167 ms half a rotation)";
        assert_eq!(formula(&silent, asked(Some(7200.0), Some(9e-3))).as_deref(), Some(all));
        assert_eq!(formula(&silent, asked(None, Some(9e-3))), None, "its rotation speed is unknown");
        let turns = Disk { rotations_per_minute: Some(7200), is_virtual: Some(false), ..silent.clone() };
        let ceiling = of_one(&turns, whole, asked(None, Some(9e-3))).unwrap();
        assert_eq!(ceiling.formula, all);
        let sources: Vec<&str> = ceiling.inputs.iter().map(|input| input.source.as_str()).collect();
        assert!(sources[0].contains("the drive itself") && sources[1] == DECLARED, "{sources:?}");
        let listed = formula(&turning("sda"), asked(Some(5400.0), None));
        assert_eq!(listed.as_deref(), Some("1 / (8.2 ms seek x 1.00 + 5.556 ms half a rotation)"));
        let many = Request { in_flight: 32, ..whole };
        assert_eq!(of_one(&silent, many, asked(Some(7200.0), Some(9e-3))), None, "the drive orders them");
    }

    #[test]
    fn writes_wait_for_the_heads_only_where_they_must() {
        let rate = |cache: &str, sync: DiskSync| {
            let disk = Disk { write_cache: Some(cache.into()), ..turning("sda") };
            value(&disk, Request { sync, ..request(Write, 4096, 1) }, OneByOne).is_some()
        };
        assert!(rate("write through", DiskSync::None) && rate("write back", DiskSync::Dsync));
        assert!(!rate("write back", DiskSync::None));
        let listed = drive("sda", CONSTELLATION, FOUR_TERABYTES);
        assert_eq!(value(&listed, request(Write, 4096, 1), Sheet), None, "more than the sequential rate");
    }

    fn array(level: &str, members: u32, chunk: u64) -> (Vec<Disk>, Vec<(u32, &'static str, &'static str)>) {
        let names = &["sda", "sdb", "sdc", "sdd"][..members as usize];
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

    fn of_array(level: &str, members: u32, request: Request) -> Ceiling {
        let (disks, chain) = array(level, members, 512 << 10);
        ceiling(&disks, &chain, request, Sheet).unwrap()
    }

    #[test]
    fn sheets_add_up_as_the_level_says() {
        let rates = |level: &str| [Read, Write].map(|way| of_array(level, 4, in_order(way)).value / 1e6);
        assert_eq!((rates("raid0"), rates("raid1")), ([2240.0, 2120.0], [2240.0, 530.0]));
        let five = of_array("raid5", 4, in_order(Write));
        assert_eq!(five.formula, "4 x 530 MB/s x 0.750");
        assert_eq!(five.about, "raid5 over data sheet of Samsung SSD 870 EVO 1TB");
    }

    #[test]
    fn small_writes_pay_for_their_parity() {
        let rate = |level: &str, members, block| of_array(level, members, request(Write, block, 32));
        // Writes of 88,000/s and reads of 98,000/s for each, spread over the drives; of three the third is read.
        for (level, members, writes, reads) in [("raid5", 4, 2.0, 2.0), ("raid5", 3, 2.0, 1.0), ("raid6", 4, 3.0, 1.0)]
        {
            let found = rate(level, members, 4096);
            assert!((found.value - f64::from(members) / (writes / 88e3 + reads / 98e3)).abs() < 1e-6, "{found:?}");
            assert!(found.inputs.iter().any(|input| input.name.starts_with("reads of drives") && input.value == reads));
        }
        let five = rate("raid5", 4, 4096);
        assert_eq!(five.formula, "4 x 1 / (2 / (88000 requests/s) + 2 / (98000 requests/s))");
        let large = rate("raid5", 4, 1 << 20);
        assert!(!large.formula.contains("560"), "nothing is known to be read: {}", large.formula);
    }

    #[test]
    fn members_do_not_help_one_request_at_a_time() {
        let (mut disks, chain) = array("raid0", 2, 64 << 10);
        for disk in &mut disks[..2] {
            *disk = turning(&disk.name);
        }
        let one = request(Read, 4096, 1);
        let alone = value(&turning("sda"), Request { size: one.size / 2, ..one }, OneByOne);
        assert_eq!(ceiling(&disks, &chain, one, OneByOne).map(|ceiling| ceiling.value), alone);
        let across = Request { block: 128 << 10, ..one };
        assert_eq!(ceiling(&disks, &chain, across, OneByOne), None, "one request on both");
    }

    #[test]
    fn several_paths_lead_to_one_drive() {
        let chain = [(0, "dm-0", "multipath"), (1, "sda", "disk"), (1, "sdb", "disk")];
        let disks = [solid("sda"), solid("sdb")].map(|disk| {
            let link = DiskLink { bytes_per_second: 1_200_000_000, kind: "sas".into(), ..DiskLink::default() };
            Disk { link: Some(link), ..disk }
        });
        let of = |asked| ceiling(&disks, &chain, in_order(Read), asked).unwrap();
        assert_eq!((of(Asked::Link).value, of(Asked::Link).both_ways), (2.4e9, true));
        assert_eq!(of(Sheet).value, 560e6);
        let unknown = [(0, "dm-0", "mapper"), (1, "sda", "disk"), (1, "sdb", "disk")];
        assert_eq!(ceiling(&disks, &unknown, in_order(Read), Sheet), None);
    }
}
