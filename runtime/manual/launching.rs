//! How ranks are started, found and ended.
//!
//! `lathide run -n N PROGRAM` starts N processes on this machine (or on several, [`super::hosts`]) and sets the variables below. The same contract can be
//! fulfilled by hand: rank 0 opens the rendezvous at `LATHIDE_ROOT` if nobody listens there.
//!
//! ```text
//! (umask 077; head -c 32 /dev/urandom >key)
//! export LATHIDE_SIZE=2 LATHIDE_ROOT=127.0.0.1:7000 LATHIDE_KEY_FILE=key
//! LATHIDE_RANK=0 ./program &
//! LATHIDE_RANK=1 ./program
//! ```
//!
//! # Environment
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `LATHIDE_RANK`, `LATHIDE_SIZE` | who this is, of how many | a job of one |
//! | `LATHIDE_ROOT` | `host:port` of the rendezvous | needed from two ranks on, unless a starter below names the job |
//! | `LATHIDE_KEY_FD`, `LATHIDE_KEY_FILE` | where the job's 32-byte secret is read; the file must be its owner's alone | needed from two ranks on, unless a starter below names the job |
//! | `LATHIDE_INTERFACE` | which address to listen on: `eth0`, `10.0.0.0/8`, `!docker0` | that which reaches the rendezvous |
//! | `LATHIDE_PORTS` | ports to listen on: `7000-7063` | any |
//! | `LATHIDE_ADVERTISE` | the IP address to tell the others | that on which it listens |
//! | `LATHIDE_ENCRYPT` | `on`: what passes between ranks is encrypted ([`super::wire_format`]); needs the feature `encrypt` | `off` |
//! | `LATHIDE_OVERLAP` | `on`, or `off`: bytes move only inside a wait | `on` |
//! | `LATHIDE_WINDOW` | bytes per link that may arrive before their read is posted | 64 MiB |
//! | `LATHIDE_BUDGET` | bytes on all links together that may arrive before their reads are posted: no window is more than a link's equal share, or less than 64 KiB because of it | 512 MiB |
//! | `LATHIDE_COLLECTIVE` | algorithms of collectives to use whatever they cost: `broadcast:chain,gather:windowed/4` | the cheapest |
//! | `LATHIDE_FRAGMENT` | the most payload of a fragment, in bytes | 4096 |
//! | `LATHIDE_ENVELOPES` | messages per link that may be announced beyond the window | 1024 |
//! | `LATHIDE_DEADLOCK` | seconds a job may stand still before ranks report ([`super::architecture`]), or `off` | 3 |
//! | `LATHIDE_KEEPALIVE` | seconds a network may be cut: a host that does not answer for longer is lost, or `off` | 10 |
//! | `LATHIDE_JOIN` | seconds a node tries to join | 30 |
//! | `LATHIDE_LINGER` | seconds `finalize` waits for peers to confirm | 5 |
//! | `LATHIDE_TRACE` | the file that gets a timeline of all ranks | none |
//! | `LATHIDE_REPORT` | `on`: what the node has observed goes to the launcher at the end | `off` |
//! | `LATHIDE_OBSERVE` | whether the node counts what it does ([`super::observing`]) | `on` |
//!
//! The key must be random: one whose bytes are all equal is refused, and so is [`crate::Config::new`] without a key from two ranks
//! on. The descriptor of `LATHIDE_KEY_FD` is closed in programs that a rank starts after `init`.
//!
//! A rank has a connection to each other one, the launcher four descriptors for each rank. Where the limit of open files is
//! lower, it is raised as far as the system allows, and otherwise named at once, with the number that is needed.
//!
//! # Other starters
//!
//! `mpirun -n 4 ./program` (Open MPI, MPICH), `srun -n 4 ./program` and torchrun work as they are, with nothing set by hand,
//! where the ranks share the home directory: on one machine, or on a cluster whose homes are on the network.
//!
//! | starter | rank and size | which job it is |
//! | --- | --- | --- |
//! | Open MPI | `OMPI_COMM_WORLD_RANK`, `OMPI_COMM_WORLD_SIZE` | `PMIX_NAMESPACE` and the random number of its transports |
//! | MPICH (Hydra) | `PMI_RANK`, `PMI_SIZE` | on one host: the process that started the ranks |
//! | srun | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS` | cluster, job, step, restarts |
//! | srun with PMI-2 | `PMI_RANK`, `PMI_SIZE` | `PMI_JOBID` |
//! | torchrun | `RANK`, `WORLD_SIZE`, `MASTER_ADDR` | run, restarts, master |
//! | Kubernetes, indexed job | `JOB_COMPLETION_INDEX`, and `LATHIDE_SIZE` by hand | `LATHIDE_ROOT` and `LATHIDE_KEY_FILE` by hand |
//!
//! Rank 0 makes the job's key and leaves it, with the addresses at which it listens, as an invitation to the others: a file
//! in `${XDG_CACHE_HOME:-$HOME/.cache}/lathide/jobs`, a directory that nobody else may enter (mode 700; one with another mode
//! or owner is refused). The others wait for it for `LATHIDE_JOIN`; rank 0 removes it when all have joined. One that a killed
//! job leaves does no harm: who answers at its address must know its key, so only the living rank 0 can be meant.
//!
//! What is set by hand goes first: `LATHIDE_KEY_FILE` (a file of 32 bytes with mode 600; in Kubernetes a secret) and
//! `LATHIDE_ROOT`. With the key alone, srun's first host and torchrun's `MASTER_ADDR:MASTER_PORT` are the rendezvous, and
//! Open MPI's and MPICH's ranks still find it by an invitation.
//!
//! Limits:
//! - Ranks that share no home (containers, hosts with local homes) need both by hand, or `lathide run`.
//! - MPICH on several hosts: Hydra gives nothing that tells jobs apart, so both by hand, or `lathide run --hosts`.
//! - One job at a time for each start: two programs side by side under one `srun` would mix. One after the other is fine.
//! - On several hosts rank 0 names all its addresses, that of the default route first; `LATHIDE_INTERFACE` chooses others.
//!
//! Where a starter tells of more than one rank and there is no way to meet, `init` fails rather than run N jobs of one.
//!
//! # What the launcher promises
//!
//! Output comes line by line behind `[rank]`; input goes to rank 0; INT, QUIT, TERM, HUP, USR1 and USR2 are passed on. When a
//! rank fails, the others get [`crate::Error::PeerLost`] at their next call, and are ended within two seconds (`--grace S` gives them longer). The
//! launcher names the rank that failed first and exits with its status. A rank whose process ends with 0 before its node is
//! finalized or dropped (`std::process::exit`, a leaked node) is that rank, if others fail for want of it. If the launcher is
//! killed, its ranks end too. A signal that whoever starts the launcher has ignored, as nohup and a shell's background
//! jobs do, stays ignored, by the ranks too.
//!
//! | exit status | |
//! | --- | --- |
//! | 0 | every rank ended with 0 |
//! | 1.. | the status of the rank that failed first; 128+N if signal N ended it; 1 if it ended with 0 but without finalize |
//! | 2 | wrong usage |
//! | 124 | `--timeout` is over |
//! | 125 | the launcher failed, or what the ranks write, the timeline or the reports found no room |
//! | 126, 127 | the program cannot be executed, was not found |
//!
//! Ctrl-Z (TSTP) stops the ranks, here and on other hosts, by STOP, which no program can refuse, and then the launcher; `fg`
//! or `bg` (CONT) continues all. A stopped rank is not lost, since its host still answers, also for bytes that were under way
//! and found no room at their receiver; where others wait for one, the launcher names its process, if that is on its own
//! host. Only `--timeout` goes on by the clock.
//!
//! # A network that is cut
//!
//! A cut that is mended is a delay; a host that does not answer is lost. `LATHIDE_KEEPALIVE` (10 s, `off`) is the border, of all
//! connections of a job alike: links, those to the rendezvous at both ends, and ssh. It is the hosts' systems that answer, so
//! a rank may compute, or be stopped, or read nothing, for as long as it likes.
//!
//! Each connection asks ten times in that time whether its other end is there: once a second, by TCP's keepalive or by sending
//! again what was not acknowledged. A cut of up to 9.5 s ends nothing, and the job goes on within a second after it. A host
//! that stays away is lost 11.5 s after it was last heard of, 11.8 s if nothing was under way: one more attempt, and its answer. Other
//! limits go the same way, in whole seconds between two attempts.
//!
//! - Linux before 6.15 knows no limit for the pause between two attempts to send again (`TCP_RTO_MAX_MS`): it doubles, and
//!   attempts are made after some 0.2, 0.6, 1.4, 3, 6 and 13 s. While messages are under way, a cut of up to six seconds is a
//!   delay, and one that lasts longer may end the job. With `LATHIDE_KEEPALIVE=30` it is 25 s.
//! - TCP itself gives up after 15 attempts, which here is 14 s. A `net.ipv4.tcp_retries2` below its default of 15 makes that less.
//! - Above 200 s the pauses are TCP's own, up to two minutes. With `off` it decides alone, after a quarter of an hour.
//!
//! # The emulated link
//!
//! `--link delay=25ms,rate=50mbit[,jitter=1ms][,shared]`, or a preset: `ethernet` (10 Mbit/s shared), `lan` (1 Gbit/s, 0.1 ms),
//! `wan` (25 ms, 50 Mbit/s). A relay process between real TCP sockets delays and paces bytes; it needs no privileges.
//! `loopback` means none. Whatever is measured over it says so.
//!
//! `lathide lab` makes a network of virtual hosts instead, with real packets ([`super::lab`]).
