//! Coming from MPI, rsmpi, mpi4py or Gloo: the calls beside each other, and the benchmarks.
//!
//! # Calls
//!
//! | MPI | rsmpi | mpi4py | Gloo | here |
//! | --- | --- | --- | --- | --- |
//! | `MPI_Init` | `mpi::initialize` | at import | `connectFullMesh` | [`init`](crate::init) |
//! | `MPI_Comm_rank`, `_size` | `rank`, `size` | `Get_rank`, `Get_size` | `context->rank`, `size` | [`Group::rank`](crate::Group::rank), [`size`](crate::Group::size) |
//! | `MPI_Isend` | `immediate_send_with_tag` | `Isend` | `buffer->send` | [`Node::initwrite`](crate::Node::initwrite) |
//! | `MPI_Irecv` | `immediate_receive_into_with_tag` | `Irecv` | `buffer->recv` | [`Node::initread`](crate::Node::initread) |
//! | `MPI_Wait` | `wait` | `Wait` | `waitSend`, `waitRecv` | [`Handle::wait`](crate::Handle::wait) |
//! | `MPI_Test` | `test` | `Test` | | [`Handle::test`](crate::Handle::test) |
//! | `MPI_Waitany`, `_Waitsome` | `wait_any`, `wait_some` | `Waitany`, `Waitsome` | | [`WaitSet`](crate::WaitSet) |
//! | `MPI_Send`, `MPI_Recv` | `send_with_tag`, `receive_into_with_tag` | `Send`, `Recv` | | `initwrite(..)?.wait()`, `initread(..)?.wait()` |
//! | `MPI_ANY_SOURCE` | `any_process` | `ANY_SOURCE` | a list of sources | [`Node::initread_any`](crate::Node::initread_any) |
//! | `MPI_Mprobe`, `MPI_Mrecv` | `matched_receive_vec_with_tag` | `Mprobe` | | [`Node::initread_vec`](crate::Node::initread_vec) |
//! | `MPI_Cancel` | `cancel` | `Cancel` | | [`Handle::cancel`](crate::Handle::cancel) |
//! | `MPI_Barrier` | `barrier` | `Barrier` | `barrier` | [`Group::barrier`](crate::Group::barrier) |
//! | `MPI_Bcast` | `broadcast_into` | `Bcast` | `broadcast` | [`Group::broadcast`](crate::Group::broadcast) |
//! | `MPI_Allreduce` | `all_reduce_into` | `Allreduce` | `allreduce` | [`Group::allreduce`](crate::Group::allreduce) |
//! | `MPI_Iallreduce` | `immediate_all_reduce_into` | `Iallreduce` | | [`Group::initallreduce`](crate::Group::initallreduce) |
//! | `MPI_Alltoallv` | `all_to_all_varcount_into` | `Alltoallv` | `alltoallv` | [`Group::alltoall_counts`](crate::Group::alltoall_counts) |
//! | `MPI_SUM` | `SystemOperation::sum` | `MPI.SUM` | `gloo::sum` | [`Operator::sum`](crate::Operator::sum) |
//! | `MPI_Comm_split` | `split_by_color_with_key` | `Split` | a context each | [`Group::split`](crate::Group::split) |
//! | `MPI_Cart_create`, `_shift` | `create_cartesian_communicator` | `Create_cart`, `Shift` | | [`Grid`](crate::Grid) |
//! | `MPI_Type_vector`, `_subarray` | `UserDatatype` | `Create_vector` | | [`Strided`](crate::Strided), [`Section`](crate::Section) |
//! | `MPI_Win_create`, `MPI_Get`, `_Put` | | `Win.Create`, `Get`, `Put` | | [`Node::window`](crate::Node::window) |
//! | `MPI_Finalize` | at drop | at exit | at drop | [`Node::finalize`](crate::Node::finalize) |
//! | `mpirun -n 4` | the same | the same | torchrun | `lathide run -n 4`, and all of those |
//!
//! What is different:
//!
//! - **Progress.** A message moves while both sides compute, without a call. There is no `MPI_Test` to sprinkle.
//! - **Buffers move.** `initread` and `initwrite` take a buffer and `wait` gives it back, so nobody writes into a message that is under
//!   way. `read_into` and `write_from` borrow instead.
//! - **No eager limit.** Every order of operations that is legal completes, whatever the sizes
//!   ([architecture](super::architecture), flow control).
//! - **Order** holds for a pair and a tag. Messages of different tags may overtake each other.
//! - **Errors** are returned, with ranks, tags and sizes; the job is not aborted. A lost rank fails every other rank's next call.
//! - **Types.** An element has one type on both sides; there are no conversions.
//!
//! # Benchmarks
//!
//! What the OSU micro-benchmarks and the Intel MPI benchmarks (IMB) measure, and where it stands in the results of `lathide link` and
//! `lathide collectives`. Both run raw TCP in turns with lathide, so no other program is needed to compare with.
//!
//! | OSU | IMB | here | member of the JSON |
//! | --- | --- | --- | --- |
//! | `osu_latency` | `PingPong` | one-way time, half of a round trip | `latency` |
//! | `osu_bw` | `Uniband` | bandwidth, several messages at a time | `bandwidth` |
//! | `osu_bibw` | `Biband`, `PingPing`, `Exchange` | both ways at once, beside a ping-pong | `exchange` |
//! | `osu_mbw_mr` | `Uniband` with many pairs | messages per second; with `--pairs` what pairs share | `message_rate`, `contention` |
//! | | | a short message behind a long one | `under_load` |
//! | `osu_iallreduce`, ... | `IMB-NBC` | how much of a collective a calculation hides (`lathide collectives`) | `overlap` |
//! | `osu_allreduce`, ... | `IMB-MPI1 Allreduce` | every algorithm beside its prediction (`lathide collectives`) | `points` |
//!
//! OSU and IMB measure overlap of collectives only. `lathide link` also measures that of single messages, and how much of the processor
//! remains: `overlap` and `availability` as defined in [measuring](super::measuring).
