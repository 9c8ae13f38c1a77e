//! Text from elsewhere (names, paths, reasons, output of tools) on one line. Each renderer escapes it for its format.

/// Whether a character changes the reading direction and can so disguise text (Unicode 16.0, UAX 9: marks, embeddings,
/// overrides and isolates).
pub(crate) const fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with one blank for blanks and control characters, without characters of direction and noncharacters.
pub(crate) fn one_line(text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || c.is_control();
    let words = text
        .split(is_gap)
        .map(|word| word.chars().filter(|c| !is_direction(*c) && !is_noncharacter(*c)).collect::<String>());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Whether Unicode reserves this code point for ever: the last two of each plane, and 32 in the first one.
pub(crate) const fn is_noncharacter(c: char) -> bool {
    c as u32 & 0xfffe == 0xfffe || matches!(c, '\u{fdd0}'..='\u{fdef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_goes_and_what_is_stays() {
        assert_eq!(one_line(" a\r\n\tb\u{0}c\u{1b}[31m \u{2028}d "), "a b c [31m d");
        assert_eq!(one_line("x\u{202e}gpj.exe\u{ffff}\u{fdd0}"), "xgpj.exe");
        assert_eq!(one_line("Größe 数据 <b>"), "Größe 数据 <b>");
        assert_eq!(one_line("\n"), "");
    }
}
