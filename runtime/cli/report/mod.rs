//! Results for people: numbers summed up, tables, curves in the terminal, a page of saved results.

mod axis;
pub(crate) mod description;
pub(crate) mod format;
pub(crate) mod html;
pub(crate) mod observed;
mod place;
pub(crate) mod plot;
pub(crate) mod results;
pub(crate) mod screen;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod verdict;

/// The width of what is shown where there is no terminal, in columns.
pub(crate) const WIDTH: usize = 100;

#[cfg(test)]
mod recorded_tests;
