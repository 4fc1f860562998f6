//! How ranks are started, found and ended.
//!
//! `lathide run -n N PROGRAM` starts N processes on this machine (or on several, [`super::hosts`]) and sets the
//! variables below. You can also set them by hand. Rank 0 then listens for the others at `LATHIDE_ROOT`, if no
//! coordinator listens there yet.
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
//! `lathide --help` shows the same. How a SIZE and a TIME are written is [below](#sizes-times-rates-and-lists).
#![doc = crate::join::variables::table!()]
//!
//! See [`super::collectives`] for `LATHIDE_COLLECTIVE`, [`super::wire_format`] for `LATHIDE_ENCRYPT` and `LATHIDE_CHECKSUM`,
//! [`super::architecture`] for `LATHIDE_DEADLOCK`, [`super::observing`] for `LATHIDE_OBSERVE`, [`super::hosts`] for
//! `LATHIDE_SSH`, [`super::lab`] for `LATHIDE_LAB`, and below for `LATHIDE_KEEPALIVE`.
//!
//! The key must be random. A key whose bytes are all equal is refused, and so is a [`crate::Config::new`] of two or
//! more ranks without a key. Programs that a rank starts after `init` do not inherit the descriptor of
//! `LATHIDE_KEY_FD`.
//!
//! A rank has one connection to each other rank, and up to `LATHIDE_LANES` more where long messages and the path ask for
//! them; the launcher has four descriptors per rank. If the limit of open files
//! is lower, it is raised as far as the system allows. If that is not enough, the error names the number that is
//! needed.
//!
//! # Sizes, times, rates and lists
//!
//! Variables and options of the command are written in the same way: a decimal number, perhaps with a fraction and an
//! exponent, and perhaps a unit. Upper and lower case are the same.
//!
//! | | without a unit | units |
//! | --- | --- | --- |
//! | size | bytes | `B`; `k`, `m`, `g` and `KiB`, `MiB`, `GiB` are powers of 1024; `kB`, `MB`, `GB` are powers of 1000 |
//! | time | seconds | `ns`, `us`, `ms`, `s`, `min`, `h` |
//! | time per byte or word | seconds | the same, also with `/B`, `/byte` or `/word` |
//! | rate | bits per second | `bit`, `kbit`, `mbit`, `gbit`, also with `/s` |
//! | part | of one | `%` |
//! | number | | none |
//!
//! A list has values and ranges between commas: `256,1024`, `2..40`, `0.5..4+0.5` (by adding), `8..1MiB*4` (by
//! multiplying). A range without a step has every whole number, or 33 values at equal ratios if these would be more
//! than 100 or not whole. The error for a value that is out of bounds names the bounds.
//!
//! # Other starters
//!
//! `mpirun -n 4 ./program` (Open MPI, MPICH), `srun -n 4 ./program` and torchrun work with nothing set by hand if the
//! ranks share the home directory: on one machine, or on a cluster with home directories on the network.
//!
//! | starter | rank and size | what identifies the job |
//! | --- | --- | --- |
//! | Open MPI | `OMPI_COMM_WORLD_RANK`, `OMPI_COMM_WORLD_SIZE` | `PMIX_NAMESPACE` and the random number of its transports |
//! | MPICH (Hydra) | `PMI_RANK`, `PMI_SIZE` | on one host: the process that started the ranks |
//! | srun | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS` | cluster, job, step, restarts |
//! | srun with PMI-2 | `PMI_RANK`, `PMI_SIZE` | `PMI_JOBID` |
//! | torchrun | `RANK`, `WORLD_SIZE`, `MASTER_ADDR` | run, restarts, master |
//! | Kubernetes, indexed job | `JOB_COMPLETION_INDEX`, and `LATHIDE_SIZE` by hand | `LATHIDE_ROOT` and `LATHIDE_KEY_FILE` by hand |
//!
//! Rank 0 makes the job's key and leaves an invitation to the others: a file with the key and the addresses at which it
//! listens. The file is in `${XDG_CACHE_HOME:-$HOME/.cache}/lathide/jobs`, a directory that only its owner may enter
//! (mode 700; one with another mode or owner is refused). The others wait for it for `LATHIDE_JOIN`. Rank 0 removes it
//! when all have joined. An invitation that a killed job leaves does no harm: whoever answers at its address is
//! authenticated by its key.
//!
//! Variables set by hand take precedence: `LATHIDE_KEY_FILE` (a file of 32 bytes with mode 600; in Kubernetes a secret)
//! and `LATHIDE_ROOT`. If only the key is set, the coordinator is at srun's first host or at torchrun's
//! `MASTER_ADDR:MASTER_PORT`; ranks of Open MPI and MPICH still find it by an invitation.
//!
//! Limits:
//! - Ranks that share no home directory (containers, hosts with local homes) need both variables by hand, or
//!   `lathide run`.
//! - MPICH on several hosts: Hydra gives nothing that distinguishes jobs, so set both variables by hand, or use
//!   `lathide run --hosts`.
//! - One job at a time per start: two concurrent programs under one `srun` would mix. Consecutive programs are fine.
//! - On several hosts rank 0 announces all its addresses, that of the default route first; `LATHIDE_INTERFACE` selects
//!   others.
//!
//! If a starter announces more than one rank and the ranks cannot find each other, `init` fails. It does not run N jobs
//! of one.
//!
//! # What the launcher promises
//!
//! - Output comes line by line, with the prefix `[rank]`. Input goes to rank 0.
//! - INT, QUIT, TERM, HUP, USR1 and USR2 are forwarded. A signal that the launcher's parent has ignored, as nohup and a
//!   shell's background jobs do, stays ignored, also by the ranks.
//! - When a rank fails, the others get [`crate::Error::PeerLost`] at their next call. They are ended within two seconds
//!   (`--grace TIME` gives them longer).
//! - The launcher names the rank that failed first and exits with its status. If a process ends with 0 before its node
//!   is finalized or dropped (`std::process::exit`, a leaked node), and others fail because of that, it is that rank.
//! - If the launcher is killed, its ranks end too.
//!
//! | exit status | |
//! | --- | --- |
//! | 0 | every rank ended with 0 |
//! | 1.. | the status of the rank that failed first; 128+N if signal N ended it; 1 if it ended with 0 but without finalize |
//! | 2 | wrong usage |
//! | 124 | `--timeout` has expired |
//! | 125 | the launcher failed, or output, timeline or reports could not be written |
//! | 126, 127 | the program cannot be executed, was not found |
//!
//! Ctrl-Z (TSTP) stops the ranks on all hosts by STOP, which no program can refuse, and then the launcher. `fg` or `bg`
//! (CONT) continues all. A stopped rank is not lost, since its host still answers, also if bytes in flight have found
//! no room at the receiver. If others wait for a stopped rank on the launcher's own host, the launcher names its
//! process. `--timeout` keeps running meanwhile.
//!
//! # Network cuts and keepalive
//!
//! A cut of the network is a delay: every message still arrives exactly once, byte for byte. It does not matter how the
//! connection ended: by a reset, by a firewall that forgot it, by silence, by a change of the host's address.
//!
//! A connection that ends without goodbye is *down*. The lower rank of the two dials again at once, and then every 250 ms.
//! A host that is silent for `LATHIDE_KEEPALIVE` (3 s, or `off`) is suspected, and its connections are made anew too. The
//! hosts' systems answer, not the ranks, so a rank may compute, be stopped, or read nothing, for any time. A link that is
//! down for `LATHIDE_RESUME` (30 s) is lost, and the job ends: the error names the rank, its address, the position up to
//! which it had acknowledged, and the cause. With `LATHIDE_RESUME=off` a connection that breaks is a lost rank at once.
//! Use the same values on every rank.
//!
//! One line on standard error tells of each cut: `link to rank 3 (10.0.0.3) was cut for 1.4 s, resumed`. The report has
//! the number of cuts per link, the seconds down, and the bytes sent again; the timeline shows when.
//!
//! A process that has died is not waited for: the launcher tells the others, or its host refuses three connections in
//! half a second. The connections to the coordinator and those of ssh survive the same cuts ([`super::hosts`]).
//! `finalize` waits for links that are down, too.
//!
//! A host may have another address from one moment to the next, as a laptop in another network has. A rank hears from the
//! system that its host has lost an address. It reaches the rendezvous from the new one, listens there, and has it announced
//! to the others, who dial it at once. That takes some round trips, also with `LATHIDE_KEEPALIVE=off`.
//!
//! - The rendezvous itself keeps its addresses: if the launcher's host (or rank 0's, without a launcher) moves, the job ends
//!   after `LATHIDE_RESUME`, with an error that says from where the rendezvous could not be reached again.
//! - An address given with `--advertise`, `addr=` or `LATHIDE_ADVERTISE` stays the one at which others call a rank.
//! - ssh calls a host by the name in `--hosts`: if that is the former address, the launcher does not find it again.
//! - If another machine has the former address meanwhile, and refuses connections there, the rank is taken for ended.
//!
//! - `Arc<[T]>` and `Bytes` that come back from `wait` may have a second owner for some milliseconds, until the peer has
//!   acknowledged them: use `Arc::make_mut`, not `Arc::get_mut`.
//! - A middlebox that answers for a dead host with refusals looks like a process that has ended.
//! - With `LATHIDE_KEEPALIVE=off` only TCP notices a silent host, after a quarter of an hour.
//!
//! # The emulated link
//!
//! `--link delay=25ms,rate=50mbit[,jitter=1ms][,shared]`, or a preset: `ethernet` (10 Mbit/s shared), `lan` (1 Gbit/s,
//! 0.1 ms), `wan` (25 ms, 50 Mbit/s). A relay process between real TCP sockets delays and paces bytes; it needs no
//! privileges. `loopback` means no relay. Every measurement over an emulated link says so.
//!
//! `lathide lab` makes a network of virtual hosts with real packets instead ([`super::lab`]).
