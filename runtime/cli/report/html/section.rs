//! A part of the page: what one file has.

use serde_json::Value;

use super::figure::Figure;
use super::table::Grid;
use crate::report::verdict::Verdict;

/// What one file has, in the order in which it is shown.
pub(super) struct Section {
    /// The file's name.
    pub(super) file: String,
    pub(super) title: String,
    pub(super) verdict: Option<Verdict>,
    /// Verdict and conclusion, in the words of the terminal.
    pub(super) meaning: String,
    /// The conclusion alone.
    pub(super) conclusion: String,
    /// When not to trust the numbers.
    pub(super) warnings: String,
    /// Where and how it was measured.
    pub(super) place: Vec<String>,
    pub(super) pieces: Vec<Piece>,
}

/// A piece of a section.
pub(super) enum Piece {
    Text(String),
    Table(Grid),
    Figure(Figure),
}

impl Section {
    /// Without anything in it.
    pub(super) fn new(file: &str, title: impl Into<String>) -> Self {
        Section {
            file: file.to_owned(),
            title: title.into(),
            verdict: None,
            meaning: String::new(),
            conclusion: String::new(),
            warnings: String::new(),
            place: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// Shows a figure next, if it has something to show.
    pub(super) fn figure(&mut self, figure: Option<Figure>) {
        self.pieces.extend(figure.map(Piece::Figure));
    }
}

/// The members of a list; nothing if it is none.
pub(super) fn list<'a>(json: &'a Value, member: &str) -> &'a [Value] {
    json[member].as_array().map(Vec::as_slice).unwrap_or_default()
}
