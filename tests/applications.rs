//! What the papers' applications calculate: their own tests, of all programs at once. As real processes they are tested in
//! `it/applications`.

// The programs' main functions are not called here.
#![allow(dead_code)]

#[path = "../examples/cavity/main.rs"]
mod cavity;
#[path = "../examples/decomposition/main.rs"]
mod decomposition;
#[path = "../examples/krylov/main.rs"]
mod krylov;
#[path = "../examples/laplace/main.rs"]
mod laplace;
#[path = "../examples/multigrid/main.rs"]
mod multigrid;
