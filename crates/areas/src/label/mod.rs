//! Labels of results: `FP64`, `FMA, AVX-512`; `read`, `random 4 KiB`.

pub(crate) mod parts;

pub use parts::{Axis, Common, Label, Labels, TableRules, Workload, block_words, page_words, same, threads};

use model::document::{Row, Status};
use model::experiment::Area;
use model::isa::MemoryPattern;
use model::machine::Machine;
use model::number::{counted, size};

use crate::disk::label::{below, depth};
use crate::memory;
use crate::plan::area;

impl Common {
    /// What these results have in common; the slots of their table differ in `axis`.
    pub fn of(rows: &[&Row], axis: Axis) -> Self {
        let memory = || rows.iter().filter_map(|row| memory::label::params(row));
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

    /// With the file system and the disks that all these results share.
    #[must_use]
    pub fn on(self, rows: &[&Row], machine: &Machine) -> Self {
        Self { below: below(rows, &machine.disks), ..self }
    }

    /// In words: `1 GiB in 2 MiB pages`; `/data on ext4 on sda (sata), io_uring, direct`; `loopback`.
    pub fn words(&self) -> Option<String> {
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

    fn remaining(&self, row: &Row, axis: Axis) -> impl Iterator<Item = String> {
        let said: Vec<bool> = self.aspects.iter().map(Option::is_some).collect();
        let aspects = aspects(row, axis).into_iter().enumerate();
        let left = aspects.filter(move |(index, _)| !said.get(*index).is_some_and(|said| *said));
        left.filter_map(|(_, words)| words.filter(|words| !words.is_empty()))
    }
}

impl Axis {
    pub fn of(area: Area, rows: &[&Row]) -> Self {
        (labels(area).axis)(rows)
    }

    pub fn position(self, row: &Row) -> u32 {
        match self {
            Self::Depth => depth(row).unwrap_or(1),
            _ => row.params.threads(),
        }
    }

    /// A position in words: `2 threads`, `depth 32`.
    pub fn words(self, position: u32) -> String {
        match self {
            Self::Depth => format!("depth {position}"),
            _ => counted(u64::from(position), self.name().trim_end_matches('s')),
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Streams => "streams",
            Self::Connections => "connections",
            Self::Depth => "depth",
        }
    }

    fn part(self, row: &Row) -> String {
        let letter = if self == Self::Depth { 'd' } else { 't' };
        format!("{letter}{}", self.position(row))
    }
}

/// The names of an area and its results, and what is shown of them.
pub fn labels(name: Area) -> &'static Labels {
    &area(name).labels
}

fn aspects(row: &Row, axis: Axis) -> Vec<Option<String>> {
    (labels(row.area).aspects)(row, axis)
}

impl Label {
    /// The label of a result in a table that shows `common` above it and `axis` in its slots.
    pub fn of(row: &Row, common: &Common, axis: Axis) -> Self {
        let mut label = (labels(row.area).label)(row, common).unwrap_or_else(|| by_id(row, axis));
        for words in common.remaining(row, axis) {
            label.how = format!("{}, {words}", label.how);
        }
        label
    }

    pub fn alone(row: &Row) -> Self {
        let axis = Axis::of(row.area, &[row]);
        Self::of(row, &Common::of(&[row], axis), axis)
    }

    /// A result in a sentence: `FP64 FMA, AVX-512, 2 threads`; `disk read random 4 KiB, depth 32`.
    pub fn sentence(row: &Row) -> String {
        let axis = Axis::of(row.area, &[row]);
        let mut common = Common::of(&[row], axis);
        let labels = labels(row.area);
        // Other results may differ in nothing else.
        (labels.say)(row, &mut common);
        let label = Self::of(row, &common, axis);
        let mut parts = vec![format!("{}{} {}", labels.before, label.what, label.how), axis.words(axis.position(row))];
        parts.extend((axis == Axis::Depth && row.params.threads() > 1).then(|| threads(row.params.threads())));
        parts.iter().map(|part| part.trim()).collect::<Vec<_>>().join(", ")
    }
}

pub fn area_title(area: Area) -> &'static str {
    labels(area).title
}

/// The workload of a result; `None` if blocks are not compared.
pub fn workload(row: &Row) -> Option<Workload> {
    (labels(row.area).workload)(row)
}

pub fn table_rules(area: Area) -> TableRules {
    labels(area).table
}

/// The id without its position on the axis.
pub fn stem(row: &Row, axis: Axis) -> String {
    let place = axis.part(row);
    row.id.split('/').filter(|part| *part != place).collect::<Vec<_>>().join("/")
}

/// The id without its threads.
pub fn stem_of(row: &Row) -> String {
    stem(row, Axis::Threads)
}

fn by_id(row: &Row, axis: Axis) -> Label {
    let stem = stem(row, axis);
    let mut parts = stem.split('/').skip(1);
    let what = parts.next().unwrap_or(&stem).to_owned();
    Label { what, how: parts.collect::<Vec<_>>().join(", "), detail: String::new() }
}
