//! Texts as HTML.

/// Text as HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A paragraph; nothing for an empty text.
pub(super) fn paragraph(text: &str) -> String {
    classed("", text)
}

/// A paragraph of a class; nothing for an empty text.
pub(super) fn classed(class: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<p{class}>{}</p>\n", escaped(text))
}

/// A list of texts; nothing for an empty one.
pub(super) fn list(class: &str, texts: &[String]) -> String {
    if texts.is_empty() {
        return String::new();
    }
    let items: String = texts.iter().map(|text| format!("<li>{}</li>\n", escaped(text))).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}
