//! What Linux and the language offer and no safe crate does. The only package of lathide with `unsafe` code; each block says why
//! it is sound.
//!
//! | module | what |
//! | --- | --- |
//! | [`clock`] | the system's clocks |
//! | [`departure`] | when bytes of a connection have left the host |
//! | [`descriptor`] | a descriptor, given by its number, that no other program shall inherit |
//! | [`fork`] | flags that are set in a process that is forked from this one |
//! | [`pieces`] | a vector whose pieces are lent one by one, to several borrowers at once |
//! | [`processor`] | who made the processor; the processor time of a thread |
//! | [`mod@slice`] | short slices of a processor for a thread that works little and should not wait |
//! | [`tcp`] | what TCP tells of a connection's other end, and how often it tries again |
//!
//! For Linux only.

pub mod clock;
pub mod departure;
pub mod descriptor;
pub mod fork;
pub mod pieces;
pub mod processor;
pub mod slice;
pub mod tcp;
