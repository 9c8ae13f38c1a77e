//! How the values of a suite's fields and of a command's options are read.

use std::collections::BTreeMap;

use model::experiment::Area;
use model::isa::Isa;
use model::plan::Sampling;
use model::unit::{parse_seconds, parse_size};
use model::words::Word;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

pub const MOST_THREADS: u32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsaChoice {
    /// The widest vectors of this CPU for the kernel; for streams through memory, up to 256 bits.
    Vector,
    /// Every one of this CPU for the kernel.
    All,
    Named(Isa),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One per available physical core.
    All,
    /// 1, 2, 4 and so on, up to one per available physical core.
    Doubling,
    /// One per available hardware thread; nothing if cores have only one.
    Smt,
    Count(u32),
}

impl std::str::FromStr for IsaChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "vector" => Ok(Self::Vector),
            "all" => Ok(Self::All),
            name => name.parse().map(Self::Named).map_err(|error| format!("{error}; vector (the widest here), all")),
        }
    }
}

impl std::str::FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<u32>()) {
            ("all", _) => Ok(Self::All),
            ("doubling", _) => Ok(Self::Doubling),
            ("smt", _) => Ok(Self::Smt),
            (_, Ok(count)) if (1..=MOST_THREADS).contains(&count) => Ok(Self::Count(count)),
            _ => Err(format!(
                "'{text}' is not a valid number of threads; write 1 to {MOST_THREADS}, all (one per core), doubling (1, 2, 4 … all) or smt"
            )),
        }
    }
}

/// Deserialises by `FromStr`, so that suite files and options follow one rule.
macro_rules! from_text {
    ($($type:ty),+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )+};
}
pub(crate) use from_text;
from_text!(IsaChoice, Threads);

pub(crate) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    parse_seconds(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

pub(crate) fn some_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    seconds(deserializer).map(Some)
}

pub(crate) fn two_durations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[f64; 2], D::Error> {
    let [least, most] = <[String; 2]>::deserialize(deserializer)?;
    let pair = [parse_seconds(&least).map_err(D::Error::custom)?, parse_seconds(&most).map_err(D::Error::custom)?];
    if pair[0] > pair[1] { Err(D::Error::custom("the least warm-up is longer than the most")) } else { Ok(pair) }
}

#[derive(Deserialize)]
#[serde(remote = "Sampling", deny_unknown_fields, default = "Sampling::default")]
struct SamplingTable {
    samples: u32,
    most: Option<u32>,
    per_launch: u32,
    #[serde(rename = "sample", deserialize_with = "seconds")]
    sample_seconds: f64,
    #[serde(rename = "warm_up", deserialize_with = "two_durations")]
    warm_up_seconds: [f64; 2],
    target: f64,
    #[serde(skip)]
    until_steady: bool,
}

/// A sampling that makes sense.
#[derive(Deserialize)]
struct Checked(#[serde(deserialize_with = "checked")] Sampling);

fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sampling, D::Error> {
    let sampling = SamplingTable::deserialize(deserializer)?;
    let Sampling { samples, most, per_launch, sample_seconds, target, .. } = sampling;
    let rules = [
        (samples > 0 && per_launch > 0, "samples and per_launch must be at least 1"),
        (most.is_none_or(|most| most >= samples.max(6)), "most must be at least samples, and 6"),
        (target > 0.0 && target < 1.0, "target must lie between 0 and 1"),
        (sample_seconds >= 0.02, "a sample must be at least 20ms long"),
    ];
    rules.iter().find(|(holds, _)| !holds).map_or(Ok(sampling), |(_, rule)| Err(D::Error::custom(rule)))
}

pub(crate) fn sampling_of_areas<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Area, Sampling>, D::Error> {
    let tables = BTreeMap::<Area, Checked>::deserialize(deserializer)?;
    Ok(tables.into_iter().map(|(area, table)| (area, table.0)).collect())
}

pub(crate) fn some_sampling<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sampling>, D::Error> {
    checked(deserializer).map(Some)
}

pub(crate) fn or<T: Clone>(chosen: &[T], otherwise: &[T]) -> Vec<T> {
    if chosen.is_empty() { otherwise.to_vec() } else { chosen.to_vec() }
}

/// The items of a list that are chosen; an empty choice keeps all.
pub(crate) fn kept<T: Copy + PartialEq>(chosen: &[T], list: &[T]) -> Vec<T> {
    list.iter().copied().filter(|item| chosen.is_empty() || chosen.contains(item)).collect()
}

/// Each of a list, or once `None` if it is empty.
pub(crate) fn each<T: Copy>(list: &[T]) -> Vec<Option<T>> {
    if list.is_empty() { vec![None] } else { list.iter().copied().map(Some).collect() }
}

/// A list that a suite leaves out: the first member, which is the usual one.
pub(crate) fn usual<W: Word>() -> Vec<W> {
    vec![W::ALL[0]]
}

pub(crate) fn widest() -> Vec<IsaChoice> {
    vec![IsaChoice::Vector]
}

pub(crate) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    parse_size(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

pub(crate) fn some_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    size(deserializer).map(Some)
}

pub(crate) fn sizes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    one_or_more::<String, D>(deserializer)?.iter().map(|text| parse_size(text).map_err(D::Error::custom)).collect()
}

pub(crate) fn one_or_more<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let words = match toml::Value::deserialize(deserializer)? {
        toml::Value::Array(words) if words.is_empty() => return Err(D::Error::custom("the list is empty")),
        toml::Value::Array(words) => words,
        word => vec![word],
    };
    words.into_iter().map(|word| T::deserialize(word).map_err(|error| D::Error::custom(error.message()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_have_bounds() {
        assert_eq!("all".parse(), Ok(Threads::All));
        assert_eq!("8".parse(), Ok(Threads::Count(8)));
        for bad in ["0", "10000", "-1", "x", ""] {
            assert!(bad.parse::<Threads>().is_err(), "{bad}");
        }
    }
}
