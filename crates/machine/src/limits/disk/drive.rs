//! What one drive and the link in front of it can do.

use model::machine::Disk;
use model::number::{UnitScale, exact_byte_rate};
use model::unit::format_size;

use crate::disk::drives::{Drive, RANDOM_BLOCK, Spindle, Ways};
use crate::limits::disk::request::{Direction, Figure, Request, input};

/// What an owner may say of a disk that turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Heads {
    pub(crate) rotations_per_minute: Option<f64>,
    /// Mean time from any track to any other, s.
    pub(crate) seek_seconds: Option<f64>,
}

pub(crate) fn link(disk: &Disk) -> Option<Figure> {
    let link = disk.link.as_ref()?;
    #[expect(clippy::cast_precision_loss, reason = "no link carries 2^53 B/s")]
    let value = link.bytes_per_second as f64;
    let inputs = vec![input(&format!("link B/s ({})", disk.name), value, &link.source)];
    let both_ways = is_duplex(&link.kind, link.bytes_per_second);
    let about = in_practice(&link.kind, link.detail.clone());
    Some(Figure { value, formula: exact_byte_rate(value), about, inputs, both_ways })
}

/// A link for a reader, with what of it can be data at best where packets have headers. The packets that a device makes
/// are told in its configuration space alone, which only root can read, so it is no peak.
pub(crate) fn in_practice(kind: &str, link: String) -> String {
    /// Bytes of data in a packet: what most roots and drives agree on.
    const PAYLOAD: f64 = 256.0;
    /// Header, framing and checks of a packet, B: six words of 4 B (Intel AN 708 has five to seven).
    const OVERHEAD: f64 = 24.0;
    if kind != "pcie" {
        return link;
    }
    format!("{link}; in packets of {PAYLOAD} B some {:.2} of it is data", PAYLOAD / (PAYLOAD + OVERHEAD))
}

/// Whether a link of this kind and rate, B/s, carries as much the other way at the same time.
pub(crate) fn is_duplex(kind: &str, bytes_per_second: u64) -> bool {
    /// From here on USB has wires of its own for each way, B/s.
    const USB_3: u64 = 500_000_000;
    match kind {
        "pcie" | "sas" | "network" => true,
        "usb" => bytes_per_second >= USB_3,
        // A SATA link or a card's bus carries data one way at a time.
        _ => false,
    }
}

fn of_way(ways: Ways, way: Direction) -> f64 {
    match way {
        Direction::Read => ways.read,
        Direction::Write => ways.write,
    }
}

/// What a drive's sheet says.
///
/// Of requests at random to a drive that turns it says nothing (one at a time has a peak of its own: [`heads`]; how the
/// drive orders many is its own affair), nor of a stretch that the drive's memory holds.
pub(crate) fn sheet(disk: &Disk, request: Request) -> Option<Figure> {
    let (drive, model) = Drive::checked(disk)?;
    if drive.spindle.is_some() && (request.again() || request.random) {
        return None;
    }
    let source = drive.source(model);
    let by_bytes = drive.bytes_per_second.map(|rates| {
        let value = of_way(rates, request.way);
        let inputs = vec![input("sheet B/s", value, &source)];
        let rate = Figure { value, formula: exact_byte_rate(value), about: about(&source), inputs, both_ways: false };
        request.by_bytes(rate)
    });
    let requests = drive.requests_per_second.filter(|_| request.random);
    let by_requests = requests.and_then(|requests| {
        let value = if request.way == Direction::Read { Some(requests.read) } else { requests.write }?;
        let source = format!("{source}, at {}", requests.stated_for);
        Some(of_requests(value, &source))
    });
    Figure::tighter(by_bytes, by_requests)
}

/// Requests per second of a sheet: for 4 KiB, and no more of them for larger or smaller blocks.
fn of_requests(value: f64, source: &str) -> Figure {
    let formula = format!("{value} requests/s");
    let inputs = vec![input(&format!("sheet 1/s ({})", format_size(RANDOM_BLOCK)), value, source)];
    Figure { value, formula, about: about(source), inputs, both_ways: false }
}

/// `data sheet of X, by Y` without who says so, which stands with the input.
fn about(source: &str) -> String {
    source.split(',').next().unwrap_or_default().to_owned()
}

/// What a drive does with one random request at a time; `disks` share the file.
pub(crate) fn one_by_one(disk: &Disk, request: Request, disks: usize) -> Option<Figure> {
    if !request.random || request.in_flight != 1 {
        return None;
    }
    let known = Drive::checked(disk);
    if let Some(turning) = turning(disk, known, request.way) {
        return heads(disk, request, &turning, disks);
    }
    let (drive, model) = known?;
    let single = drive.requests_per_second.filter(|_| request.way == Direction::Read)?.single_read?;
    Some(of_requests(single, &format!("{}, at depth 1", drive.source(model))))
}

/// What a drive does with one random request at a time by what its owner says of it; what was not said is as known.
pub(crate) fn as_told(disk: &Disk, request: Request, told: Heads, disks: usize) -> Option<Figure> {
    if !request.random || request.in_flight != 1 {
        return None;
    }
    let own = turning(disk, Drive::checked(disk), request.way);
    let own_seek = own.as_ref().and_then(|own| own.seek_seconds.clone());
    let said = |value: f64| (value, DECLARED.to_owned());
    let rotations_per_minute = told.rotations_per_minute.map(said).or(own.map(|own| own.rotations_per_minute))?;
    let seek_seconds = told.seek_seconds.map(said).or(own_seek);
    heads(disk, request, &Turning { rotations_per_minute, seek_seconds }, disks)
}

/// How fast a drive turns and its heads move, each with who says so.
struct Turning {
    rotations_per_minute: (f64, String),
    seek_seconds: Option<(f64, String)>,
}

/// Who says what an owner declared.
pub(crate) const DECLARED: &str = "declared";

/// [`spindle`], for requests of one way.
fn turning(disk: &Disk, known: Option<(&Drive, &str)>, way: Direction) -> Option<Turning> {
    let (spindle, source) = spindle(disk, known)?;
    let sheet = known.map(|(drive, model)| drive.source(model)).unwrap_or_default();
    let seek_seconds = spindle.seek_seconds.map(|seek| (of_way(seek, way), sheet));
    Some(Turning { rotations_per_minute: (f64::from(spindle.rotations_per_minute), source), seek_seconds })
}

/// What turns, and who says how fast. Behind a controller that shows arrays as disks the figure would be a member's.
fn spindle(disk: &Disk, known: Option<(&Drive, &str)>) -> Option<(Spindle, String)> {
    let own =
        matches!(disk.transport.as_deref(), Some("sata" | "ata" | "sas" | "usb")) && disk.is_virtual == Some(false);
    let listed = known.and_then(|(drive, model)| Some((drive.spindle?, drive.source(model))));
    let told = disk.rotations_per_minute.filter(|_| own).map(|rotations_per_minute| {
        let seek_seconds = listed.as_ref().and_then(|(spindle, _)| spindle.seek_seconds);
        (Spindle { rotations_per_minute, seek_seconds }, "the drive itself (IDENTIFY DEVICE or page B1h)".to_owned())
    });
    told.or(listed)
}

/// One random request after the other on a drive that turns: the way of the heads, half a rotation on the mean, and the
/// block under the heads.
///
/// Heads take longer for a longer way, but less and less so. On a share of the tracks they take at least that share of
/// the mean over all of them, and no more than that is counted: the file may lie in one piece.
fn heads(disk: &Disk, request: Request, turning: &Turning, disks: usize) -> Option<Figure> {
    // A write that does not wait is done when the drive's memory has it.
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
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
        let share = (request.size as f64 / (bytes as f64 * disks.max(1) as f64)).min(1.0);
        terms.insert(0, format!("{} seek x {share:.2}", UnitScale::MILLISECONDS.trimmed(*seek)));
        inputs.push(input("mean seek s", *seek, source));
        inputs.push(input("share of the tracks", share, "the row's file by the size of the disks"));
        seconds += seek * share;
    }
    if let Some(rate) = known.and_then(|(drive, _)| drive.bytes_per_second).map(|rates| of_way(rates, request.way)) {
        let transfer = request.block_bytes() / rate;
        terms.push(format!("{} for {}", UnitScale::MILLISECONDS.trimmed(transfer), format_size(request.block)));
        inputs.push(input("sheet B/s", rate, &sheet));
        inputs.push(input("block_bytes", request.block_bytes(), "the row's block"));
        seconds += transfer;
    }
    let seek = match &turning.seek_seconds {
        Some((seek, _)) => format!("over the whole disk {:.0} requests/s", 1.0 / (half + seek)),
        None => "how long the heads are on their way is not known".to_owned(),
    };
    let about = format!("one at a time, {seek}");
    Some(Figure {
        value: 1.0 / seconds,
        formula: format!("1 / ({})", terms.join(" + ")),
        about,
        inputs,
        both_ways: false,
    })
}
