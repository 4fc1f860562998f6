//! Marks of series: shapes that differ, so that colour is not all that tells them apart.

use super::text;
use crate::report::html::style::SERIES;

/// The mark of a series at a place, with a tooltip.
pub(super) fn mark(series: usize, x: f64, y: f64, tip: &str) -> String {
    let path = match series % SERIES {
        0 => format!("M{:.1} {y:.1}a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0z", x - 4.2),
        1 => format!("M{:.1} {:.1}h7.6v7.6h-7.6z", x - 3.8, y - 3.8),
        2 => format!("M{x:.1} {:.1}l5 8.6h-10z", y - 5.4),
        3 => format!("M{x:.1} {:.1}l5.2 5.2l-5.2 5.2l-5.2 -5.2z", y - 5.2),
        4 => format!("M{x:.1} {:.1}l5 -8.6h-10z", y + 5.4),
        _ => format!("M{:.1} {:.1}h3v-3h3.6v3h3v3.6h-3v3h-3.6v-3h-3z", x - 4.8, y - 1.8),
    };
    let tip = if tip.is_empty() { String::new() } else { text::tip(tip) };
    format!("<path class=\"mark {}\" d=\"{path}\">{tip}</path>\n", class(series))
}

/// The class with a series' colour.
pub(super) fn class(series: usize) -> String {
    format!("s{}", series % SERIES)
}

/// What a key of the legend looks like.
pub(super) struct Key {
    pub(super) series: usize,
    pub(super) name: String,
    /// A line, and whether it has gaps.
    pub(super) line: Option<bool>,
    pub(super) has_mark: bool,
}

/// A legend of these keys in rows of this width, and its height.
pub(super) fn legend(keys: &[Key], top: f64, room: f64) -> (String, f64) {
    let (mut svg, mut x, mut y) = (String::new(), 0.0, top + text::LINE);
    for key in keys {
        let name = text::fitted(&key.name, room - 34.0);
        let width = 34.0 + text::width(&name);
        if x > 0.0 && x + width > room {
            (x, y) = (0.0, y + text::LINE + 2.0);
        }
        if let Some(has_gaps) = key.line {
            let dotted = if has_gaps { " dotted" } else { "" };
            let (at, class) = (y - 4.0, class(key.series));
            svg += &format!("<path class=\"line{dotted} {class}\" d=\"M{:.1} {at:.1}h24\"/>\n", x + 2.0);
        }
        if key.has_mark {
            svg += &mark(key.series, x + 14.0, y - 4.0, "");
        }
        svg += &text::at("ink", x + 32.0, y, &name);
        x += width + 14.0;
    }
    (svg, if keys.is_empty() { 0.0 } else { y + 6.0 - top })
}
