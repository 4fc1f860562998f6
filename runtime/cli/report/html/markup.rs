//! Texts and tables as HTML.

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
    let row = |tag: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let titles = row("th", titles.iter().map(|title| title.as_ref().to_owned()).collect());
    let rows: String = rows.into_iter().map(|cells| row("td", cells)).collect();
    format!("<table>\n{titles}{rows}</table>\n")
}
