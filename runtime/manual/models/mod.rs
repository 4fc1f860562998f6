//! The papers' models: which equation is where, where a paper is wrong, and what we take instead.
//!
//! Each model is a module of [`model`](lathide_models): plain functions of plain numbers. The papers' own numbers are in
//! `tests/golden`, and the tests meet every one of them: 1e-9 to the formula's value, and the printed value within
//! what its digits allow. A misprint is in there as such: a model that gives the misprint fails.
//!
//! # `lathide predict`
//!
//! asks them from the command line: a table, a curve where there is a range, a sentence; `--json` one object.
//!
//! | command | model | answers | from a saved result (`--from`) |
//! | --- | --- | --- | --- |
//! | `predict gain` | [`gain`] | G over gamma, gamma_s or p; best and break-even granularity, best machine, range for a wanted G | `f`, `omega`, `points` of `lathide gain --json` |
//! | `predict hyperbolic` | [`hyperbolic`] | T(x; a, b) of a message, of pairs at once, of neighbours | `hyperbolic` of `lathide link --json` |
//! | `predict broadcast` | [`hyperbolic`], [`cluster`] | tree or serial, and the size where it changes; in packets beside the Postal model | `hyperbolic`, or `cluster` |
//! | `predict gather` | [`cluster`] | bounds, window, plan, time | `cluster` |
//! | `predict collectives` | [`decomposition`], [`hyperbolic`] | broadcast, other collectives, all to all, barrier | `hyperbolic` |
//! | `predict logp` | [`hyperbolic`] | LogP beside the hyperbolic model | `cluster`, or `hyperbolic` with `--o` |
//! | `predict decomposition` | [`decomposition`] | strips or blocks, and all thresholds | `hyperbolic` |
//! | `predict multigrid` | [`multigrid`] | speed-up, efficiency, best P | `hyperbolic` with `--clock` |
//!
//! An option goes before the file, the file before the paper's own machine, which each option's help names. A message's
//! a and b do not tell workstation, network and delay apart. Where they come from a file, a_W is the time of a short
//! message in a stream (`message_rate.lathide_per_s`), else a_L the emulated link's delay, else the workstations have
//! all of a; b_C is b if the link is shared by all, else 0; and the command says on stderr which it took.
//!
//! `cluster` in a saved result has a cost each for `o_s`, `g_s`, `l`, `g_r`, `o_r`, `u_r` and, if known, `m_mtm`: seconds, or
//! an object with `startup_s` and `s_per_byte`. `l` may also have `per_processor_s` and `aggregate_bytes_per_s`.
//! `buffer_packets` is B_L, `packet_bytes` the size of a full packet (1500 if absent).
//!
//! The answer's JSON has `model`, `equation`, `parameters`, `from`, `points` (a member for every column), what was found
//! (best values, thresholds), `notes` (assumptions) and `conclusion`. Seconds and bytes everywhere.

pub mod cluster;
pub mod decomposition;
pub mod fit;
pub mod gain;
pub mod hyperbolic;
pub mod multigrid;
