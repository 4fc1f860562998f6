//! What text is shown on: how wide it is, and whether it has colours. Pure.

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Screen {
    /// Lines have at most so many columns, where words and single columns allow it.
    pub(crate) width: usize,
    /// Whether the terminal's escape sequences may be used.
    pub(crate) colour: bool,
}

/// What a colour says. The text says it too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// What was found out.
    Verdict,
    /// When not to trust it.
    Warning,
    /// What went wrong.
    Error,
}

/// Narrower and wider screens are taken for one of these: a table needs some columns, and long lines are hard to read.
const NARROWEST: usize = 40;
const WIDEST: usize = 160;

impl Screen {
    /// Where there is no terminal.
    #[cfg(any(test, fuzzing))]
    pub(crate) const PLAIN: Screen = Screen { width: super::WIDTH, colour: false };

    /// A terminal of so many columns.
    pub(crate) fn of(columns: usize, colour: bool) -> Self {
        Screen { width: columns.clamp(NARROWEST, WIDEST), colour }
    }

    /// A paragraph broken into lines at blanks. Lines behind the first begin with `indent` blanks.
    pub(crate) fn wrap(self, paragraph: &str, indent: usize) -> String {
        let (mut text, mut column, mut is_first) = (String::new(), 0, true);
        for word in paragraph.split_whitespace() {
            let length = word.chars().count();
            if !is_first && column + 1 + length > self.width {
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                column = indent;
            } else if !is_first {
                text.push(' ');
                column += 1;
            }
            is_first = false;
            text.push_str(word);
            column += length;
        }
        text
    }

    /// The text in the colour of its meaning, if there are colours.
    pub(crate) fn paint(self, text: &str, meaning: Meaning) -> String {
        let code = match meaning {
            Meaning::Verdict => "1",
            Meaning::Warning => "33",
            Meaning::Error => "1;31",
        };
        self.escape(text, code)
    }

    /// The text behind the terminal's escape sequence of this code, if there are colours.
    pub(super) fn escape(self, text: &str, code: &str) -> String {
        match self.colour && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped() {
        let wrap = |text: &str| Screen::PLAIN.wrap(text, 0);
        assert_eq!(wrap(" a  b\nc "), "a b c");
        let long = "word ".repeat(50);
        for width in [40, 80, 100, 160] {
            let text = Screen::of(width, false).wrap(&long, 2);
            assert_eq!(text.lines().count(), 250_usize.div_ceil(width), "{width}: {text}");
            assert!(text.lines().all(|line| line.len() <= width), "{width}: {text}");
            assert!(text.lines().skip(1).all(|line| line.starts_with("  word")), "{width}: {text}");
            assert_eq!(text.split_whitespace().count(), 50);
        }
        assert_eq!(wrap(&"x".repeat(150)).len(), 150, "a long word is left whole");
        assert_eq!(wrap(""), "");
    }

    #[test]
    fn screens_have_bounds_and_colours_only_where_they_may() {
        assert_eq!([0, 80, 4000].map(|columns| Screen::of(columns, false).width), [NARROWEST, 80, WIDEST]);
        assert_eq!(Screen::of(80, true).paint("no", Meaning::Error), "\x1b[1;31mno\x1b[0m");
        assert_eq!(Screen::of(80, true).paint("", Meaning::Warning), "");
        assert_eq!(Screen::PLAIN.paint("no", Meaning::Error), "no");
    }
}
