//! The limits of links that several devices share. Requests need not spread evenly over members, so a link binds only
//! what must pass it: a byte may avoid it, or pass it twice if a mirror has two members behind it.

use model::machine::SharedLink;
use model::number::{exact_byte_rate, trimmed};

use crate::limits::disk::drive::{in_practice, is_duplex};
use crate::limits::disk::layers::{Asked, Layers};
use crate::limits::disk::request::{Ceiling, Direction};
use crate::limits::input;

struct Group {
    parts: Vec<usize>,
    ceiling: Ceiling,
}

impl Layers<'_> {
    /// Parts alongside each other: each with its own limit, or with a shared link's limit if they could fill it.
    pub(crate) fn side_by_side(&self, parts: &[usize]) -> Option<Vec<Ceiling>> {
        let alone = |part: usize| Some(Group { parts: vec![part], ceiling: self.device_ceiling(part)? });
        // Links may cross arrays: two adapters with one disk of each mirror.
        let shared = !self.shared_links().is_empty();
        let spread = |part: &usize| if shared { self.summands(*part) } else { vec![*part] };
        let groups: Option<Vec<Group>> = parts.iter().flat_map(spread).map(alone).collect();
        let bound = self.shared_links().iter().fold(groups?, |groups, link| self.behind(link, groups));
        Some(bound.into_iter().map(|group| group.ceiling).collect())
    }

    /// The devices whose limits simply add up to this device's, down to the disks if possible.
    fn summands(&self, index: usize) -> Vec<usize> {
        let parts = self.below(Some(index));
        let each = || parts.iter().flat_map(|part| self.summands(*part)).collect();
        let reads = self.request.way == Direction::Read;
        match (parts.as_slice(), self.storage.chain[index].kind.as_str(), self.level(index)) {
            ([_], kind, _) if kind != "raid" => each(),
            (_, "multipath", _) | (_, "raid", Some("raid0")) => each(),
            (_, "raid", Some("raid1" | "raid4" | "raid5" | "raid6" | "raid10")) if reads => each(),
            _ => vec![index],
        }
    }

    /// Members that all carry the same data: the slowest, or a link that carries it several times.
    pub(crate) fn mirrored(&self, parts: &[usize]) -> Option<Ceiling> {
        let slowest = self.part_ceilings(parts)?.into_iter().min_by(|one, other| one.value.total_cmp(&other.value));
        let links = self.shared_links().iter().filter_map(|link| {
            let times: f64 = parts.iter().map(|part| self.least_over(link, *part)).sum();
            (times > 0.0).then(|| carried(link, times))
        });
        links.fold(slowest, |tightest, link| Ceiling::tighter(tightest, Some(link)))
    }

    fn shared_links(&self) -> &[SharedLink] {
        if self.asked == Asked::Link { &self.machine.shared_links } else { &[] }
    }

    /// Joins all groups that must pass a link if the link is slower than their sum.
    fn behind(&self, link: &SharedLink, groups: Vec<Group>) -> Vec<Group> {
        let least = |group: &Group| {
            let each = group.parts.iter().map(|part| self.least_over(link, *part));
            each.fold(f64::INFINITY, f64::min)
        };
        let passing: Vec<&Group> = groups.iter().filter(|group| least(group) > 0.0).collect();
        if passing.is_empty() {
            return groups;
        }
        let ceiling = carried(link, passing.iter().map(|group| least(group)).fold(f64::INFINITY, f64::min));
        if passing.iter().map(|group| group.ceiling.value).sum::<f64>() <= ceiling.value {
            return groups;
        }
        let (inside, mut outside): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(|group| least(group) > 0.0);
        outside.insert(0, Group { parts: inside.into_iter().flat_map(|group| group.parts).collect(), ceiling });
        outside
    }

    /// How often a byte of a device passes a link at least; 0 if it may avoid the link.
    fn least_over(&self, link: &SharedLink, index: usize) -> f64 {
        let (device, parts) = (&self.storage.chain[index], self.below(Some(index)));
        if parts.is_empty() {
            let passes = device.disk.as_ref().is_some_and(|disk| link.disks.contains(disk));
            return if passes { 1.0 } else { 0.0 };
        }
        let each = parts.iter().map(|part| self.least_over(link, *part));
        match self.level(index) {
            Some("raid1") if self.request.way == Direction::Write => each.sum(),
            level => {
                let share = level.map_or(Some(1.0), |level| self.share(level, parts.len()));
                share.map_or(0.0, |share| each.fold(f64::INFINITY, f64::min) / share)
            }
        }
    }
}

fn carried(link: &SharedLink, times: f64) -> Ceiling {
    let rate = link.bytes_per_second as f64;
    let source = format!("{}; behind it: {}", link.source, link.disks.join(", "));
    let mut inputs = vec![input(&format!("link B/s ({})", link.place), rate, &source)];
    let mut formula = exact_byte_rate(rate);
    if (times - 1.0).abs() > f64::EPSILON {
        formula = format!("{formula} / {}", trimmed(times, 3));
        inputs.push(input("times over the link", times, "copies and parity that pass it with each byte, md/level"));
    }
    let about = format!("{} at {}, shared by {} disks", link.detail, link.place, link.disks.len());
    let about = in_practice(&link.kind, about);
    Ceiling { value: rate / times, formula, about, inputs, both_ways: is_duplex(&link.kind, link.bytes_per_second) }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "values that are exact or rounded the same way")]
mod tests {
    use model::io::{DiskOp, DiskSync};
    use model::machine::{Disk, DiskLink, Machine};

    use super::*;
    use crate::fixture::behind;
    use crate::limits::disk::request::Request;

    fn request(way: Direction, random: bool) -> Request {
        let op = if way == Direction::Read { DiskOp::Read } else { DiskOp::Write };
        Request { way, random, direct: true, op, sync: DiskSync::None, block: 4096, size: 1 << 30, in_flight: 32 }
    }

    /// Eight drives of 600 B/s each, arrays of them, and links that some of them share.
    fn machine(arrays: &[(&str, &str, u32)], links: &[(&str, u64, &[&str])]) -> Machine {
        let drive = |letter: char| Disk {
            name: format!("sd{letter}"),
            link: Some(DiskLink {
                bytes_per_second: 600,
                detail: "SATA".into(),
                kind: "sata".into(),
                ..DiskLink::default()
            }),
            ..Disk::default()
        };
        let array = |(name, level, members): &(&str, &str, u32)| Disk {
            name: (*name).into(),
            raid_level: Some((*level).into()),
            raid_members: Some(*members),
            ..Disk::default()
        };
        let link = |(place, bytes_per_second, disks): &(&str, u64, &[&str])| SharedLink {
            kind: "pcie".into(),
            place: (*place).into(),
            bytes_per_second: *bytes_per_second,
            detail: "PCIe".into(),
            disks: disks.iter().map(|disk| (*disk).to_owned()).collect(),
            source: "a file".into(),
        };
        let disks = ('a'..='h').map(drive).chain(arrays.iter().map(array)).collect();
        Machine { disks, shared_links: links.iter().map(link).collect(), ..Machine::default() }
    }

    fn ceiling(machine: &Machine, chain: &[(u32, &str)], request: Request, asked: Asked) -> Option<Ceiling> {
        let kind = |name: &str| match &name[..2] {
            "md" => "raid",
            "dm" => "multipath",
            _ => "disk",
        };
        let chain: Vec<_> = chain.iter().map(|(depth, name)| (*depth, *name, kind(name))).collect();
        Layers { machine, storage: &behind(&chain), request, asked }.all()
    }

    const FOUR: [(u32, &str); 5] = [(0, "md0"), (1, "sda"), (1, "sdb"), (1, "sdc"), (1, "sdd")];

    /// Sequential reads, sequential writes and random writes of four drives as one array.
    fn rates(level: &str, links: &[(&str, u64, &[&str])]) -> (f64, f64, f64) {
        let machine = machine(&[("md0", level, 4)], links);
        let rate = |way, random| {
            let ceiling = ceiling(&machine, &FOUR, request(way, random), Asked::Link);
            ceiling.unwrap().value.round()
        };
        (rate(Direction::Read, false), rate(Direction::Write, false), rate(Direction::Write, true))
    }

    const ALL: &[&str] = &["sda", "sdb", "sdc", "sdd"];

    #[test]
    fn a_shared_link_binds_what_an_array_carries() {
        assert_eq!(rates("raid0", &[("up", 1000, ALL)]), (1000.0, 1000.0, 1000.0));
        assert_eq!(rates("raid0", &[("up", 3000, ALL)]), (2400.0, 2400.0, 2400.0), "wider than all of them");
        assert_eq!(rates("raid1", &[("up", 1000, ALL)]), (1000.0, 250.0, 250.0), "each of four copies passes it");
        assert_eq!(rates("raid1", &[("up", 3000, ALL)]), (2400.0, 600.0, 600.0));
        assert_eq!(rates("raid10", &[("up", 1000, ALL)]), (1000.0, 500.0, 500.0));
        assert_eq!(rates("raid5", &[("up", 1000, ALL)]), (1000.0, 750.0, 500.0));
        assert_eq!(rates("linear", &[("up", 500, ALL)]), (600.0, 600.0, 600.0), "a member's own link knows of it");
    }

    #[test]
    fn what_may_go_around_a_link_is_not_bound_by_it() {
        let half: &[&str] = &["sda", "sdb"];
        assert_eq!(rates("raid0", &[("up", 1000, half)]), (2200.0, 2200.0, 2200.0));
        assert_eq!(rates("raid1", &[("up", 1000, half)]), (2200.0, 500.0, 500.0));
        assert_eq!(rates("raid0", &[("in", 1000, half), ("out", 1500, ALL)]), (1500.0, 1500.0, 1500.0));
        assert_eq!(rates("raid0", &[("in", 1000, half), ("out", 5000, ALL)]), (2200.0, 2200.0, 2200.0));
        assert_eq!(rates("raid0", &[("up", 1000, &["sde", "sdf"])]), (2400.0, 2400.0, 2400.0), "other disks'");
    }

    #[test]
    fn the_formula_names_the_link_and_who_shares_it() {
        let machine = machine(&[("md0", "raid5", 4)], &[("0000:05:00.0", 1000, ALL)]);
        let of = |way| ceiling(&machine, &FOUR, request(way, false), Asked::Link).unwrap();
        let read = of(Direction::Read);
        assert_eq!(read.formula, "1000 B/s");
        let shared = "raid5 over PCIe at 0000:05:00.0, shared by 4 disks";
        assert_eq!(read.about, format!("{shared}; with packets of 256 B 91 % is data"));
        assert_eq!(of(Direction::Write).formula, "1000 B/s x 0.750");
        let [input] = &read.inputs[..] else { panic!("{:?}", read.inputs) };
        assert_eq!((input.name.as_str(), input.value), ("link B/s (0000:05:00.0)", 1000.0));
        assert_eq!(input.source, "a file; behind it: sda, sdb, sdc, sdd");
        let partly = super::tests::machine(&[("md0", "raid0", 4)], &[("up", 1000, &["sdb", "sdd"])]);
        let partly = ceiling(&partly, &FOUR, request(Direction::Read, false), Asked::Link).unwrap();
        assert_eq!(partly.formula, "(1000 B/s + 600 B/s + 600 B/s)");
        assert!(partly.both_ways, "one of them is a duplex link");
    }

    #[test]
    fn copies_and_parity_of_arrays_below_pass_a_link_too() {
        let all: &[&str] = &["sda", "sdb", "sdc", "sdd", "sde", "sdf"];
        let members = |array, names: [&'static str; 3]| [(1, array), (2, names[0]), (2, names[1]), (2, names[2])];
        let both = [members("md0", ["sda", "sdb", "sdc"]), members("md1", ["sdd", "sde", "sdf"])];
        let chain = [&[(0, "md2")][..], both.as_flattened()].concat();
        let of = |level: &str, way| {
            let machine = machine(&[("md0", level, 3), ("md1", level, 3), ("md2", "raid0", 2)], &[("up", 900, all)]);
            ceiling(&machine, &chain, request(way, false), Asked::Link).unwrap()
        };
        assert_eq!((of("raid5", Direction::Read).value, of("raid5", Direction::Write).value.round()), (900.0, 600.0));
        assert_eq!(of("raid1", Direction::Write).formula, "900 B/s / 3");
        assert_eq!(of("raid1", Direction::Write).value, 300.0);
        // Each mirror has one disk on each of two links: writes pass both links, reads one.
        let chain = [(0, "md2"), (1, "md0"), (2, "sda"), (2, "sdb"), (1, "md1"), (2, "sdc"), (2, "sdd")];
        let links: [(&str, u64, &[&str]); 2] = [("one", 500, &["sda", "sdc"]), ("two", 400, &["sdb", "sdd"])];
        let machine = machine(&[("md0", "raid1", 2), ("md1", "raid1", 2), ("md2", "raid0", 2)], &links);
        let rate = |way| ceiling(&machine, &chain, request(way, false), Asked::Link).unwrap().value;
        assert_eq!((rate(Direction::Read), rate(Direction::Write)), (900.0, 400.0));
    }

    #[test]
    fn both_paths_to_each_drive_are_those_of_two_adapters() {
        let chain = [(0, "md0"), (1, "dm-0"), (2, "sda"), (2, "sdb"), (1, "dm-1"), (2, "sdc"), (2, "sdd")];
        let links: [(&str, u64, &[&str]); 2] = [("one", 500, &["sda", "sdc"]), ("two", 400, &["sdb", "sdd"])];
        let rate = |links: &[(&str, u64, &[&str])], members| {
            let machine = machine(&[("md0", "raid0", members)], links);
            ceiling(&machine, &chain, request(Direction::Write, false), Asked::Link).map(|ceiling| ceiling.value)
        };
        assert_eq!((rate(&links, 2), rate(&[], 2)), (Some(900.0), Some(2400.0)));
        assert_eq!((rate(&links, 3), rate(&[], 3)), (None, None), "one is missing");
    }

    #[test]
    fn what_a_drive_can_do_no_link_changes() {
        let drives = |links: &[(&str, u64, &[&str])]| {
            let mut machine = machine(&[("md0", "raid0", 4)], links);
            for disk in &mut machine.disks {
                (disk.model, disk.bytes) = (Some("Samsung SSD 870 EVO 1TB".into()), Some(1_000_204_886_016));
            }
            ceiling(&machine, &FOUR, request(Direction::Read, false), Asked::Sheet).map(|ceiling| ceiling.value)
        };
        assert_eq!(drives(&[("up", 1, ALL)]), Some(4.0 * 560e6));
    }
}
