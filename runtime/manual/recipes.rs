//! Recipes: whole programs of at most 60 lines, with MPI's calls beside those that are used here.
//!
//! They are in `examples/recipes/`. Each runs on any number of ranks, and compares its result with a sequential one:
//!
//! ```text
//! $ cargo build --release --examples
//! $ lathide run -n 9 target/release/examples/summa
//! ```
//!
//! # Block Jacobi
//!
//! A grid of ranks, each with a block and a frame of ghosts. The edges travel, columns too, while the interior is computed.
//!
//! | MPI | here |
//! | --- | --- |
//! | `MPI_Cart_create`, `MPI_Cart_shift` | [`Grid`](crate::Grid), [`Grid::shift`](crate::Grid::shift) |
//! | `MPI_Type_vector`, `MPI_Type_create_subarray` | [`Section`](crate::Section) |
//! | `MPI_Ineighbor_alltoallw` | [`Group::initexchange_sections`](crate::Group::initexchange_sections) |
//!
//! ```no_run
#![doc = include_str!("../../examples/recipes/jacobi.rs")]
//! ```
//!
//! # SUMMA
//!
//! A product of matrices in blocks. Panels are broadcast along rows and columns of ranks, the next ones while these are multiplied.
//!
//! | MPI | here |
//! | --- | --- |
//! | `MPI_Cart_sub` | [`Grid::line`](crate::Grid::line) |
//! | `MPI_Ibcast` | [`Group::initbroadcast`](crate::Group::initbroadcast) |
//!
//! ```no_run
#![doc = include_str!("../../examples/recipes/summa.rs")]
//! ```
//!
//! # Task farm
//!
//! Tasks of unequal length. Whoever returns a result gets another task, and has one more to go on with.
//!
//! | MPI | here |
//! | --- | --- |
//! | `MPI_Recv` from `MPI_ANY_SOURCE`, `MPI_Status` | [`Node::initread_any`](crate::Node::initread_any) |
//! | `MPI_Irecv`, `MPI_Send` | [`Node::initread`](crate::Node::initread), [`Node::initwrite`](crate::Node::initwrite) |
//!
//! ```no_run
#![doc = include_str!("../../examples/recipes/farm.rs")]
//! ```
//!
//! # Sample sort
//!
//! Each key goes to the rank whose interval it is in. Only the sender knows how many those are.
//!
//! | MPI | here |
//! | --- | --- |
//! | `MPI_Mprobe`, `MPI_Get_count`, `MPI_Mrecv` | [`Node::initread_vec`](crate::Node::initread_vec) |
//! | `MPI_Waitany` | [`WaitSet`](crate::WaitSet) |
//! | `MPI_Isend` of a part of a buffer | [`Part`](crate::Part) of an `Arc<[T]>` |
//! | `MPI_Exscan` | [`Group::exscan`](crate::Group::exscan) |
//!
//! ```no_run
#![doc = include_str!("../../examples/recipes/sort.rs")]
//! ```
//!
//! # Transpose
//!
//! The transposition between the two passes of a transform. Half of the rows travels while the other half is computed.
//!
//! | MPI | here |
//! | --- | --- |
//! | `MPI_Ialltoallv` | [`Group::initalltoall_counts`](crate::Group::initalltoall_counts) |
//! | `MPI_Type_vector`, `MPI_Pack`, `MPI_Unpack` | [`Section::pack`](crate::Section::pack), [`Section::unpack`](crate::Section::unpack) |
//!
//! ```no_run
#![doc = include_str!("../../examples/recipes/transpose.rs")]
//! ```
//!
//! # Pipelined conjugate gradients
//!
//! The scalar products are summed over all ranks during the product of the matrix and a vector.
//!
//! | MPI | here |
//! | --- | --- |
//! | `MPI_Iallreduce` | [`Group::initallreduce`](crate::Group::initallreduce) |
//! | `MPI_Ineighbor_alltoall` | [`Group::initexchange`](crate::Group::initexchange) |
//!
//! ```no_run
#![doc = include_str!("../../examples/recipes/cg.rs")]
//! ```
//!
//! # Async server of requests
//!
//! Requests of any rank and any length are awaited beside a clock; clients wait with a timeout. No message is lost.
//!
//! | MPI | here |
//! | --- | --- |
//! | `MPI_Iprobe` in a loop | `.await` of [`Node::initread_any_vec`](crate::Node::initread_any_vec) |
//! | `MPI_Cancel`, `MPI_Test_cancelled` | [`Handle::cancel`](crate::Handle::cancel) |
//! | none | `tokio::time::timeout`, `select!` |
//!
//! ```no_run
#![doc = include_str!("../../examples/recipes/server.rs")]
//! ```
//!
//! # Hybrid with rayon
//!
//! One thread of each rank communicates while the threads of a pool compute.
//!
//! | MPI | here |
//! | --- | --- |
//! | `MPI_Init_thread(MPI_THREAD_FUNNELED)` | nothing to declare |
//! | `MPI_Ineighbor_alltoall` | [`Group::initexchange`](crate::Group::initexchange) |
//!
//! ```no_run
#![doc = include_str!("../../examples/recipes/hybrid.rs")]
//! ```
