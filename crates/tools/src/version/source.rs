//! How a program is known to be a tool, and versions as numbers.

/// How a tool is known, and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionSource {
    /// The program prints its version behind `prefix` when it is run with `argument`.
    Asked {
        /// What it is run with.
        argument: &'static str,
        /// What precedes the version in its answer.
        prefix: &'static str,
        /// The oldest version whose options and output are known: major and minor.
        oldest: (u32, u32),
    },
    /// The program measures whatever it is run with; its file contains the version behind `prefix`.
    Written {
        /// What precedes the version in the file.
        prefix: &'static str,
        /// The oldest version whose output is known: major and minor.
        oldest: (u32, u32),
    },
    /// The program has no version. Its file contains words that no other program has.
    Marked {
        /// The words.
        words: &'static str,
    },
    /// The program has no version. It prints its help when it is run with `argument`.
    Unsaid {
        /// What it is run with.
        argument: &'static str,
        /// Words of the help, on one line, that no other tool prints.
        help: &'static str,
    },
}

impl VersionSource {
    /// What the program is run with; `None` where its file is read instead.
    pub const fn argument(&self) -> Option<&'static str> {
        match self {
            Self::Asked { argument, .. } | Self::Unsaid { argument, .. } => Some(argument),
            Self::Written { .. } | Self::Marked { .. } => None,
        }
    }
}

/// Major and minor of a version, as far as they are numbers: `3.7-no.git` is (3, 7).
pub(crate) fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(major_minor("3.7-no.git"), Some((3, 7)));
        assert_eq!(major_minor("3.16"), Some((3, 16)));
        assert_eq!(major_minor("4"), Some((4, 0)));
        for garbage in ["", "x", "-1.2", ".5"] {
            assert_eq!(major_minor(garbage), None, "{garbage}");
        }
    }
}
