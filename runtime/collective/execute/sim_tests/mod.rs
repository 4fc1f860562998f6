//! Jobs of engines with their collectives in one process, thousands of them, each from a seed: random sequences of
//! collectives and messages, random algorithms, pipes for sockets, and chance for a scheduler.

mod calls;
mod counts;
mod runs;
mod world;
