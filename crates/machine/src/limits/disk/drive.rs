//! The limits of one drive and of its own link.

use model::machine::Disk;
use model::number::{UnitScale, exact_byte_rate};
use model::unit::format_size;

use crate::disk::drives::{Drive, RANDOM_BLOCK, Spindle, Ways};
use crate::limits::disk::request::{Ceiling, Direction, Request};
use crate::limits::{PCIE_DATA_SHARE, PCIE_PAYLOAD, input};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Heads {
    pub(crate) rotations_per_minute: Option<f64>,
    pub(crate) seek_seconds: Option<f64>,
}

pub(crate) fn link(disk: &Disk) -> Option<Ceiling> {
    let link = disk.link.as_ref()?;
    let value = link.bytes_per_second as f64;
    let inputs = vec![input(&format!("link B/s ({})", disk.name), value, &link.source)];
    let both_ways = is_duplex(&link.kind, link.bytes_per_second);
    let about = in_practice(&link.kind, link.detail.clone());
    Some(Ceiling { value, formula: exact_byte_rate(value), about, inputs, both_ways })
}

/// The link as text, with the share that is data. Packet sizes are readable only by root: no limit uses it.
pub(crate) fn in_practice(kind: &str, link: String) -> String {
    if kind != "pcie" {
        return link;
    }
    format!("{link}; with packets of {PCIE_PAYLOAD} B {:.0} % is data", 100.0 * PCIE_DATA_SHARE)
}

/// Whether a link of this kind and rate, B/s, carries both directions at the same time.
pub(crate) fn is_duplex(kind: &str, bytes_per_second: u64) -> bool {
    /// From this rate on USB has separate wires for each direction, B/s.
    const USB_3: u64 = 500_000_000;
    match kind {
        "pcie" | "sas" | "network" => true,
        "usb" => bytes_per_second >= USB_3,
        _ => false,
    }
}

fn in_direction(ways: Ways, way: Direction) -> f64 {
    match way {
        Direction::Read => ways.read,
        Direction::Write => ways.write,
    }
}

/// The data sheet's limit; none for random requests that it does not state nor for what a rotating drive's memory holds.
pub(crate) fn sheet(disk: &Disk, request: Request) -> Option<Ceiling> {
    let (drive, model) = Drive::checked(disk)?;
    let is_kept = drive.spindle.is_some() && request.again();
    if is_kept || (request.random && drive.requests_per_second.is_none()) {
        return None;
    }
    let source = drive.source(model);
    let by_bytes = drive.bytes_per_second.map(|rates| {
        let value = in_direction(rates, request.way);
        let inputs = vec![input("sheet B/s", value, &source)];
        let rate = Ceiling { about: about(&source), ..Ceiling::new(value, exact_byte_rate(value), inputs) };
        request.by_bytes(rate)
    });
    let requests = drive.requests_per_second.filter(|_| request.random);
    let by_requests = requests.and_then(|requests| {
        let value = if request.way == Direction::Read { Some(requests.read) } else { requests.write }?;
        let source = format!("{source}, at {}", requests.stated_for);
        Some(request_ceiling(value, &source))
    });
    Ceiling::tighter(by_bytes, by_requests)
}

fn request_ceiling(value: f64, source: &str) -> Ceiling {
    let inputs = vec![input(&format!("sheet 1/s ({})", format_size(RANDOM_BLOCK)), value, source)];
    Ceiling { about: about(source), ..Ceiling::new(value, format!("{value} requests/s"), inputs) }
}

/// `data sheet of X, by Y` without its source, which is listed with the input.
fn about(source: &str) -> String {
    source.split(',').next().unwrap_or_default().to_owned()
}

pub(crate) fn one_by_one(disk: &Disk, request: Request, disks: usize) -> Option<Ceiling> {
    if !request.random || request.in_flight != 1 {
        return None;
    }
    let known = Drive::checked(disk);
    if let Some(turning) = turning(disk, known, request.way) {
        return heads(disk, request, &turning, disks);
    }
    let (drive, model) = known?;
    let single = drive.requests_per_second.filter(|_| request.way == Direction::Read)?.single_read?;
    Some(request_ceiling(single, &format!("{}, at depth 1", drive.source(model))))
}

/// The limit at queue depth 1 with declared values; others are taken from the drive.
pub(crate) fn declared_heads(disk: &Disk, request: Request, declared: Heads, disks: usize) -> Option<Ceiling> {
    if !request.random || request.in_flight != 1 {
        return None;
    }
    let own = turning(disk, Drive::checked(disk), request.way);
    let own_seek = own.as_ref().and_then(|own| own.seek_seconds.clone());
    let said = |value: f64| (value, DECLARED.to_owned());
    let rotations_per_minute = declared.rotations_per_minute.map(said).or(own.map(|own| own.rotations_per_minute))?;
    let seek_seconds = declared.seek_seconds.map(said).or(own_seek);
    heads(disk, request, &Turning { rotations_per_minute, seek_seconds }, disks)
}

struct Turning {
    rotations_per_minute: (f64, String),
    seek_seconds: Option<(f64, String)>,
}

pub(crate) const DECLARED: &str = "declared";

fn turning(disk: &Disk, known: Option<(&Drive, &str)>, way: Direction) -> Option<Turning> {
    let (spindle, source) = spindle(disk, known)?;
    let sheet = known.map(|(drive, model)| drive.source(model)).unwrap_or_default();
    let seek_seconds = spindle.seek_seconds.map(|seek| (in_direction(seek, way), sheet));
    Some(Turning { rotations_per_minute: (f64::from(spindle.rotations_per_minute), source), seek_seconds })
}

/// The spindle with its source. An array's controller reports a member's speed: only own transports count.
fn spindle(disk: &Disk, known: Option<(&Drive, &str)>) -> Option<(Spindle, String)> {
    let own =
        matches!(disk.transport.as_deref(), Some("sata" | "ata" | "sas" | "usb")) && disk.is_virtual == Some(false);
    let listed = known.and_then(|(drive, model)| Some((drive.spindle?, drive.source(model))));
    let reported = disk.rotations_per_minute.filter(|_| own).map(|rotations_per_minute| {
        let seek_seconds = listed.as_ref().and_then(|(spindle, _)| spindle.seek_seconds);
        (Spindle { rotations_per_minute, seek_seconds }, "the drive itself (IDENTIFY DEVICE or page B1h)".to_owned())
    });
    reported.or(listed)
}

/// One random request on a rotating drive: seek (at least the tracks' share), half a rotation, transfer.
fn heads(disk: &Disk, request: Request, turning: &Turning, disks: usize) -> Option<Ceiling> {
    // A write without sync is finished when it is in the drive's memory.
    let in_memory = disk.write_cache.as_deref() != Some("write through");
    if request.again() || (request.way == Direction::Write && in_memory && !request.durable()) {
        return None;
    }
    let known = Drive::checked(disk);
    let sheet = known.map(|(drive, model)| drive.source(model)).unwrap_or_default();
    let (rotations_per_minute, source) = &turning.rotations_per_minute;
    let half = 30.0 / rotations_per_minute;
    let mut inputs = vec![input("rotations/min", *rotations_per_minute, source)];
    let (mut terms, mut seconds) = (vec![format!("{} half a rotation", UnitScale::MILLISECONDS.trimmed(half))], half);
    if let (Some((seek, source)), Some(bytes)) = (&turning.seek_seconds, disk.bytes.filter(|bytes| *bytes > 0)) {
        let share = (request.size as f64 / (bytes as f64 * disks.max(1) as f64)).min(1.0);
        terms.insert(0, format!("{} seek x {share:.2}", UnitScale::MILLISECONDS.trimmed(*seek)));
        inputs.push(input("mean seek s", *seek, source));
        inputs.push(input("share of the tracks", share, "size of the benchmark's file / size of the disks"));
        seconds += seek * share;
    }
    if let Some(rate) =
        known.and_then(|(drive, _)| drive.bytes_per_second).map(|rates| in_direction(rates, request.way))
    {
        let transfer = request.block_bytes() / rate;
        terms.push(format!("{} for {}", UnitScale::MILLISECONDS.trimmed(transfer), format_size(request.block)));
        inputs.push(input("sheet B/s", rate, &sheet));
        inputs.push(input("block_bytes", request.block_bytes(), "the benchmark's block"));
        seconds += transfer;
    }
    let seek = match &turning.seek_seconds {
        Some((seek, _)) => format!("over the whole disk {:.0} requests/s", 1.0 / (half + seek)),
        None => "seek time unknown".to_owned(),
    };
    let about = format!("one at a time, {seek}");
    Some(Ceiling { about, ..Ceiling::new(1.0 / seconds, format!("1 / ({})", terms.join(" + ")), inputs) })
}
