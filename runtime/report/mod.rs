//! Results for people: numbers summed up, tables, curves in the terminal.

pub mod machine;
pub mod plot;
pub mod summary;
pub mod table;

/// The width that every table and curve fits into, in columns.
pub const WIDTH: usize = 100;
