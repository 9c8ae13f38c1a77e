//! Facts that only the user knows, given as `KEY=VALUE`.

use std::collections::BTreeMap;

use model::machine::Provider;

use crate::published::instances::{instance_type, nearest_names};

/// The keys with their meanings.
pub const KEYS: &[(&str, &str)] = &[
    (MACHINE_TYPE, "machine type of the cloud provider, such as m7i.2xlarge or Standard_D4s_v5"),
    ("memory.channels", "populated memory channels, all packages together"),
    ("memory.mts", "configured memory speed, MT/s"),
    ("memory.width", "data width of one memory channel, bit, without ECC (64 if not given)"),
    ("memory.fclk_hz", "clock of the fabric between AMD's dies, Hz"),
    ("disk.read_bps", "sequential read rate of the disk, B/s"),
    ("disk.read_iops", "random reads of the disk, 1/s"),
    ("disk.write_bps", "sequential write rate of the disk, B/s"),
    ("disk.write_iops", "random writes of the disk, 1/s"),
    ("disk.rpm", "rotations a minute of a disk that turns, where it does not say so itself"),
    ("disk.seek_s", "mean seek time of a disk that turns, over all its tracks, s"),
    ("net.link_bps", "speed of the network link, bit/s"),
    (
        "net.latency_s",
        "round trip through adapters, cables and switches, without the time of the frames on the wire, s",
    ),
];

const MACHINE_TYPE: &str = "machine.type";

/// Declared facts: positive numbers, and the machine type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    values: BTreeMap<&'static str, f64>,
    machine_type: Option<(Provider, String)>,
}

impl Declared {
    /// Parses items such as `memory.channels=12`. The error is one sentence for the user.
    pub fn parse<T: AsRef<str>>(items: &[T]) -> Result<Self, String> {
        let mut declared = Self::default();
        for item in items.iter().map(AsRef::as_ref) {
            let (key, value) = item
                .split_once('=')
                .ok_or_else(|| format!("'{item}' is not KEY=VALUE, for example memory.channels=12"))?;
            let known = KEYS.iter().find(|(known, _)| *known == key.trim());
            let Some((key, _)) = known else {
                return Err(format!("'{key}' cannot be declared; known: {}", alternatives(key.trim())));
            };
            if *key == MACHINE_TYPE {
                if declared.machine_type.replace(known_type(value.trim())?).is_some() {
                    return Err(format!("{key} is declared twice"));
                }
                continue;
            }
            let number = value.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
            let number = number.ok_or_else(|| format!("{key}={value}: the value must be a positive number"))?;
            if *key == "memory.channels" && (number.fract() != 0.0 || number > f64::from(u16::MAX)) {
                return Err(format!("{key}={value}: the number of channels must be whole"));
            }
            if *key == "memory.width" && (number % 8.0 != 0.0 || number > f64::from(u16::MAX)) {
                return Err(format!("{key}={value}: the data width must be a multiple of 8 bits"));
            }
            if declared.values.insert(key, number).is_some() {
                return Err(format!("{key} is declared twice"));
            }
        }
        Ok(declared)
    }

    /// The provider and the name of the machine type.
    pub fn machine_type(&self) -> Option<(Provider, &str)> {
        self.machine_type.as_ref().map(|(provider, name)| (*provider, name.as_str()))
    }

    /// All numbers by key.
    pub fn to_map(&self) -> BTreeMap<String, f64> {
        self.values.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
    }

    /// One value, in the unit of its key.
    pub fn get(&self, key: &str) -> Option<f64> {
        self.values.get(key).copied()
    }
}

/// A machine type that has published values.
fn known_type(name: &str) -> Result<(Provider, String), String> {
    if let Some(known) = instance_type(name) {
        return Ok((known.provider, known.name));
    }
    let near = nearest_names(name);
    let known =
        if near.is_empty() { "no known name is like it".to_owned() } else { format!("nearest: {}", near.join(", ")) };
    Err(format!("{MACHINE_TYPE}={name}: the machine type is unknown; {known}"))
}

/// The keys of the same area, or the areas if there is no such area.
fn alternatives(key: &str) -> String {
    let area = |key: &str| key.split('.').next().map(str::to_owned);
    let mut known: Vec<String> =
        KEYS.iter().filter(|(other, _)| area(other) == area(key)).map(|(other, _)| (*other).to_owned()).collect();
    if known.is_empty() {
        known.extend(KEYS.iter().filter_map(|(other, _)| area(other)).map(|area| format!("{area}.…")));
        known.dedup();
    }
    known.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_with_positive_numbers_are_taken() {
        let declared = Declared::parse(&["memory.channels=12", "disk.read_bps=7e9"]).unwrap();
        assert_eq!((declared.get("memory.channels"), declared.get("disk.read_bps")), (Some(12.0), Some(7e9)));
        assert_eq!(declared.get("memory.mts"), None);
    }

    #[test]
    fn a_machine_type_is_one_that_is_known() {
        let declared = Declared::parse(&["machine.type=standard_hb176rs_v4"]).unwrap();
        assert_eq!(declared.machine_type(), Some((Provider::Azure, "Standard_HB176rs_v4")));
        assert!(declared.to_map().is_empty());
        let error = |name: &str| Declared::parse(&[name]).unwrap_err();
        assert_eq!(
            error("machine.type=m7i.2xlage"),
            "machine.type=m7i.2xlage: the machine type is unknown; nearest: m7i.2xlarge, c7i.2xlarge, i7i.2xlarge"
        );
        assert!(error("machine.type=").ends_with("no known name is like it"));
        assert!(Declared::parse(&["machine.type=m5.large", "machine.type=m5.large"]).unwrap_err().contains("twice"));
    }

    #[test]
    fn all_else_is_refused_in_one_sentence() {
        for bad in [
            "memory.channels",
            "memory.colour=1",
            "memory.mts=0",
            "memory.mts=-1",
            "memory.mts=nan",
            "memory.mts=inf",
            "memory.mts=",
            "memory.channels=1.5",
            "memory.width=60",
            "memory.width=1e9",
            "=",
            "",
        ] {
            let error = Declared::parse(&[bad]).unwrap_err();
            assert!(!error.contains('\n') && error.len() < 200, "{error}");
        }
        let known = |item: &str| Declared::parse(&[item]).unwrap_err();
        assert!(known("disk.colour=1").ends_with("disk.write_iops, disk.rpm, disk.seek_s"), "the area's own");
        assert!(known("colour=1").ends_with("known: machine.…, memory.…, disk.…, net.…"), "{}", known("colour=1"));
        assert!(Declared::parse(&["memory.mts=1", "memory.mts=2"]).unwrap_err().contains("twice"));
    }
}
