//! The papers' models: which equation is where, where a paper is wrong, and what is used instead.
//!
//! Each model is a module of the package [`lathide-models`](lathide_models): plain functions of plain numbers. The
//! papers' own numbers are in `tests/golden`, and the tests check every one of them: within 1e-9 of the formula's
//! value, and within the rounding of the printed value. Misprints are marked: a model that gives the misprint fails.
//!
//! # `lathide predict`
//!
//! evaluates them from the command line: a table, a curve for a range, a sentence; with `--json` one object.
//!
//! | command | model | answers | from a saved result (`--from`) |
//! | --- | --- | --- | --- |
//! | `predict gain` | [`gain`] | G over gamma, gamma_s or p; best and break-even granularity, best machine, range for a wanted G | `f`, `omega`, `points` of `lathide gain --json` |
//! | `predict gain --tasks` | [`gain`] | gamma and G of each task, and of the job whose nodes differ | `f`, `omega` |
//! | `predict gain --cg` | [`gain`] | CG and parCG over p, beside a constant Omega | `hyperbolic` with `--unknowns` |
//! | `predict gain --halo` | [`gain`] | several steps of a stencil for each exchange: the best number of ghost columns | `hyperbolic` |
//! | `predict hyperbolic` | [`hyperbolic`] | T(x; a, b) of a message, of pairs at once, of neighbours | `hyperbolic` and `contention` of `lathide link --pairs 1,2,4 --json` |
//! | `predict graph FILE` | [`hyperbolic`] | a graph of blocks reduced by rules 1 to 4, each message's bottleneck | nothing |
//! | `predict broadcast` | [`hyperbolic`], [`cluster`] | tree or serial, and the size at which it changes; in packets beside the Postal model | `hyperbolic`, or `cluster` |
//! | `predict gather` | [`cluster`] | bounds, window, plan, time | `cluster` |
//! | `predict collectives` | [`decomposition`], [`hyperbolic`] | broadcast, other collectives, all to all, barrier | `hyperbolic` |
//! | `predict logp` | [`hyperbolic`] | LogP beside the hyperbolic model | `cluster`, or `hyperbolic` with `--o` |
//! | `predict decomposition` | [`decomposition`] | strips or blocks, and all thresholds; with `--speeds` uneven shares | `hyperbolic` |
//! | `predict hops` | [`decomposition`] | hops of bus, crossbar, hypercube, torus, mesh, ring, and what they take | `hyperbolic` |
//! | `predict isoefficiency` | [`decomposition`] | the matrix for an efficiency, and how it grows with p | `hyperbolic` |
//! | `predict multigrid` | [`multigrid`] | speed-up, efficiency, best P | `hyperbolic` with `--clock` |
//! | `predict program` | [`hyperbolic`] | T_s and T_r of a program's messages by class, from what its ranks counted (`--inventory`), beside what was measured | `contention`, `hyperbolic` and `sending` of `lathide link --pairs 1,2 --json` |
//!
//! An option takes precedence over the file, and the file over the paper's own machine, which each option's help names.
//! The a and b of a message do not separate workstation, network and delay. If they come from a file, a_W is the time
//! of a short message in a stream (`message_rate.lathide_per_s`). Without that, a_L is the emulated link's delay;
//! without that too, a_W has all of a. a_C and b_C, and a and b of the same fit, are from `contention` of `lathide link
//! --pairs`. Where there is none, a_C is taken as 0, and b_C as b if the link is shared by all, else as 0. The command says on
//! stderr what it took, and what nobody measured.
//!
//! `cluster` in a saved result has a cost each for `o_s`, `g_s`, `l`, `g_r`, `o_r`, `u_r` and, if known, `m_mtm`:
//! seconds, or an object with `startup_s` and `s_per_byte`. `l` may also have `per_processor_s` and
//! `aggregate_bytes_per_s`. `buffer_packets` is B_L, `packet_bytes` the size of a full packet (1500 if absent).
//!
//! The JSON of an answer has `model`, `equation`, `parameters`, `from`, `points` (a member for every column), results
//! (best values, thresholds), `notes` (assumptions) and `conclusion`. All units are seconds and bytes.

pub mod cluster;
pub mod decomposition;
pub mod fit;
pub mod gain;
pub mod hyperbolic;
pub mod multigrid;
