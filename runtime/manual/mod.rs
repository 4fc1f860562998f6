//! The manual: documentation that lives beside the code and cannot drift from its names.
//!
//! - [`architecture`]: who does what, on which thread, and what holds for ever
//! - [`wire_format`]: every byte between two ranks
//! - [`launching`]: how ranks are started, found, and ended; environment variables and exit statuses
//! - [`measuring`]: what the numbers mean and how they are taken
//! - [`models`]: what the papers' models say, and which of their printed formulas and numbers are wrong; `lathide predict`

pub mod architecture;
pub mod launching;
pub mod measuring;
pub mod models;
pub mod wire_format;
