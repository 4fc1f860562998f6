//! A program's own inventory of its messages: from the ranks' reports to classes, and what the hyperbolic model says of them.

mod classes;
mod prices;
mod reports;
mod together;

pub(crate) use classes::{Class, Inventory, beside, counts};
pub(crate) use prices::{Row, receiving, sending, sum};
pub(crate) use reports::{RankReport, read};
