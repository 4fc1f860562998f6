//! Text that came from elsewhere and will be shown: whatever a terminal would obey is spelled out, and it is not endless.
//!
//! Words of other processes are made harmless where they come in, so that no message that is made of them needs a thought:
//! with `#[serde(deserialize_with = "text::string")]` on what frames carry.

use serde::{Deserialize, Deserializer};

/// More words than this nobody reads; and what quotes them must fit a control frame again.
pub(crate) const WORDS_BYTES_MAX: usize = 32 << 10;

/// The same, with characters that control a terminal, or the direction of writing, as `\u{1b}`. Lines stay.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmless(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    shown
}

/// [`printable`], and at most 32 KiB of it, for a field of a message.
pub fn string<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|text| bounded(printable(&text)))
}

/// The same for a field that may be missing.
pub fn option<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| bounded(printable(&text))))
}

/// At most [`WORDS_BYTES_MAX`] of it, and how much that leaves out.
pub(crate) fn bounded(text: String) -> String {
    if text.len() <= WORDS_BYTES_MAX {
        return text;
    }
    let left = cut(&text, WORDS_BYTES_MAX - 64);
    format!("{left} ... ({} bytes more)", text.len() - left.len())
}

fn is_harmless(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    matches!(character, '\n' | '\t') || !(character.is_control() || turns)
}

/// As much of the text as is no longer than `bytes_max` bytes.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_spelled_out() {
        for (text, shown) in [
            ("rank 3: größer\n\tby 7 %", "rank 3: größer\n\tby 7 %"),
            ("\x1b[2J\x1b]0;title\x07", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
            ("over\rwritten\x08\0\x7f", "over\\u{d}written\\u{8}\\u{0}\\u{7f}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
        ] {
            assert_eq!(printable(text), shown);
        }
        let all: String = (0..=u32::from('\u{2100}')).filter_map(char::from_u32).collect();
        assert!(printable(&all).chars().all(|character| matches!(character, '\n' | '\t') || !character.is_control()));
    }

    #[test]
    fn no_words_are_endless() {
        assert_eq!(bounded("a".repeat(WORDS_BYTES_MAX)), "a".repeat(WORDS_BYTES_MAX));
        for sign in ["a", "\u{e9}", "\u{1f600}"] {
            let said = bounded(sign.repeat(1 << 20));
            assert!(said.len() <= WORDS_BYTES_MAX && said.starts_with(sign) && said.ends_with(" bytes more)"));
            assert_eq!(bounded(said.clone()), said);
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        for (text, bytes_max, left) in
            [("", 0, ""), ("ab", 9, "ab"), ("ab", 1, "a"), ("a\u{e9}b", 2, "a"), ("\u{1f600}", 3, "")]
        {
            assert_eq!(cut(text, bytes_max), left, "{text} to {bytes_max}");
        }
    }
}
