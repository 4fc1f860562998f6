//! The papers' models: what each says, where its paper is wrong, and what we take instead.

pub mod cluster;
pub mod multigrid;
