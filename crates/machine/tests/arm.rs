//! Machines with processors of Arm, as the kernel shows them: made by hand after its documentation and after public dumps.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use machine::{CpuKernel, Declared, Sysroot, capture_from, cpu_peaks, discover, info_peaks};
use model::isa::{CpuOp, Element, Isa};
use model::machine::{CoreKind, Machine};
use model::peak::PeakKind;

const CPUS: &str = "sys/devices/system/cpu";
const N1: &str =
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs";
const V1: &str = "fp asimd fphp asimdhp asimddp sve asimdfhm svei8mm svebf16 i8mm bf16";

/// A machine's files.
struct Made(PathBuf);

impl Made {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("arm-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn bytes(self, file: &str, bytes: &[u8]) -> Self {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    fn text(self, file: &str, text: &str) -> Self {
        self.bytes(file, text.as_bytes())
    }

    /// CPUs without siblings, in one package each: implementer, part and package of each.
    fn cpus(mut self, cores: &[(u32, u32, u32)], features: &str) -> Self {
        let mut cpuinfo = String::new();
        for (cpu, (implementer, part, package)) in cores.iter().enumerate() {
            let _ = write!(
                cpuinfo,
                "processor\t: {cpu}\nBogoMIPS\t: 50.00\nFeatures\t: {features}\nCPU implementer\t: {implementer:#x}\n\
                 CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: {part:#x}\nCPU revision\t: 1\n\n"
            );
            let topology = format!("{CPUS}/cpu{cpu}/topology");
            self = self.text(&format!("{topology}/physical_package_id"), &format!("{package}\n"));
            self = self.text(&format!("{topology}/thread_siblings_list"), &format!("{cpu}\n"));
        }
        self.text("proc/cpuinfo", &cpuinfo).text(&format!("{CPUS}/online"), &format!("0-{}\n", cores.len() - 1))
    }

    fn firmware(self, vendor: &str, product: &str) -> Self {
        let folder = "sys/class/dmi/id";
        self.text(&format!("{folder}/sys_vendor"), vendor).text(&format!("{folder}/product_name"), product)
    }

    /// What is discovered; a capture of it is the same machine.
    fn discover(&self) -> Machine {
        let (root, again) = (|folder: &Path| Sysroot::folder(folder).unwrap(), self.0.with_extension("captured"));
        let _ = fs::remove_dir_all(&again);
        let machine = capture_from(root(&self.0), &again).unwrap();
        assert_eq!(machine, discover(&root(&again)), "{}", again.display());
        machine
    }
}

fn ops(machine: &Machine, kind: usize, what: &str) -> Option<f64> {
    let rates = &machine.cpu.core_types[kind].ops_per_cycle;
    rates.iter().find(|rate| rate.what == format!("cpu/{what}")).and_then(|rate| rate.value)
}

/// The formulas of reads from memory on all cores.
fn memory(machine: &Machine) -> Vec<(PeakKind, String)> {
    let peaks = info_peaks(machine, &Declared::default(), &BTreeMap::new(), None);
    let all = |peak: &&model::peak::InfoPeak| peak.area == "memory" && Some(peak.threads) == machine.cpu.cores;
    peaks.iter().filter(all).map(|peak| (peak.kind, peak.formula.clone())).collect()
}

fn unknown<'m>(machine: &'m Machine, fact: &str) -> Option<&'m str> {
    machine.unknown.iter().find(|unknown| unknown.fact == fact).map(|unknown| unknown.why.as_str())
}

/// Implementer and part, a set, what is published of it per cycle (fp64 and fp32 multiply-add, int8 dot products; 0: not
/// stated), its name and the source.
const PUBLISHED: &str = "\
0x41 0xd03 neon 4 8 0 Cortex-A53: cpufp RK3399, 5.63 and 11.26 GFLOP/s at 1.416 GHz
0x41 0xd05 neon 4 8 32 Cortex-A55: cpufp RK3588, 7.30, 14.6 and 58.4 Gop/s at 1.83 GHz
0x41 0xd08 neon 4 8 0 Cortex-A72: cpufp BCM2711, 5.98 and 11.96 GFLOP/s at 1.5 GHz
0x41 0xd0b neon 8 16 64 Cortex-A76: cpufp BCM2712, 19.2, 38.4 and 153.5 Gop/s at 2.4 GHz
0x41 0xd81 neon 8 16 64 Cortex-A720: cpufp CD8180, 20.8, 41.6 and 166.2 Gop/s at 2.6 GHz
0x41 0xd0c neon 8 16 64 Neoverse N1: aws-graviton-getting-started, 2x Neon 128bit vectors
0x41 0xd40 neon 16 32 128 Neoverse V1: aws-graviton-getting-started, 4x Neon 128bit vectors
0x41 0xd40 sve 16 32 128 Neoverse V1: aws-graviton-getting-started, 2x SVE 256bit
0x41 0xd4f sve 16 32 128 Neoverse V2: aws-graviton-getting-started, 4x Neon/SVE 128bit vectors
0x41 0xd4f neon 16 32 128 Neoverse V2: NVIDIA, Grace benchmarking guide, 53.5 Gop/s at 3.3 GHz
0x41 0xd49 neon 8 16 64 Neoverse N2: chipsandcheese.com, 2023-08-18, two 128-bit pipes
0x6d 0xd49 neon 8 16 64 Neoverse N2: the same core in Azure Cobalt 100
0x46 0x001 sve 32 64 0 A64FX: Fujitsu, 2.7648 TFLOP/s of 48 cores at 1.8 GHz
0x48 0xd01 neon 4 16 64 TaiShan v110: cpufp Kunpeng 920 7260, 10.4, 41.6 and 166.3 Gop/s at 2.6 GHz
0x61 0x023 neon 16 32 0 Firestorm: dougallj.github.io/applecpu, four FMLA per cycle
0x61 0x033 neon 16 32 128 Avalanche: cpufp M2 Max, 54.1, 107 and 430 Gop/s at 3.36 GHz
0x51 0x001 neon 16 32 128 Oryon: cpufp X1E80100, 65.2, 127 and 517 Gop/s at 4.0 GHz
0xc0 0xac3 neon 8 16 64 AmpereOne: Ampere, two 128-bit vector units";

const ARM: u32 = 0x41;

#[test]
fn cores_finish_what_is_published_of_them() {
    for line in PUBLISHED.lines() {
        let words: Vec<&str> = line.splitn(7, ' ').collect();
        let [implementer, part, set, fp64, fp32, int8, rest] = words[..] else { panic!("{line}") };
        let hexadecimal = |text: &str| u32::from_str_radix(&text[2..], 16).unwrap();
        let machine = Made::new("published").cpus(&[(hexadecimal(implementer), hexadecimal(part), 0)], V1).discover();
        assert_eq!(machine.cpu.microarchitecture.as_deref(), rest.split(':').next(), "{line}");
        let dot = if set == "neon" { "neon_dotprod" } else { set };
        let expected =
            [(format!("fma/fp64/{set}"), fp64), (format!("fma/fp32/{set}"), fp32), (format!("dot/int8/{dot}"), int8)];
        for (what, per_cycle) in expected.iter().filter(|(_, per_cycle)| *per_cycle != "0") {
            assert_eq!(ops(&machine, 0, what), per_cycle.parse().ok(), "{line}: {what}");
        }
    }
}

#[test]
fn platforms_fix_their_memory_channels() {
    let (guest, board) = (PeakKind::PlatformMaximum, PeakKind::Datasheet);
    for (vendor, model, implementer, part, kind, formula) in [
        ("Amazon EC2", "", ARM, 0xd0c, guest, "8 channels x 3200 MT/s x 8 B"),
        ("Amazon EC2", "", ARM, 0xd4f, guest, "12 channels x 5600 MT/s x 8 B"),
        ("Microsoft Corporation", "Virtual Machine", ARM, 0xd0c, guest, ""),
        ("", "Raspberry Pi 5 Model B Rev 1.0", ARM, 0xd0b, board, "1 channel x 4267 MT/s x 4 B"),
        ("FUJITSU", "FX700", 0x46, 0x001, board, "64 channels x 2000 MT/s x 8 B"),
    ] {
        let made = Made::new("platforms").cpus(&[(implementer, part, 0)], "fp asimd");
        let made =
            if vendor.is_empty() { made.text("proc/device-tree/model", model) } else { made.firmware(vendor, model) };
        let expected = if formula.is_empty() { Vec::new() } else { vec![(kind, formula.to_owned())] };
        assert_eq!(memory(&made.discover()), expected, "{vendor} {model} {part:#x}");
    }
}

#[test]
fn a_graviton3_is_read_with_its_scalable_vectors_and_its_channels() {
    let cpus = [(ARM, 0xd40, 0); 2];
    let midr = format!("{CPUS}/cpu0/regs/identification/midr_el1");
    let made = Made::new("graviton3")
        .cpus(&cpus, V1)
        .firmware("Amazon EC2\n", "c7g.large\n")
        .text(&midr, "0x00000000411fd401\n");
    let made =
        made.text("proc/sys/abi/sve_default_vector_length", "32\n").text("proc/meminfo", "MemTotal: 3900000 kB\n");
    let machine = made.discover();
    let cpu = &machine.cpu;
    assert_eq!((cpu.vendor.as_deref(), cpu.model_name.as_deref()), (Some("Arm"), Some("AWS Graviton3")));
    assert_eq!((cpu.packages, cpu.cores, cpu.threads, cpu.smt), (Some(1), Some(2), Some(2), Some(false)));
    assert_eq!((cpu.hypervisor_bit, machine.virtualization.unwrap().hypervisor.as_deref()), (Some(true), Some("KVM")));
    let machine = made.discover();
    let sets = [Isa::Scalar, Isa::Neon, Isa::NeonFp16, Isa::NeonDotprod, Isa::NeonI8mm, Isa::NeonBf16, Isa::Sve];
    assert_eq!(machine.cpu.isa, sets);
    let rates = ["fma/fp16/sve", "matrix/int8/neon_i8mm", "matrix/bf16/sve", "fma/fp64/scalar"];
    assert_eq!(rates.map(|what| ops(&machine, 0, what)), [Some(64.0), Some(256.0), Some(128.0), Some(8.0)]);
    assert_eq!(memory(&machine), [(PeakKind::PlatformMaximum, "8 channels x 4800 MT/s x 8 B".to_owned())]);
    let clock = machine.expected.iter().find(|one| one.quantity.as_str() == "clock").unwrap();
    assert!(clock.range.text.starts_with("c7g.large: 2.60 GHz"), "{}", clock.range.text);
    let kernel = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Sve };
    let peaks = cpu_peaks(&machine, kernel, &[0, 1], Some(&[2.6e9; 2]), None);
    assert_eq!(peaks[0].formula, "2 cores x 2.60 GHz x 16 flop/cycle");
    let source = &peaks[0].inputs[2].source;
    assert!(source.starts_with("table: Neoverse V1, 2 x 256-bit FMLA (LLVM"), "{source}");
    // With shorter vectors than the core's the count is unknown.
    let short = made.text("proc/sys/abi/sve_default_vector_length", "16\n").discover();
    assert_eq!((ops(&short, 0, "fma/fp64/sve"), ops(&short, 0, "fma/fp64/neon")), (None, Some(16.0)));
}

#[test]
fn a_board_has_its_name_memory_and_caches_from_the_device_tree() {
    let tree = "sys/firmware/devicetree/base";
    let mut made = Made::new("raspberry-pi-4").cpus(&[(ARM, 0xd08, 0); 4], "fp asimd evtstrm crc32 cpuid");
    made = made.text(&format!("{tree}/model"), "Raspberry Pi 4 Model B Rev 1.4\0");
    for cpu in 0..4 {
        let (folder, node) = (made.0.join(format!("{CPUS}/cpu{cpu}")), format!("{tree}/cpus/cpu@{cpu}"));
        std::os::unix::fs::symlink(
            format!("../../../../firmware/devicetree/base/cpus/cpu@{cpu}"),
            folder.join("of_node"),
        )
        .unwrap();
        for (name, value) in
            [("d-cache-size", 0x8000_u32), ("d-cache-line-size", 64), ("d-cache-sets", 256), ("next-level-cache", 5)]
        {
            made = made.bytes(&format!("{node}/{name}"), &value.to_be_bytes());
        }
        // The kernel knows the levels and no sizes.
        let index = format!("{CPUS}/cpu{cpu}/cache/index0");
        made = made.text(&format!("{index}/level"), "1\n").text(&format!("{index}/type"), "Data\n");
        made = made.text(&format!("{index}/shared_cpu_list"), &format!("{cpu}\n"));
    }
    for (name, value) in [("phandle", 5_u32), ("cache-size", 1 << 20)] {
        made = made.bytes(&format!("{tree}/cpus/l2-cache0/{name}"), &value.to_be_bytes());
    }
    let pages: Vec<u8> =
        [(6_u64, 4096_u64), (0, 0)].iter().flat_map(|(key, value)| [*key, *value]).flat_map(u64::to_le_bytes).collect();
    let machine = made.bytes("proc/self/auxv", &pages).discover();
    let cpu = &machine.cpu;
    assert_eq!((cpu.model_name.as_deref(), cpu.hypervisor_bit), (Some("Raspberry Pi 4 Model B Rev 1.4"), Some(false)));
    assert_eq!(machine.caches.iter().map(|cache| cache.bytes).collect::<Vec<_>>(), [Some(1 << 15); 4]);
    assert_eq!((machine.memory.page_bytes, machine.memory.bus_bits), (Some(4096), Some(32)));
    assert_eq!(memory(&machine), [(PeakKind::Datasheet, "1 channel x 3200 MT/s x 4 B".to_owned())]);
    assert_eq!(ops(&machine, 0, "fma/fp64/neon"), Some(4.0));
}

#[test]
fn kinds_of_core_differ_by_part_and_clock_and_clusters_are_no_packages() {
    // RK3588: four small cores and two pairs of big ones, each in a cluster that old kernels number as a package.
    let core = |cpu: u32| if cpu < 4 { (ARM, 0xd05, 0) } else { (ARM, 0xd0b, 1 + (cpu - 4) / 2) };
    let mut made = Made::new("rk3588").cpus(&(0..8).map(core).collect::<Vec<_>>(), N1);
    made = made.text("proc/device-tree/model", "Radxa ROCK 5B\0");
    for cpu in 0..8 {
        let (capacity, khz) = if cpu < 4 {
            (414, 1_800_000)
        } else if cpu < 6 {
            (1011, 2_256_000)
        } else {
            (1024, 2_304_000)
        };
        made = made.text(&format!("{CPUS}/cpu{cpu}/cpu_capacity"), &format!("{capacity}\n"));
        made = made.text(&format!("{CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq"), &format!("{khz}\n"));
        // The governor has lowered the small cores, which caps no big one.
        let allowed = if cpu < 4 { khz / 2 } else { khz };
        made = made.text(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_max_freq"), &format!("{allowed}\n"));
    }
    let machine = made.discover();
    assert_eq!((machine.cpu.packages, machine.cpu.cores), (Some(1), Some(8)));
    let kinds: Vec<_> = machine.cpu.core_types.iter().map(|one| (one.kind, one.cpus.clone(), one.boost_hz)).collect();
    let expected = [
        (CoreKind::Performance, vec![6, 7], Some(2.304e9)),
        (CoreKind::Performance, vec![4, 5], Some(2.256e9)),
        (CoreKind::Efficiency, vec![0, 1, 2, 3], Some(1.8e9)),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(machine.cpu.microarchitecture.as_deref(), Some("Cortex-A76 + Cortex-A55"));
    let kernel = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Neon };
    let peaks = cpu_peaks(&machine, kernel, &(0..8).collect::<Vec<_>>(), None, None);
    let formula = "2 P-cores x 2.30 GHz x 8 flop/cycle + 2 P-cores x 2.26 GHz x 8 flop/cycle + 4 E-cores x 1.80 GHz x 4 flop/cycle";
    assert_eq!(
        peaks.iter().map(|peak| (peak.kind, peak.formula.as_str())).collect::<Vec<_>>(),
        [(PeakKind::Boost, formula)]
    );
}

#[test]
fn the_part_of_one_core_is_not_that_of_another_cluster() {
    let cpus = (0..4).map(|cpu| format!("processor\t: {cpu}\n")).collect::<Vec<_>>().concat();
    let of = |packages: [u32; 4]| {
        let cores = packages.map(|package| (ARM, 0xd03, package));
        let part = "Features\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n";
        Made::new("one-statement").cpus(&cores, "").text("proc/cpuinfo", &format!("{cpus}{part}")).discover()
    };
    let (alike, differ) = (of([0; 4]), of([0, 0, 1, 1]));
    assert_eq!(
        (alike.cpu.microarchitecture.as_deref(), differ.cpu.microarchitecture.as_deref()),
        (Some("Cortex-A53"), None)
    );
    assert!(unknown(&differ, "cpu.core_types").unwrap().contains("the part of one core"));
    assert_eq!((differ.cpu.packages, differ.cpu.isa), (Some(1), vec![Isa::Scalar, Isa::Neon]));
}

#[test]
fn a_bare_server_keeps_its_packages_and_counts_its_modules() {
    let cores: Vec<_> = (0..4).map(|cpu| (ARM, 0xd0c, cpu / 2)).collect();
    let slot = |number: u32| {
        format!(
            "E:MEMORY_DEVICE_{number}_SIZE=17179869184\nE:MEMORY_DEVICE_{number}_TYPE=DDR4\n\
         E:MEMORY_DEVICE_{number}_DATA_WIDTH=64\nE:MEMORY_DEVICE_{number}_CONFIGURED_SPEED_MTS=3200\n\
         E:MEMORY_DEVICE_{number}_LOCATOR=P{}-DIMM{}1\n",
            number / 8,
            char::from(b'A' + u8::try_from(number % 8).unwrap())
        )
    };
    let made = Made::new("altra").cpus(&cores, N1).firmware("WIWYNN", "Mt.Jade Server System B81.03001.0005");
    let machine = made.text("run/udev/data/+dmi:id", &(0..16).map(slot).collect::<String>()).discover();
    assert_eq!(
        (machine.cpu.packages, machine.cpu.hypervisor_bit, machine.cpu.model_name.clone()),
        (Some(2), Some(false), None)
    );
    assert_eq!(memory(&machine), [(PeakKind::Datasheet, "16 channels x 3200 MT/s x 8 B".to_owned())]);
}

#[test]
fn an_unknown_core_has_no_limit_until_one_is_measured() {
    let machine = Made::new("unknown").cpus(&[(ARM, 0xdff, 0); 2], V1).discover();
    assert_eq!(machine.cpu.microarchitecture, None);
    assert_eq!(unknown(&machine, "cpu.microarchitecture"), Some("the table has no row for part 0xdff of Arm"));
    let kernel = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Neon };
    assert!(cpu_peaks(&machine, kernel, &[0], Some(&[3e9]), None).is_empty());
    let measured = cpu_peaks(&machine, kernel, &[0], Some(&[3e9]), Some(15.8));
    assert_eq!((measured[0].kind, measured[0].value), (PeakKind::Inferred, 48e9));
    let scalar = CpuKernel { isa: Isa::Scalar, ..kernel };
    let measured = cpu_peaks(&machine, scalar, &[0], Some(&[3e9]), Some(3.97));
    assert!(measured[0].inputs[2].source.ends_with("1.98 x FMADD"), "{}", measured[0].inputs[2].source);
    assert_eq!(unknown(&machine, "cpu.hypervisor_bit"), Some("neither firmware's identity nor a device tree is known"));
    assert!(machine.unknown.iter().all(|fact| !fact.why.contains("CPUID")), "{:?}", machine.unknown);
}

#[test]
fn features_of_32_bit_processes_are_not_those_of_64_bit_ones() {
    let names = "half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt lpae evtstrm aes pmull sha1 sha2 crc32";
    let made = Made::new("armv7l").cpus(&[(ARM, 0xd08, 0)], names);
    assert_eq!(unknown(&made.discover(), "cpu.isa"), Some("/proc/cpuinfo lists the features of 32-bit processes"));
    assert_eq!(made.discover().cpu.isa, [Isa::Scalar]);
    // What the kernel passed to a 64-bit process counts, also without /proc/cpuinfo.
    let passed: Vec<u8> = [(16_u64, 0b11_u64), (0, 0)]
        .iter()
        .flat_map(|(key, value)| [*key, *value])
        .flat_map(u64::to_le_bytes)
        .collect();
    let made = made.bytes("proc/self/auxv", &passed);
    assert_eq!(made.discover().cpu.isa, [Isa::Scalar, Isa::Neon]);
    fs::remove_file(made.0.join("proc/cpuinfo")).unwrap();
    let made = made.text(&format!("{CPUS}/cpu0/regs/identification/midr_el1"), "0x00000000410fd083\n");
    let machine = made.discover();
    assert_eq!(
        (machine.cpu.microarchitecture.as_deref(), &machine.cpu.isa[..]),
        (Some("Cortex-A72"), &[Isa::Scalar, Isa::Neon][..])
    );
}
