//! Jobs of engines with their collectives in one process, thousands of them, each from a seed: random sequences of
//! collectives and messages, random groups and algorithms, pipes for sockets, and chance for a scheduler.

mod calls;
mod carried;
mod counts;
mod found;
mod groups;
mod runs;
mod world;
