//! Why a tool's value and ours may differ: rules that are stated beforehand, each with the side to which it moves the
//! tool's value. One that moves it to the other side explains nothing and is not given.

/// One thing that is known to set a tool's value apart from ours.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id among the tool's rules.
    pub name: &'static str,
    /// Where it holds; `None` for wherever the tool is run.
    pub when: Option<&'static str>,
    /// To which side it moves the tool's value.
    pub makes_it: Side,
}

/// A side to which a tool's value is moved, as its rate is: a longer latency is a slower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The tool is slower for it.
    Slower,
    /// The tool is faster for it.
    Faster,
    /// It depends on the machine.
    Either,
}

/// A rule that holds here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The rule.
    pub rule: &'static Rule,
    /// What it says, as a part of a sentence that begins with the tool.
    pub says: String,
}

impl Rule {
    /// A rule that holds where `when` says.
    pub(crate) const fn new(name: &'static str, when: Option<&'static str>, makes_it: Side) -> Self {
        Self { name, when, makes_it }
    }

    /// That it holds, in these words.
    pub(crate) fn says(&'static self, words: impl Into<String>) -> Reason {
        Reason { rule: self, says: words.into() }
    }
}
