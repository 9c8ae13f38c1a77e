//! Where the functions of a program on disk are: its symbol table.

use object::{Object, ObjectSection, ObjectSymbol, SymbolIndex};

pub(super) struct Program<'data> {
    file: object::File<'data>,
    /// Name and index of every symbol with `kernels` in its name: a program has 100 000 others.
    symbols: Vec<(&'data str, SymbolIndex)>,
}

/// The bytes of a function, and the address that they are linked at.
pub(super) type Function<'data> = (&'data [u8], u64);

impl<'data> Program<'data> {
    pub(super) fn read(bytes: &'data [u8]) -> Result<Self, String> {
        let file = object::File::parse(bytes).map_err(|error| format!("it is no program: {error}"))?;
        if file.symbols().next().is_none() {
            return Err("it has no symbols: build it without stripping them".to_owned());
        }
        let named = |symbol: object::Symbol<'data, '_>| Some((symbol.name().ok()?, symbol.index()));
        let symbols = file.symbols().filter_map(named).filter(|(name, _)| name.contains("kernels")).collect();
        Ok(Self { file, symbols })
    }

    /// The only function of this path.
    pub(super) fn function(&self, path: &[&str]) -> Result<Function<'data>, String> {
        let found: Vec<_> = self.symbols.iter().filter(|(name, _)| is_path(name, path)).collect();
        let [(_, index)] = found[..] else {
            return Err(format!("{} functions are called {}, not one", found.len(), path.join("::")));
        };
        let symbol = self.file.symbol_by_index(*index).map_err(|error| error.to_string())?;
        let section = symbol.section_index().ok_or("its symbol has no place in the program")?;
        let section = self.file.section_by_index(section).map_err(|error| error.to_string())?;
        let bytes = section.data_range(symbol.address(), symbol.size()).map_err(|error| error.to_string())?;
        let bytes = bytes.filter(|bytes| !bytes.is_empty()).ok_or("its symbol has no size")?;
        Ok((bytes, symbol.address()))
    }
}

/// Whether a symbol, mangled in either of Rust's ways, is the function of this path. Both ways write the parts of a path
/// one after another, each after its length; the older one ends with a hash. LLVM numbers what it shares between units.
fn is_path(symbol: &str, path: &[&str]) -> bool {
    let (symbol, _) = symbol.split_once(".llvm.").unwrap_or((symbol, ""));
    let mangled: String = path.iter().flat_map(|part| [part.len().to_string(), (*part).to_owned()]).collect();
    let Some((_, rest)) = symbol.split_once(&mangled) else { return false };
    rest.is_empty() || rest.strip_prefix("17h").is_some_and(|hash| hash.len() == 17 && hash.ends_with('E'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: [&str; 4] = ["kernels", "x86_64", "dot", "int8_avx512"];

    #[test]
    fn a_path_is_found_in_both_manglings_and_a_similar_name_is_another() {
        for own in [
            "_ZN7kernels6x86_643dot11int8_avx51217h1f292cf0725a366bE",
            "_ZN7kernels6x86_643dot11int8_avx51217h1f292cf0725a366bE.llvm.2981315939418367712",
            "_RNvNtNtCs1234_7kernels6x86_643dot11int8_avx512",
        ] {
            assert!(is_path(own, &PATH), "{own}");
        }
        for other in [
            "_ZN7kernels6x86_643dot16int8_avx512_vnni17h0eef8ffcfb8ae9d4E",
            "_ZN7kernels6x86_643dot11int8_avx51212INT8_AVX512E",
            "_ZN7kernels6x86_643fma11int8_avx51217h1f292cf0725a366bE",
            "_RNvNtNtCs1234_7kernels6x86_643dot11int8_avx512s_0",
            "int8_avx512",
        ] {
            assert!(!is_path(other, &PATH), "{other}");
        }
    }

    #[test]
    fn what_is_no_program_is_an_error() {
        assert!(Program::read(b"#!/bin/sh\n").is_err_and(|error| error.contains("no program")));
    }

    /// The program that runs this test is one, and its own symbols can be found.
    #[test]
    fn a_function_is_found_with_all_of_its_bytes() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let program = Program::read(&own).unwrap();
        let error = program.function(&["kernels", "x86_64", "dot", "int8_abacus"]).unwrap_err();
        assert!(error.contains("0 functions") && error.contains("int8_abacus"), "{error}");
    }
}
