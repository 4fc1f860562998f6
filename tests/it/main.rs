//! Everything that needs sockets or processes, one module per subject, each test under a watchdog.

#[cfg(feature = "cli")]
mod launcher;
#[cfg(feature = "cli")]
mod link;
mod p2p;
mod support;
