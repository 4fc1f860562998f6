//! The papers' models: what they answer, where they are printed wrongly, and how they are fitted to measurements.

pub mod decomposition;
pub mod fit;
