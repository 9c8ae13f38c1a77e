//! The test data of pytorch/cpuinfo: files of Android devices in C headers, each with a test that states the cores.

use std::collections::BTreeMap;
use std::path::Path;

use super::case::{Case, file_name, files, read};
use super::facts::{Facts, THREADS};
use crate::record::write;
use crate::source::Source;

const FOLDER: &str = "test/mock";

/// The devices with a processor of Arm and all CPUs online.
pub(crate) fn cases(source: &Source, scratch: &Path) -> Result<Vec<Case>, String> {
    source.write_files(FOLDER, scratch)?;
    let mut cases = Vec::new();
    for test in files(&scratch.join(FOLDER), "cc")? {
        let Ok(header) = read(&test.with_extension("h")) else { continue };
        let recorded = recorded(&header);
        if recorded.get("proc/cpuinfo").is_none_or(|text| !text.contains("CPU implementer")) {
            continue;
        }
        let stated = stated(&read(&test)?);
        // The tests state CPUs that were offline, too: those devices are left out.
        let online =
            recorded.get("sys/devices/system/cpu/online").map(|list| machine::parse_list(list).len().to_string());
        if stated.0.get(THREADS) != online.as_ref() {
            continue;
        }
        let name = file_name(&test.with_extension(""));
        let root = scratch.join("root").join(&name);
        for (path, text) in recorded {
            let path = root.join(path);
            let parent = path.parent().unwrap_or(&root);
            std::fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
            write(&path, &text)?;
        }
        cases.push(Case::new("cpuinfo, Android".to_owned(), name, stated, &root, false)?);
    }
    Ok(cases)
}

/// The files in a header, `.path = "/proc/cpuinfo"` and then the lines of their contents.
fn recorded(header: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut path = None;
    for line in header.lines().map(str::trim) {
        let quoted = line.split_once('"').and_then(|(before, rest)| Some((before.trim(), rest.rsplit_once('"')?.0)));
        match quoted {
            Some((".path =", name)) => path = Some(name.trim_start_matches('/').to_owned()),
            Some(("" | ".content =", text)) => {
                if let Some(path) = &path {
                    found.entry(path.clone()).or_default().push_str(&unescaped(text));
                }
            }
            _ if line.starts_with('}') => path = None,
            _ => {}
        }
    }
    found
}

fn unescaped(text: &str) -> String {
    text.replace("\\t", "\t").replace("\\n", "\n").replace("\\\"", "\"").replace("\\x00", "\0")
}

/// The body of one test.
fn body<'t>(text: &'t str, name: &str) -> &'t str {
    let after = text.split_once(&format!("TEST({name}) {{")).map_or("", |(_, after)| after);
    after.split("\nTEST(").next().unwrap_or(after)
}

fn stated(text: &str) -> Facts {
    let number = |name: &str| -> Option<u32> {
        let (_, after) = body(text, name).split_once("ASSERT_EQ(")?;
        after.split(',').next()?.trim().parse().ok()
    };
    let mut facts = Facts::default();
    let (Some(threads), Some(cores)) = (number("PROCESSORS, count"), number("CORES, count")) else { return facts };
    facts.counts(threads, Some(cores));
    let mut of_cores: BTreeMap<String, u32> = BTreeMap::new();
    let mut cases = 0;
    for line in body(text, "CORES, uarch").lines().map(str::trim) {
        if line.starts_with("case ") {
            cases += 1;
        } else if let Some((_, after)) = line.split_once("ASSERT_EQ(cpuinfo_uarch_") {
            let uarch = after.split(',').next().unwrap_or_default();
            *of_cores.entry(name(uarch)).or_default() += if cases == 0 { cores } else { cases };
            cases = 0;
        }
    }
    facts.microarchitectures(&of_cores);
    facts
}

/// `cortex_a55r0` as `Cortex-A55`, `exynos_m1` as `Exynos M1`.
fn name(uarch: &str) -> String {
    if let Some(number) = uarch.strip_prefix("cortex_a") {
        return format!("Cortex-A{}", number.trim_end_matches("r0"));
    }
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    uarch.split('_').filter(|word| !word.is_empty()).map(capital).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_statements_are_read() {
        let header = "struct file filesystem[] = {\n\t{\n\t\t.path = \"/proc/cpuinfo\",\n\t\t.size = 9,\n\t\t.content =\n\
            \t\t\t\"processor\\t: 0\\n\"\n\t\t\t\"\\n\",\n\t},\n\t{\n\t\t.path = \"/sys/a\",\n\t\t.content = \"0-3\\n\",\n\t},\n};\n";
        let expected = [("proc/cpuinfo", "processor\t: 0\n\n"), ("sys/a", "0-3\n")];
        assert_eq!(recorded(header), expected.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
        let test = "TEST(PROCESSORS, count) {\n\tASSERT_EQ(3, f());\n}\n\nTEST(CORES, count) {\n\tASSERT_EQ(3, f());\n}\n\n\
            TEST(CORES, uarch) {\n\tcase 0:\n\tcase 1:\n\tASSERT_EQ(cpuinfo_uarch_cortex_a55r0, x);\n\tcase 2:\n\
            \tASSERT_EQ(cpuinfo_uarch_exynos_m3, x);\n}\n";
        let mut facts = Facts::default();
        facts.counts(3, Some(3));
        facts.microarchitectures(&BTreeMap::from([("Cortex-A55".to_owned(), 2), ("Exynos M3".to_owned(), 1)]));
        assert_eq!(stated(test), facts);
    }
}
