//! The papers' applications, as real processes: each against a sequential or analytic result.

mod cavity;
mod decomposition;
mod krylov;
mod laplace;
mod multigrid;
