//! `/proc/cpuinfo` as keys and values. Its `cpu MHz` is never used: in a virtual machine it is the TSC.

use std::collections::BTreeMap;

use crate::sysroot::Sysroot;

#[derive(Debug, Default)]
pub(crate) struct CpuInfo {
    pub(crate) cpus: Vec<BTreeMap<String, String>>,
}

impl CpuInfo {
    pub(crate) const FILE: &'static str = "proc/cpuinfo";

    pub(crate) fn read(root: &Sysroot) -> Self {
        root.text(Self::FILE).map(|text| Self::parse(&text)).unwrap_or_default()
    }

    pub(crate) fn parse(text: &str) -> Self {
        let block = |block: &str| -> BTreeMap<String, String> {
            let pairs = block.lines().filter_map(|line| line.split_once(':'));
            pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
        };
        Self { cpus: text.split("\n\n").map(block).filter(|cpu| cpu.contains_key("processor")).collect() }
    }

    /// A value of the first CPU.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.cpus.first()?.get(key).map(String::as_str)
    }

    pub(crate) fn number(&self, key: &str) -> Option<u32> {
        self.first(key)?.parse().ok()
    }
}
