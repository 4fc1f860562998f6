//! How ranks are started, found and ended.
//!
//! `lathide run -n N PROGRAM` starts N processes on this machine (or on several, [`super::hosts`]) and sets the variables below. The same contract can be
//! fulfilled by hand: rank 0 opens the rendezvous at `LATHIDE_ROOT` if nobody listens there.
//!
//! ```text
//! LATHIDE_RANK=0 LATHIDE_SIZE=2 LATHIDE_ROOT=127.0.0.1:7000 ./program &
//! LATHIDE_RANK=1 LATHIDE_SIZE=2 LATHIDE_ROOT=127.0.0.1:7000 ./program
//! ```
//!
//! # Environment
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `LATHIDE_RANK`, `LATHIDE_SIZE` | who this is, of how many | a job of one |
//! | `LATHIDE_ROOT` | `host:port` of the rendezvous | needed from two ranks on |
//! | `LATHIDE_KEY_FD`, `LATHIDE_KEY_FILE` | where the job's 32-byte secret is read; the file must be its owner's alone | none: whoever reaches the port may join |
//! | `LATHIDE_INTERFACE` | which address to listen on: `eth0`, `10.0.0.0/8`, `!docker0` | that which reaches the rendezvous |
//! | `LATHIDE_PORTS` | ports to listen on: `7000-7063` | any |
//! | `LATHIDE_ADVERTISE` | the IP address to tell the others | that on which it listens |
//! | `LATHIDE_OVERLAP` | `on`, or `off`: bytes move only inside a wait | `on` |
//! | `LATHIDE_WINDOW` | bytes per link that may arrive before their read is posted | 64 MiB |
//! | `LATHIDE_COLLECTIVE` | algorithms of collectives to use whatever they cost: `broadcast:chain,gather:windowed/4` | the cheapest |
//! | `LATHIDE_FRAGMENT` | the most payload of a fragment, in bytes | 4096 |
//! | `LATHIDE_ENVELOPES` | messages per link that may be announced beyond the window | 1024 |
//! | `LATHIDE_STALL` | seconds a job may stand still before ranks report, or `off` | 3 |
//! | `LATHIDE_SILENCE` | seconds a peer's host may not answer before its rank counts as lost, or `off` | 10 |
//! | `LATHIDE_JOIN` | seconds a node tries to join | 30 |
//! | `LATHIDE_LINGER` | seconds `finalize` waits for peers to confirm | 5 |
//! | `LATHIDE_TRACE` | the file that gets a timeline of all ranks | none |
//! | `LATHIDE_REPORT` | `on`: what the node has observed goes to the launcher at the end | `off` |
//! | `LATHIDE_OBSERVE` | whether the node counts what it does ([`super::observing`]) | `on` |
//!
//! If `LATHIDE_RANK` is absent, the variables of Open MPI, MPICH (PMI), torchrun and Slurm tell rank and size; where they
//! tell of more than one rank and there is no address to meet at, `init` fails rather than run N jobs of one.
//!
//! # What the launcher promises
//!
//! Output comes line by line behind `[rank]`; input goes to rank 0; INT, TERM, HUP, USR1 and USR2 are passed on. When a
//! rank fails, the others get [`crate::Error::PeerLost`] at their next call, and are ended within two seconds. The
//! launcher names the rank that failed first and exits with its status. If the launcher is killed, its ranks end too.
//!
//! | exit status | |
//! | --- | --- |
//! | 0 | every rank ended with 0 |
//! | 1.. | the status of the rank that failed first; 128+N if signal N ended it |
//! | 2 | wrong usage |
//! | 124 | `--timeout` is over |
//! | 125 | the launcher failed |
//! | 126, 127 | the program cannot be executed, was not found |
//!
//! # The emulated link
//!
//! `--link delay=25ms,rate=50mbit[,jitter=1ms][,shared]`, or a preset: `ethernet` (10 Mbit/s shared), `lan` (1 Gbit/s, 0.1 ms),
//! `wan` (25 ms, 50 Mbit/s). A relay process between real TCP sockets delays and paces bytes; it needs no privileges.
//! `loopback` means none. Whatever is measured over it says so.
//!
//! `lathide lab` makes a network of virtual hosts instead, with real packets ([`super::lab`]).
