//! Text from a document in HTML: names, reasons, command lines. It stays text, on its line and in its reading direction.

use crate::formats::escape::{REPLACEMENT, is_hidden, one_line};

pub(crate) fn escaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len() + raw.len() / 8);
    for c in raw.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#39;"),
            '\n' | '\t' => text.push(c),
            c if is_hidden(c) => text.push(REPLACEMENT),
            c => text.push(c),
        }
    }
    text
}

pub(crate) fn command(arguments: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%^".contains(c);
    let quoted = arguments.iter().map(|argument| {
        if !argument.is_empty() && argument.chars().all(plain) {
            return argument.clone();
        }
        format!("'{}'", argument.replace('\'', r"'\''"))
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// `20 November 2026, 12:00 UTC` for `2026-11-20T12:00:00Z`; other text is unchanged.
pub(crate) fn moment(stamp: &str) -> String {
    const MONTHS: &str = "January February March April May June July August September October November December";
    let parse = || {
        let (date, time) = stamp.strip_suffix('Z')?.split_once('T')?;
        let mut date = date.splitn(3, '-');
        let (year, month, day) = (date.next()?, date.next()?.parse::<usize>().ok()?, date.next()?.parse::<u32>().ok()?);
        let month = MONTHS.split(' ').nth(month.checked_sub(1)?)?;
        let minutes = time.get(..5).filter(|minutes| minutes.as_bytes()[2] == b':')?;
        Some(format!("{day} {month} {year}, {minutes} UTC"))
    };
    parse().unwrap_or_else(|| stamp.to_owned())
}

pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `one`, `one and two`, `one, two and three`.
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

pub(crate) fn some_of(names: &[String], most: usize) -> String {
    let first: Vec<String> = names.iter().take(most).map(|name| one_line(name)).collect();
    match names.len().saturating_sub(most) {
        0 => listed(&first),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The anchor of a result: its index, since an id may contain any character.
pub(super) fn row_anchor(index: usize) -> String {
    format!("r{}", index + 1)
}

/// A kind of warning inside a sentence: `wide interval`, `vCPU shared`.
pub(crate) fn warning_words(code: &str) -> String {
    code.replace('_', " ").replace("cpu", "CPU")
}

/// The end of the anchor of a code's log entry; a code of a later version may contain any character.
pub(super) fn code_anchor(code: &str) -> String {
    let place =
        |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_string() } else { format!("-{:x}", u32::from(c)) };
    code.chars().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("<script>alert('&\")</script>"), "&lt;script&gt;alert(&#39;&amp;&quot;)&lt;/script&gt;");
        assert_eq!(
            escaped("a\u{202e}b\u{0}c\u{1b}[31m\u{2066}\u{200f}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}[31m\u{fffd}\u{fffd}"
        );
        assert_eq!(escaped("Привет, 世界, שלום"), "Привет, 世界, שלום");
    }

    #[test]
    fn a_command_line_can_be_pasted() {
        let words = ["assay", "run", "a b", "it's", "", "--declare", "net.link_bps=25e9"].map(str::to_owned);
        assert_eq!(command(&words), r"assay run 'a b' 'it'\''s' '' --declare net.link_bps=25e9");
    }

    #[test]
    fn a_moment_is_parsed_or_unchanged() {
        assert_eq!(moment("2026-11-20T12:00:00Z"), "20 November 2026, 12:00 UTC");
        for odd in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-20", "2026-00-20T12:00:00Z", "2026-1-1TabéZ"] {
            assert_eq!(moment(odd), odd);
        }
    }

    #[test]
    fn a_list_has_commas_and_an_and() {
        let list = |items: &[&str]| listed(&items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            [list(&[]), list(&["a"]), list(&["a", "b"]), list(&["a", "b", "c"])],
            ["", "a", "a and b", "a, b and c"]
        );
    }
}
