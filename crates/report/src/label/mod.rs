//! What a row measured, in the words of the field: `FP64`, `FMA, AVX-512`; `read`, `random 4 KiB`.

pub(crate) mod cpu;
pub(crate) mod disk;
pub(crate) mod familiar;
pub(crate) mod linpack;
pub(crate) mod memory;
pub(crate) mod net;
mod parts;

pub(crate) use parts::{Axis, Common, Label, block_words, page_words, same, threads};

use model::document::{Row, Status};
use model::experiment::{Area, Params, memory_id_names_working_set};
use model::isa::MemoryPattern;
use model::machine::Machine;

use model::number::{counted, size};

impl Common {
    /// What these rows have in common, `axis` being what the slots of their table differ in.
    pub(crate) fn of(rows: &[&Row], axis: Axis) -> Self {
        let memory = || rows.iter().filter_map(|row| parts::memory(row));
        let aspects: Vec<Vec<Option<String>>> = rows.iter().map(|row| aspects(row, axis)).collect();
        let count = aspects.iter().map(Vec::len).min().unwrap_or(0);
        Self {
            working_set: same(memory().map(|params| params.working_set)),
            pages: same(memory().filter(|params| params.pattern != MemoryPattern::Chase).map(|params| params.pages)),
            aspects: (0..count).map(|index| same(aspects.iter().filter_map(|words| words[index].clone()))).collect(),
            below: None,
            planned: !rows.iter().any(|row| row.status == Status::Ok),
        }
    }

    /// With the file system and the disks of a machine that all these rows stand on.
    pub(crate) fn on(self, rows: &[&Row], machine: &Machine) -> Self {
        Self { below: disk::below(rows, &machine.disks), ..self }
    }

    /// It in words: `1 GiB in 2 MiB pages`; `/data on ext4 on sda (sata), io_uring, direct`; `loopback`.
    pub(crate) fn words(&self) -> Option<String> {
        let sayable = if self.planned { 1 } else { self.aspects.len() };
        let aspects = self.aspects.iter().take(sayable).flatten().filter(|words| !words.is_empty());
        let mut words: Vec<String> = aspects.cloned().collect();
        // The file system belongs to the directory, which is the first aspect.
        if let (Some(below), Some(Some(path))) = (&self.below, self.aspects.first())
            && !path.is_empty()
        {
            words[0] = format!("{path} on {below}");
        }
        match (self.working_set, self.pages) {
            (Some(bytes), Some(pages)) => words.push(format!("{} in {}", size(bytes), page_words(pages))),
            (Some(bytes), None) => words.push(size(bytes)),
            (None, Some(pages)) => words.push(page_words(pages).to_owned()),
            (None, None) => {}
        }
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The aspects of a row that are not said above its table.
    fn remaining(&self, row: &Row, axis: Axis) -> impl Iterator<Item = String> {
        let said: Vec<bool> = self.aspects.iter().map(Option::is_some).collect();
        let aspects = aspects(row, axis).into_iter().enumerate();
        let left = aspects.filter(move |(index, _)| !said.get(*index).is_some_and(|said| *said));
        left.filter_map(|(_, words)| words.filter(|words| !words.is_empty()))
    }
}

impl Axis {
    /// The axis of an area's rows. Disks are read by depth, unless only their threads differ.
    pub(crate) fn of(area: Area, rows: &[&Row]) -> Self {
        let depths = || rows.iter().map(|row| disk::depth(row));
        match area {
            Area::Disk if same(depths()).is_some() && same(rows.iter().map(|row| row.params.threads())).is_none() => {
                Self::Threads
            }
            Area::Disk if depths().all(|depth| depth.is_some()) => Self::Depth,
            Area::Net if rows.iter().all(|row| net::is_stream(row)) => Self::Streams,
            Area::Net => Self::Connections,
            _ => Self::Threads,
        }
    }

    /// Where a row stands on it.
    pub(crate) fn position(self, row: &Row) -> u32 {
        match self {
            Self::Depth => disk::depth(row).unwrap_or(1),
            Self::Threads | Self::Streams | Self::Connections => row.params.threads(),
        }
    }

    /// A position in words: `2 threads`, `depth 32`.
    pub(crate) fn words(self, position: u32) -> String {
        match self {
            Self::Threads => threads(position),
            Self::Streams => counted(u64::from(position), "stream"),
            Self::Connections => counted(u64::from(position), "connection"),
            Self::Depth => format!("depth {position}"),
        }
    }

    /// Its name above a column.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Streams => "streams",
            Self::Connections => "connections",
            Self::Depth => "depth",
        }
    }

    /// The part of an id that says the position.
    fn part(self, row: &Row) -> String {
        let letter = if self == Self::Depth { 'd' } else { 't' };
        format!("{letter}{}", self.position(row))
    }
}

/// What there is to say of a row of disk or network besides what is done; an empty text where it is what one expects,
/// `None` for what is not known of it.
fn aspects(row: &Row, axis: Axis) -> Vec<Option<String>> {
    match &row.params {
        Params::Disk(params) => disk::aspects(row, params, axis),
        Params::Net(params) => net::aspects(params).into_iter().map(Some).collect(),
        Params::Cpu(_) | Params::Linpack(_) | Params::Memory(_) | Params::Other(_) => Vec::new(),
    }
}

impl Label {
    /// The label of a row in a table that says `common` above it and `axis` in its slots.
    pub(crate) fn of(row: &Row, common: &Common, axis: Axis) -> Self {
        let mut label = match &row.params {
            Params::Cpu(params) => cpu::label(params, &row.method, row.kernel.as_ref()),
            Params::Linpack(params) => linpack::label(row, params),
            Params::Memory(params) => memory::label(params, common, row.conditions.c_library.as_deref()),
            Params::Disk(params) => disk::label(params),
            Params::Net(params) => net::label(params),
            Params::Other(_) => by_id(row, axis),
        };
        for words in common.remaining(row, axis) {
            label.how = format!("{}, {words}", label.how);
        }
        label
    }

    /// The label of a row by itself.
    pub(crate) fn alone(row: &Row) -> Self {
        let axis = Axis::of(row.area, &[row]);
        Self::of(row, &Common::of(&[row], axis), axis)
    }

    /// The label and the place of the row in a sentence: `FP64 FMA, AVX-512, 2 threads`; `disk read random 4 KiB,
    /// depth 32`.
    pub(crate) fn sentence(row: &Row) -> String {
        let axis = match row.area {
            Area::Disk if disk::depth(row).is_some() => Axis::Depth,
            area => Axis::of(area, &[row]),
        };
        let mut common = Common::of(&[row], axis);
        if parts::memory(row).is_some_and(|params| memory_id_names_working_set(&row.id, params)) {
            // There may be others that differ in nothing else.
            common.working_set = None;
        }
        if row.area == Area::Disk {
            // Likewise; but directory, engine and file are the same for nearly all rows of a run.
            let of_row = common.aspects.iter_mut().take(disk::ASPECTS_OF_A_ROW.end).skip(disk::ASPECTS_OF_A_ROW.start);
            for aspect in of_row.filter(|aspect| aspect.as_deref() != Some(disk::DIRECT)) {
                *aspect = None;
            }
        }
        if row.area == Area::Net {
            // Likewise; but where it leads is the same for all rows of a run.
            common.aspects.truncate(net::ASPECTS_OF_A_RUN);
        }
        let label = Self::of(row, &common, axis);
        // Memory and disk are read and written alike.
        let area = match row.area {
            Area::Memory => "memory ",
            Area::Disk => "disk ",
            Area::Cpu | Area::Linpack | Area::Net => "",
        };
        let mut parts = vec![format!("{area}{} {}", label.what, label.how), axis.words(axis.position(row))];
        parts.extend((axis == Axis::Depth && row.params.threads() > 1).then(|| threads(row.params.threads())));
        parts.iter().map(|part| part.trim()).collect::<Vec<_>>().join(", ")
    }
}

/// The name of an area above its table.
pub(crate) const fn area_title(area: Area) -> &'static str {
    match area {
        Area::Cpu => "CPU",
        Area::Linpack => "LINPACK",
        Area::Memory => "Memory",
        Area::Disk => "Disk",
        Area::Net => "Network",
    }
}

/// The id without its place on the axis: the same for the rows that stand on one line.
pub(crate) fn stem(row: &Row, axis: Axis) -> String {
    let place = axis.part(row);
    row.id.split('/').filter(|part| *part != place).collect::<Vec<_>>().join("/")
}

/// The id without its threads: the same for one experiment with any number of them.
pub(crate) fn stem_of(row: &Row) -> String {
    stem(row, Axis::Threads)
}

/// Where the parameters are of a later version, the id says it.
fn by_id(row: &Row, axis: Axis) -> Label {
    let stem = stem(row, axis);
    let mut parts = stem.split('/').skip(1);
    let what = parts.next().unwrap_or(&stem).to_owned();
    Label { what, how: parts.collect::<Vec<_>>().join(", "), detail: String::new() }
}
