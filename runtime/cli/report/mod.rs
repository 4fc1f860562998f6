//! Results for people: numbers summed up, tables, curves in the terminal, a page of saved results.

mod axis;
pub(crate) mod description;
pub(crate) mod format;
pub(crate) mod html;
mod place;
pub(crate) mod plot;
pub(crate) mod results;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod verdict;

/// The width that every table and curve fits into, in columns.
pub(crate) const WIDTH: usize = 100;

/// A paragraph broken into lines of at most [`WIDTH`] columns, at blanks.
pub(crate) fn wrap(paragraph: &str) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped() {
        assert_eq!(wrap(" a  b\nc "), "a b c");
        let long = "word ".repeat(50);
        let text = wrap(&long);
        assert!(text.lines().count() == 3 && text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert_eq!(text.split_whitespace().count(), 50);
        assert_eq!(wrap(&"x".repeat(150)).len(), 150, "a long word is left whole");
        assert_eq!(wrap(""), "");
    }
}
