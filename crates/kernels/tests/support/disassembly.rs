//! Functions of this program on 64-bit Arm, disassembled by binutils.
#![expect(clippy::unwrap_used, reason = "what fails here is a test")]

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes that the longest function does not exceed, and those of one instruction.
const LONGEST: usize = 4096;
pub(crate) const INSTRUCTION: usize = 4;
/// RET.
const RETURN: u32 = 0xd65f_03c0;

/// An instruction: its mnemonic, and its operands as registers and other words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) mnemonic: String,
    pub(crate) operands: Vec<String>,
}

impl Instruction {
    /// Parses a line of objdump: address, code, mnemonic and operands, separated by tabs.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t').skip(2);
        let mnemonic = fields.next()?.trim().to_owned();
        let operands = fields.next().unwrap_or_default().split("//").next().unwrap_or_default();
        let words = operands.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty());
        Some(Self { mnemonic, operands: words.collect() })
    }

    /// The register of an operand without arrangement: `v4` for `v4.2d`; for a load or store of floating point, as a vector.
    pub(crate) fn register(&self, operand: usize) -> &str {
        self.operands.get(operand).map_or("", |word| word.split('.').next().unwrap_or_default())
    }
}

/// The words of the function at `start`, up to its return.
fn words(start: *const u8) -> Vec<u32> {
    // SAFETY: the functions of this program are followed by more of it, and instructions are aligned words.
    let word = |index: usize| unsafe { start.add(index * INSTRUCTION).cast::<[u8; INSTRUCTION]>().read() };
    let word = |index: usize| u32::from_le_bytes(word(index));
    let length = (0..LONGEST / INSTRUCTION).position(|index| word(index) == RETURN);
    (0..=length.unwrap_or_else(|| panic!("no return"))).map(word).collect()
}

/// The instructions of the function at `start`; none where no disassembler is installed.
pub(crate) fn function(start: *const u8) -> Option<Vec<Instruction>> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let code: Vec<u8> = words(start).into_iter().flat_map(u32::to_le_bytes).collect();
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("assay-codegen-{}-{number}", std::process::id()));
    std::fs::write(&file, &code).unwrap();
    let tools = ["aarch64-linux-gnu-objdump", "objdump"];
    let decode = |tool: &&str| {
        let output = Command::new(tool).args(["-D", "-b", "binary", "-m", "aarch64"]).arg(&file).output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    let text = tools.iter().find_map(decode);
    std::fs::remove_file(&file).unwrap();
    let all: Vec<_> = text?.lines().filter_map(Instruction::parse).collect();
    assert_eq!(all.len() * INSTRUCTION, code.len());
    Some(all)
}

/// The loops of a function, innermost first, each with its end: a count down and a jump back.
pub(crate) fn loops(all: &[Instruction]) -> Vec<std::ops::Range<usize>> {
    let begin = |one: &Instruction| usize::from_str_radix(one.operands[0].strip_prefix("0x")?, 16).ok();
    let ends = (0..all.len()).filter(|end| all[*end].mnemonic == "b.ne");
    let found = ends.map(|end| begin(&all[end]).unwrap_or_default() / INSTRUCTION..end + 1);
    found
        .filter(|range| range.start < range.end)
        .inspect(|range| assert_eq!(all[range.end - 2].mnemonic, "subs"))
        .collect()
}
