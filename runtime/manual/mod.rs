//! The manual: documentation beside the code, so that its names are checked.
//!
//! - [`tutorial`]: from a program that waits for its messages to one that hides them, in four steps
//! - [`coming_from`]: the calls and benchmarks of MPI, rsmpi, mpi4py and Gloo beside those here
//! - [`applications`]: whole programs from the papers, what each sends, hides and checks, and how predicted stands beside measured
//! - [`architecture`]: packages, rooms, threads, flow control, deadlock detection, and the invariants
//! - [`wire_format`]: every byte between two ranks
//! - [`launching`]: how ranks are started, found and ended; environment variables and exit statuses
//! - [`hosts`]: jobs on several machines: ssh, hostfiles, addresses and firewalls, Slurm
//! - [`collectives`]: algorithms, the order of reduction, how an algorithm is selected or overridden, and what happens
//!   when ranks disagree
//! - [`lab`]: a virtual network of several hosts on one machine, what its figures mean, and how it is made
//! - [`measuring`]: what the numbers mean and how they are measured
//! - [`internet`]: the Internet experiment of Strumpen's section 4.2, repeated in a lab
//! - [`observing`]: reports, timelines and advice, where their numbers come from, and what observation costs
//! - [`promises`]: what is promised, which tests show it and how often, and what no test shows yet
//! - [`recipes`]: programs of at most 60 lines: stencils, matrices, sorting, task farms, servers, with MPI's calls beside them
//! - [`results`]: the JSON of the command: every schema and its members, and a reader in Python
//! - [`targets`]: what is required, what is reached, and what causes the difference
//! - [`windows`]: one-sided communication, how it is carried out, and what it costs
//! - [`models`]: what the papers' models say, which of their printed formulas and numbers are wrong, and how they are
//!   fitted
//!
//! Complete runs of the measuring commands are in `benches/results/`.

pub mod applications;
pub mod architecture;
pub mod collectives;
pub mod coming_from;
pub mod hosts;
pub mod internet;
pub mod lab;
pub mod launching;
pub mod measuring;
pub mod models;
pub mod observing;
pub mod promises;
pub mod recipes;
pub mod results;
pub mod targets;
pub mod tutorial;
pub mod windows;
pub mod wire_format;
