//! Text from elsewhere (names, paths, reasons, output of tools) without characters that could disguise it or control a
//! terminal. Each renderer then escapes it for its format.

/// The visible replacement of a character that is not shown.
pub(crate) const REPLACEMENT: char = '\u{fffd}';

/// Whether a character is invisible, controls a terminal or changes the reading direction: control characters, format
/// characters (Unicode 16.0: zero-width characters, marks, embeddings, overrides, isolates) and noncharacters.
pub(crate) const fn is_hidden(c: char) -> bool {
    let is_format = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    // The last two of each plane, and 32 in the first one.
    let is_noncharacter = c as u32 & 0xfffe == 0xfffe || matches!(c, '\u{fdd0}'..='\u{fdef}');
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}') || is_format || is_noncharacter
}

/// The text with U+FFFD for each hidden character except tabs and line feeds, which also replace line breaks of two
/// characters.
pub fn visible(text: &str) -> String {
    let replaced = |c: char| if is_hidden(c) && !matches!(c, '\n' | '\t') { REPLACEMENT } else { c };
    text.replace("\r\n", "\n").chars().map(replaced).collect()
}

/// The text on one line: one blank for white space, and U+FFFD for each other hidden character.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(visible).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_replaced_and_text_stays() {
        assert_eq!(one_line(" a\r\n\tb\u{0}c\u{1b}[31m \u{2028}d "), "a b\u{fffd}c\u{fffd}[31m d");
        assert_eq!(one_line("x\u{202e}gpj.exe\u{ffff}\u{fdd0}"), "x\u{fffd}gpj.exe\u{fffd}\u{fffd}");
        assert_eq!(one_line("\u{61c}\u{200b}\u{2060}\u{feff}\u{9b}"), "\u{fffd}".repeat(5));
        assert_eq!(one_line("Größe 数据 <b>"), "Größe 数据 <b>");
        assert_eq!(one_line("\n"), "");
        assert_eq!(visible("a\r\n\tb\rc\u{1b}\u{200d}"), "a\n\tb\u{fffd}c\u{fffd}\u{fffd}");
    }
}
