//! Everything that needs sockets or processes, one module per subject, each test under a watchdog.

mod p2p;
mod support;
