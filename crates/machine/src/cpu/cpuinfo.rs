//! `/proc/cpuinfo` as keys and values. Its `cpu MHz` is never used: in a virtual machine it is the TSC.

use std::collections::BTreeMap;

use crate::sysroot::Sysroot;

#[derive(Debug, Default)]
pub(crate) struct CpuInfo {
    pub(crate) cpus: Vec<BTreeMap<String, String>>,
    /// What is stated outside the blocks of the CPUs: on Arm the board, in old kernels the processor too.
    common: BTreeMap<String, String>,
    /// Whether several CPUs share one statement, which is of the CPU that read the file.
    pub(crate) is_of_one_cpu: bool,
}

impl CpuInfo {
    pub(crate) const FILE: &'static str = "proc/cpuinfo";

    pub(crate) fn read(root: &Sysroot) -> Self {
        root.text(Self::FILE).map(|text| Self::parse(&text)).unwrap_or_default()
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut info = Self::default();
        for block in text.split("\n\n") {
            let first = info.cpus.len();
            for (key, value) in block.lines().filter_map(|line| line.split_once(':')) {
                if key.trim() == "processor" {
                    info.cpus.push(BTreeMap::new());
                }
                let place = info.cpus.get_mut(first..).and_then(<[_]>::last_mut).unwrap_or(&mut info.common);
                place.insert(key.trim().to_owned(), value.trim().to_owned());
            }
            // Old kernels of Arm list all CPUs in one block and state the processor once, after the last.
            if let Some([others @ .., last]) = info.cpus.get_mut(first..) {
                info.is_of_one_cpu |= !others.is_empty();
                for cpu in others {
                    last.iter().for_each(|(key, value)| {
                        cpu.entry(key.clone()).or_insert_with(|| value.clone());
                    });
                }
            }
        }
        info.is_of_one_cpu |= info.cpus.len() > 1 && info.common.contains_key("CPU part");
        info
    }

    /// A value of a CPU, else what is stated for all.
    pub(crate) fn of_cpu(&self, cpu: u32, key: &str) -> Option<&str> {
        let number = cpu.to_string();
        let own = self.cpus.iter().find(|block| block.get("processor") == Some(&number));
        own.and_then(|block| block.get(key)).or_else(|| self.common.get(key)).map(String::as_str)
    }

    /// A value of the first CPU.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.cpus.first().and_then(|cpu| cpu.get(key)).or_else(|| self.common.get(key)).map(String::as_str)
    }

    pub(crate) fn number(&self, key: &str) -> Option<u32> {
        self.first(key)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::CpuInfo;

    #[test]
    fn old_kernels_state_the_processor_once() {
        let header = "Processor\t: AArch64 Processor rev 4 (aarch64)\n";
        let part = "Features\t: fp asimd\nCPU part\t: 0xd03\n\nHardware\t: A board\n";
        for between in ["", "BogoMIPS\t: 38.40\n\n"] {
            let info = CpuInfo::parse(&format!("{header}processor\t: 0\n{between}processor\t: 1\n{between}{part}"));
            let parts = [0, 1].map(|cpu| info.of_cpu(cpu, "CPU part"));
            assert_eq!((info.cpus.len(), parts, info.first("Features")), (2, [Some("0xd03"); 2], Some("fp asimd")));
            assert_eq!((info.first("Hardware"), info.is_of_one_cpu), (Some("A board"), true));
        }
    }
}
