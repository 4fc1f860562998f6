//! A part of the page.

/// A part of the page: HTML.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) body: String,
}

/// The members of a list; nothing if it is none.
pub(super) fn list<'a>(json: &'a serde_json::Value, member: &str) -> &'a [serde_json::Value] {
    json[member].as_array().map(Vec::as_slice).unwrap_or_default()
}
