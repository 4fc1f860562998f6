//! The applications: whole programs from the papers, each in a version that hides its messages and in two that do not.
//!
//! The papers measured their models on programs: a solver by domain decomposition, the flow in a cavity, conjugate gradients,
//! multigrid, a relaxation. These programs are in `examples/`. They solve the problem, check the result, and name what
//! each message is for. So a model's prediction can stand beside what a program takes on a network of today.
//!
//! | page | program | paper |
//! | --- | --- | --- |
//! | [`decomposition`] | Poisson's equation, conjugate gradients with a wire-basket preconditioner | Stoica, Sultan, Keyes 1994, section 5.1, Figs 15 to 17 |
//! | [`cavity`] | flow in a cavity, multigrid parallel in space and in time | the same, section 5.2, Figs 18 to 20 |
//! | [`krylov`] | conjugate gradients: plain, parCG, pipelined | Strumpen 1994, section 4.3, Fig. 24; Ghysels, Vanroose 2014 |
//! | [`multigrid`] | V- and F-cycles in two and three dimensions | Matheson, Tarjan 1993 |
//! | [`laplace`] | Jacobi's iteration on strips or blocks | Hanuliak 2014, section 6.1 |
//! | [`halos`] | the heat equation with several ghost columns | beyond Strumpen 1994, eq. (1) |
//!
//! # Versions
//!
//! All versions of a program calculate the same, and send the same messages in a unit of work but for barriers. What
//! differs is when a rank waits (`--version`):
//!
//! | version | |
//! | --- | --- |
//! | `native` | as with blocking calls: an exchange is posted and waited for at once |
//! | `synchronised` | the same, with a barrier before exchanges (each page says which): all ranks send at once, so contention is greatest |
//! | `hidden` | reads and writes are posted as soon as their data is known, and waited for where it is needed |
//!
//! *native* and *synchronised* are the two versions that Stoica, Sultan and Keyes measured. *hidden* is Strumpen's.
//! [`halos`] has his I.1 and I.3 (`--version i1`, `i3`) instead of `native` and `hidden`.
//!
//! # Regions
//!
//! Each program says what its messages are for ([regions](super::observing#regions)). The outer region is the unit of work:
//! `iteration`, or `cycle` in [`cavity`] and [`multigrid`]. It is entered once for each. Within it a message counts for
//! the innermost region: `halo`, `sums` and so on, which the pages list. `barrier` has the synchronised version's barriers.
//! What is before and after the units has regions too (`setup`, `start`, `check`, `result`), and is no part of them.
//!
//! `lathide run -n 4 --report=run.json PROGRAM …` saves how often each region was entered, and its messages by size. Counts and
//! bytes on these pages are for one unit and one rank, and are what such reports have. Words are of 8 bytes. How many
//! messages a collective takes depends on its algorithm ([`collectives`](super::collectives)).
//!
//! # Predicted beside measured
//!
//! [`lathide study`](super::measuring#lathide-study) runs a program in its versions. It counts messages by region, prices them with
//! the link's parameters, and shows for one unit and rank:
//!
//! - T_s, the sending time: until the last byte of a message has left the host
//!   ([sending times](super::observing#sending-times)). Predicted without contention, with all ranks sending at once, and with
//!   as many as were observed.
//! - T_r, the receiving time: from the post of a read until its message is complete. Compared in the synchronised
//!   version only, since elsewhere a read also waits for its sender. What collectives receive is not timed.
//! - G, the gain: a unit's time, native over hidden, beside eqs. (1) and (4) of Strumpen.
//!
//! Over loopback or `--link` messages leave at the pace of this machine, and T_s says nothing of the link. Use hosts, or a
//! [lab](super::lab) with `--host-rate`. A lab with one medium for all, as the papers' Ethernet:
//!
//! ```text
//! $ cargo build --release --examples
//! $ lathide lab --hosts 4 --shared --rate 100mbit --host-rate 65mbit --delay 0.2ms -- bash
//! $ lathide study --hosts host0,host1,host2,host3 OPTIONS -- target/release/examples/PROGRAM --version {version} ARGUMENTS
//! ```
//!
//! | PROGRAM | OPTIONS | ARGUMENTS | as |
//! | --- | --- | --- | --- |
//! | `decomposition` | `-n 4 --sweep n=16..512*2` | `--subdomains 4 --n {n} --iterations 50` | Fig. 16; with `--classes "edge A,edge B,edge C"` Fig. 17 |
//! | `cavity` | `--sweep ranks=2,3,4 --sweep pt=2,3,4 --classes grid` | `--pt {pt} --n 64 --cycles 10` | Fig. 19 |
//! | `cavity` | `-n 4 --sweep px=1,2,4 --sweep pt=4,2,1` | `--px {px} --pt {pt} --n 64 --cycles 10` | Fig. 20 |
//! | `krylov` | `-n 4 --sweep algorithm=cg,parcg,pipelined` | `--algorithm {algorithm} --preconditioner ilu --n 400 --iterations 200` | G of Fig. 24, at one p |
//! | `multigrid` | `-n 4 --sweep words=1,10,100,1000` | `--message-words {words} --n 256` | short and long messages |
//! | `laplace` | `-n 4 --sweep decomposition=strips,blocks` | `--decomposition {decomposition} --n 1000 --iterations 200` | section 6.1.2 |
//! | none | `lathide gain --halo 1..64*2 --link wan` instead | | [`halos`] |
//!
//! One rank on each host: ranks of one host share its port, which the model does not know. More hosts need more cores. If
//! ranks share a core, a read's time includes that of another rank's calculation, and the gain is less than on hosts of their own.
//! `--iterations` or `--cycles` sets the number of units, so that all versions have as many.

pub mod cavity;
pub mod decomposition;
pub mod halos;
pub mod krylov;
pub mod laplace;
pub mod multigrid;
