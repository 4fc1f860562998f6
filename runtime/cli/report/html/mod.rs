//! Saved results as one self-contained page: verdicts, figures, tables. Nothing is loaded from anywhere. Pure.
//!
//! `command` makes a section of each file, `figure` draws, `table` and `page` write HTML, `save` gives single files.

mod command;
mod figure;
mod markup;
mod page;
mod save;
mod section;
mod style;
mod table;

pub(crate) use figure::timeline::small;
pub(crate) use page::Page;
pub(crate) use save::{pictures, values};

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
