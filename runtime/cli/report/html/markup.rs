//! Texts and tables as HTML.

use std::fmt::Write as _;

/// Text as HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A paragraph; nothing for an empty text.
pub(super) fn paragraph(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("<p>{}</p>\n", escaped(text))
}

/// A table of texts; the first column is flush left.
pub(super) fn table<T: AsRef<str>>(titles: &[T], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = String>| {
        cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(&cell))).collect::<String>()
    };
    let mut html = String::from("<table>\n<tr>");
    html += &cells("th", &mut titles.iter().map(|title| title.as_ref().to_owned()));
    html += "</tr>\n";
    for row in rows {
        let _ = writeln!(html, "<tr>{}</tr>", cells("td", &mut row.into_iter()));
    }
    html + "</table>\n"
}

/// 0.5 as "50 %".
pub(super) fn share(value: f64) -> String {
    format!("{:.0} %", 100.0 * value)
}
