//! The papers' models: which equation is where, where a paper is wrong, and what we take instead.
//!
//! Each model is a module of [`model`](crate::model): plain functions of plain numbers. The papers' own numbers are in
//! `tests/golden`, and the tests meet every one of them: 1e-9 to the formula's value, and the printed value within
//! what its digits allow. A misprint is in there as such: a model that gives the misprint fails.

pub mod cluster;
pub mod decomposition;
pub mod gain;
pub mod hyperbolic;
pub mod multigrid;
