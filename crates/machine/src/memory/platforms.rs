//! The maximum memory of a processor family, and the links of its dies. The first matching row counts.

use std::ops::RangeInclusive;

use model::machine::{Cpu, Machine};

#[derive(Debug)]
struct Platform {
    vendor: &'static str,
    family: u32,
    models: &'static [u32],
    steppings: RangeInclusive<u32>,
    /// Required in the brand; empty if all parts are equal.
    brand: &'static str,
    limits: Limits,
}

/// Maximum channels of a package and their speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    pub(crate) channels: u32,
    /// With one module per channel, MT/s.
    pub(crate) mts: f64,
    /// The source; it contains "unchecked" if the value was not compared with one.
    pub(crate) source: &'static str,
}

const ANY: RangeInclusive<u32> = 0..=u32::MAX;

const fn intel(models: &'static [u32], brand: &'static str, channels: u32, mts: f64, source: &'static str) -> Platform {
    let limits = Limits { channels, mts, source };
    Platform { vendor: "GenuineIntel", family: 6, models, steppings: ANY, brand, limits }
}

const fn amd(
    family: u32,
    models: &'static [u32],
    brand: &'static str,
    channels: u32,
    mts: f64,
    source: &'static str,
) -> Platform {
    let limits = Limits { channels, mts, source };
    Platform { vendor: "AuthenticAMD", family, models, steppings: ANY, brand, limits }
}

/// A processor of Arm: family is the implementer, models are part numbers. The brand distinguishes processors with one core.
const fn arm(models: &'static [u32], brand: &'static str, channels: u32, mts: f64, source: &'static str) -> Platform {
    let limits = Limits { channels, mts, source };
    Platform { vendor: "Arm", family: 0x41, models, steppings: ANY, brand, limits }
}

/// Sources are board and server makers or the press; `PerfSpect` is Intel's tool (`internal/cpus/cpus.go`).
const PLATFORMS: &[Platform] = &[
    intel(&[0x3f], "E5-", 4, 2133.0, "channels: PerfSpect cpus.go; speed: HotHardware on Xeon E5 v4 and v3"),
    intel(&[0x4f], "E5-", 4, 2400.0, "Intel Server Board S2600CW specification, table 4, for Xeon E5 v4"),
    intel(&[0x55], "Platinum 92", 12, 2933.0, "two dies of Xeon Scalable, 2nd, for Xeon Platinum 9200"),
    Platform {
        steppings: 0..=4,
        ..intel(&[0x55], "", 6, 2666.0, "Kingston on the Purley platform, for Xeon Scalable, 1st")
    },
    Platform {
        steppings: 5..=9,
        ..intel(&[0x55], "", 6, 2933.0, "xFusion 5288 V5 white paper, table 5-6, for Xeon Scalable, 2nd")
    },
    intel(&[0x55], "", 6, 3200.0, "ServeTheHome on Cooper Lake, for Xeon Scalable, 3rd (Cooper Lake)"),
    intel(&[0x6a], "", 8, 3200.0, "WWT, memory population guidelines, for Xeon Scalable, 3rd (Ice Lake)"),
    intel(&[0x8f], "", 8, 4800.0, "WWT, memory population guidelines, for Xeon Scalable, 4th"),
    intel(
        &[0xcf],
        "",
        8,
        5600.0,
        "channels: PerfSpect cpus.go; speed: press at its introduction, for Xeon Scalable, 5th",
    ),
    intel(&[0xdd], "", 12, 8000.0, "press at its introduction, for Clearwater Forest"),
    amd(0x17, &[0x01], "EPYC", 8, 2666.0, "Tom's Hardware, generations of EPYC, for EPYC 7001"),
    amd(0x17, &[0x31], "EPYC", 8, 3200.0, "Thomas-Krenn on EPYC 7002 and 7003, for EPYC 7002"),
    amd(0x19, &[0x01], "", 8, 3200.0, "Thomas-Krenn on EPYC 7002 and 7003, for EPYC 7003"),
    amd(0x19, &[0x11], "", 12, 4800.0, "Lenovo Press LP1852, table 2, for EPYC 9004"),
    amd(0x19, &[0xa0], "EPYC 9", 12, 4800.0, "Lenovo Press LP1852, table 2, for EPYC 97x4"),
    amd(0x19, &[0xa0], "EPYC 8", 6, 4800.0, "AnandTech and Next INpact at its introduction, for EPYC 8004"),
    amd(0x1a, &[0x02, 0x11], "", 12, 6400.0, "channels: Lenovo Press LP2283; speed: unchecked, for EPYC 9005"),
    arm(&[0xd0c], "Graviton2", 8, 3200.0, "channels: aws-graviton-getting-started; speed: unchecked, for Graviton2"),
    arm(&[0xd40], "Graviton3", 8, 4800.0, "channels: aws-graviton-getting-started; speed: unchecked, for Graviton3"),
    arm(&[0xd4f], "Graviton4", 12, 5600.0, "channels: aws-graviton-getting-started; speed: unchecked, for Graviton4"),
    arm(&[0xd0c], "Altra", 8, 3200.0, "coelacanth-dream.com, 2022-05-27, after Ampere's road map, for Altra"),
    arm(
        &[0xd4f],
        "Grace",
        8,
        8000.0,
        "unchecked: 32 channels of 16 bits, 512 GB/s with the smaller memories, for Grace",
    ),
    Platform {
        vendor: "HiSilicon",
        family: 0x48,
        ..arm(&[0xd01], "", 8, 2933.0, "unchecked: Huawei's product page, for Kunpeng 920")
    },
];

/// Memory that a maker fixes, where firmware describes no modules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Soldered {
    /// The start of the processor's or board's name; empty if the vendor decides.
    name: &'static str,
    vendor: &'static str,
    pub(crate) channels: u32,
    /// Data width of a channel, bit.
    pub(crate) channel_bits: u32,
    pub(crate) mts: f64,
    pub(crate) source: &'static str,
}

const PI_4: Soldered = Soldered {
    name: "Raspberry Pi 4",
    vendor: "Arm",
    channels: 1,
    channel_bits: 32,
    mts: 3200.0,
    source: "Raspberry Pi 4, specification: LPDDR4-3200; 32 bits as in BCM2712",
};
const PI_5: Soldered = Soldered {
    name: "Raspberry Pi 5",
    mts: 4267.0,
    source: "raspberrypi/documentation, bcm2712.adoc: 32-bit LPDDR4X, up to 17 GB/s",
    ..PI_4
};
const SOLDERED: &[Soldered] = &[
    PI_4,
    Soldered { name: "Raspberry Pi Compute Module 4", ..PI_4 },
    PI_5,
    Soldered { name: "Raspberry Pi Compute Module 5", ..PI_5 },
    Soldered {
        name: "",
        vendor: "Fujitsu",
        channels: 64,
        channel_bits: 64,
        mts: 2000.0,
        source: "Fujitsu, A64FX data sheet: four stacks of HBM2, 1024 GB/s; a stack has 16 pseudo channels of 64 bits",
    },
];

/// The memory that the maker of a board or processor fixes.
pub(crate) fn soldered(cpu: &Cpu) -> Option<Soldered> {
    let name = cpu.model_name.as_deref().unwrap_or_default();
    let fits = |one: &&Soldered| cpu.vendor.as_deref() == Some(one.vendor) && name.starts_with(one.name);
    SOLDERED.iter().find(fits).copied()
}

pub(crate) fn limits(cpu: &Cpu) -> Option<Limits> {
    let brand = cpu.model_name.as_deref().unwrap_or_default();
    let fits = |row: &&Platform| {
        cpu.vendor.as_deref() == Some(row.vendor)
            && cpu.family == Some(row.family)
            && cpu.model.is_some_and(|model| row.models.contains(&model))
            && row.steppings.contains(&cpu.stepping.unwrap_or(0))
            && brand.contains(row.brand)
    };
    PLATFORMS.iter().find(fits).map(|row| row.limits)
}

/// Bytes per fabric cycle over one link, commonly reported for Zen 2 to 5; not compared with a source.
const LINK_READ_BYTES: u32 = 32;

/// Family, models, the dies per package up to which each may have two links, source.
const DIE_LINKS: &[(u32, &[u32], u32, &str)] = &[
    (0x17, &[0x31, 0x71], 0, "unchecked: Zen 2: 32 B/cycle"),
    (0x19, &[0x01, 0x08, 0x21], 0, "unchecked: Zen 3: 32 B/cycle"),
    (0x19, &[0x61], 0, "unchecked: Zen 4: 32 B/cycle"),
    (0x19, &[0x11, 0x18, 0xa0], 4, "unchecked: Zen 4: 32 B/cycle per link, two links per die with up to 4 dies"),
    (0x1a, &[0x44], 0, "unchecked: Zen 5: 32 B/cycle"),
    (0x1a, &[0x02, 0x08, 0x11], 8, "unchecked: Zen 5: 32 B/cycle per link, two links per die with up to 8 dies"),
];

/// Upper bound of a die's reads, bytes per fabric cycle, with the source. A die is a last-level cache group.
pub(crate) fn die_read_bytes(machine: &Machine) -> Option<(u32, &'static str)> {
    let cpu = &machine.cpu;
    let (family, model) = cpu.family.zip(cpu.model).filter(|_| cpu.vendor.as_deref() == Some("AuthenticAMD"))?;
    let is_ours = |link: &&(u32, &[u32], u32, &str)| link.0 == family && link.1.contains(&model);
    let (_, _, two_links_up_to, source) = *DIE_LINKS.iter().find(is_ours)?;
    let groups = cpu.topology.iter().map(|place| place.llc).collect::<Option<std::collections::BTreeSet<u32>>>()?;
    let per_package = u32::try_from(groups.len()).ok()? / cpu.packages.filter(|packages| *packages > 0)?;
    let links = if per_package <= two_links_up_to { 2 } else { 1 };
    Some((links * LINK_READ_BYTES, source))
}

#[cfg(test)]
mod tests {
    use model::machine::LogicalCpu;

    use super::*;

    fn cpu(vendor: &str, family: u32, model: u32, stepping: u32, brand: &str) -> Cpu {
        Cpu {
            vendor: Some(vendor.to_owned()),
            family: Some(family),
            model: Some(model),
            stepping: Some(stepping),
            model_name: Some(brand.to_owned()),
            ..Cpu::default()
        }
    }

    #[test]
    fn parts_of_one_model_are_distinguished_by_stepping_and_brand_or_unknown() {
        let of = |cpu: &Cpu| limits(cpu).map(|limits| (limits.channels, limits.mts));
        let xeon = |stepping, brand| of(&cpu("GenuineIntel", 6, 0x55, stepping, brand));
        assert_eq!(xeon(4, "Xeon Gold 6140"), Some((6, 2666.0)));
        assert_eq!(xeon(7, "Xeon"), Some((6, 2933.0)));
        assert_eq!(xeon(7, "Xeon Platinum 9242"), Some((12, 2933.0)));
        assert_eq!(xeon(11, "Xeon"), Some((6, 3200.0)));
        let amd = |family, model, brand| of(&cpu("AuthenticAMD", family, model, 1, brand));
        assert_eq!(amd(0x19, 0xa0, "AMD EPYC 9754"), Some((12, 4800.0)));
        assert_eq!(amd(0x19, 0xa0, "AMD EPYC 8534P"), Some((6, 4800.0)));
        assert_eq!(amd(0x19, 0xa0, "AMD EPYC"), None, "8004 or 97x4");
        assert_eq!(amd(0x1a, 0x02, "AMD EPYC"), Some((12, 6400.0)));
        assert_eq!(amd(0x17, 0x01, "AMD Ryzen 7 1700"), None, "two channels, the same model as EPYC 7001");
        assert_eq!(of(&cpu("GenuineIntel", 6, 0xad, 1, "Xeon")), None, "8 channels or 12");
        assert_eq!(of(&Cpu::default()), None);
        let arm = |part, brand| of(&cpu("Arm", 0x41, part, 0x10, brand));
        assert_eq!((arm(0xd0c, "AWS Graviton2"), arm(0xd0c, "Ampere Altra")), (Some((8, 3200.0)), Some((8, 3200.0))));
        assert_eq!((arm(0xd4f, "AWS Graviton4"), arm(0xd4f, "Google Axion")), (Some((12, 5600.0)), None));
        let fixed = |vendor, name| soldered(&cpu(vendor, 0, 0, 0, name)).map(|one| one.channels * one.channel_bits);
        assert_eq!(fixed("Arm", "Raspberry Pi 400 Rev 1.0"), Some(32));
        assert_eq!((fixed("Fujitsu", ""), fixed("Arm", "Raspberry Pi 3 Model B")), (Some(4096), None));
    }

    #[test]
    fn every_row_has_a_source_and_can_be_reached() {
        for row in PLATFORMS {
            assert!(!row.limits.source.is_empty() && row.limits.mts > 1000.0 && row.limits.channels > 0);
            let stepping = *row.steppings.start().max(&if row.steppings == ANY { 10 } else { 0 });
            for model in row.models {
                let found = limits(&cpu(row.vendor, row.family, *model, stepping, row.brand));
                assert_eq!(found, Some(row.limits), "{row:?}");
            }
        }
    }

    #[test]
    fn few_dies_may_have_two_links() {
        let machine = |dies: u32, model| Machine {
            cpu: Cpu {
                packages: Some(2),
                topology: (0..2 * dies).map(|n| LogicalCpu { cpu: n, llc: Some(n), ..LogicalCpu::default() }).collect(),
                ..cpu("AuthenticAMD", 0x19, model, 1, "")
            },
            ..Machine::default()
        };
        let bytes = |machine: &Machine| die_read_bytes(machine).map(|(bytes, _)| bytes);
        assert_eq!((bytes(&machine(12, 0x11)), bytes(&machine(4, 0x11))), (Some(32), Some(64)));
        assert_eq!((bytes(&machine(8, 0x01)), bytes(&machine(1, 0x50))), (Some(32), None));
        let mut unknown = machine(12, 0x11);
        unknown.cpu.topology[0].llc = None;
        assert_eq!(bytes(&unknown), None);
    }
}
