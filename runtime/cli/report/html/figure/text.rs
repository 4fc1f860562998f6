//! Texts in figures, and how much room they take.

use crate::report::html::markup::escaped;

/// The height of a line.
pub(super) const LINE: f64 = 17.0;
/// The width of a letter, of the wide fonts among those that a browser may take.
const LETTER: f64 = 7.4;

/// The width that a text may take.
pub(super) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// The text, shortened to a width.
pub(super) fn fitted(text: &str, room: f64) -> String {
    let most = (room / LETTER).floor().max(1.0) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}\u{2026}", kept.trim_end())
}

/// A text at a place. Classes: `mid` and `end` set where it begins, `ink` its colour.
pub(super) fn at(class: &str, x: f64, y: f64, text: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", escaped(text))
}

/// A tooltip.
pub(super) fn tip(text: &str) -> String {
    format!("<title>{}</title>", escaped(text))
}
