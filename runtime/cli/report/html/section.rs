//! A part of the page.

/// A part of the page: HTML.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) body: String,
}
