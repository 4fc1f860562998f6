//! Several hosts: from one laptop to two machines, to a cluster.
//!
//! # From one laptop to two machines
//!
//! ```text
//! lathide run -n 4 ./stencil                           four ranks here
//! lathide run --hosts localhost:2,b:2 ./stencil        two here, two on b
//! lathide link --hosts localhost,b                          what the network between them can do
//! lathide gain --hosts localhost,b                          what hiding brings on it
//! ```
//!
//! First of all, look whether everything is in its place:
//!
//! ```text
//! lathide doctor --hosts localhost,b ./stencil
//! ```
//!
//! reaches every host as `run` would, says what it is (version and hash of lathide, of the program, system, cores, how far
//! its clock is ahead), and has every host connect to every other one and prove itself, as ranks do: from which address to
//! which, the round trip, the rate of one connection (what arrives in the second half of 0.8 s), or for each address why not. The
//! exit status is 0 if every host reaches every other one and all have the same programs.
//!
//! The same in a virtual network on one machine ([`super::lab`]), where a cable can be cut:
//!
//! ```text
//! lathide lab --hosts 2 --delay 25ms --rate 50mbit -- bash
//! lathide doctor --hosts host0,host1            in that shell
//! lathide gain --hosts host0,host1
//! lathide lab cut host1; lathide doctor --hosts host0,host1; lathide lab mend host1
//! ```
//!
//! What b must have: an ssh server that lets you in with a key (`ssh b true` must work without a question), and
//! `./stencil` at the same path. lathide itself need not be there: the launcher sends its own program over the ssh
//! session, once, into `~/.cache/lathide` (`$XDG_CACHE_HOME/lathide`), under a name made of its content. A host with
//! another kind of processor needs a lathide of its own: `--agent PATH` names it.
//!
//! # Naming hosts
//!
//! `--hosts` (`-H`) takes a list, `a:4,me@b:2,[fd00::7]`, or a hostfile (`--hostfile`, `--machinefile` and `-f` are other
//! names for the same option):
//!
//! ```text
//! node01 slots=4 max_slots=8                           # as for mpirun
//! node02:4                                             # as for Hydra
//! me@node03 slots=2 port=2222 addr=10.0.0.3            # ours
//! ```
//!
//! Without `-n` there is a rank for each slot. With it, hosts are filled in order; more ranks than slots go round again,
//! with a warning, up to `max_slots`. A host that is named twice has the slots of both. Unknown settings are errors with
//! line and column.
//!
//! # What goes where
//!
//! One ssh session per host carries everything: the job's description and its key (never in an argument or a variable),
//! input for rank 0, output of all ranks, their ends, signals, timelines. Messages between ranks do not take it; they go
//! directly from host to host over TCP.
//!
//! - Directory: that in which the command was given, if it is there too, otherwise the home directory, which is said.
//!   `--wdir DIR` must be there.
//! - Variables: what ssh gives a command on that host, then those that begin with `LATHIDE_` or `RUST_` here, then
//!   those of `-x`.
//! - Programs: `./name` and absolute paths are meant on each host; a bare name is looked for in that host's `PATH`.
//! - Output: behind `[rank@host]`.
//!
//! ssh is the system's own, with your configuration, agent, jump hosts and known hosts. It asks nothing (`BatchMode`):
//! several hosts would ask at once, and the launcher has the terminal. A host that is not known yet, or does not take
//! your key, is an error in ssh's own words within ten seconds. `--ssh-option '-p 2222 -i key'` adds options, and
//! `LATHIDE_SSH` names another program with its options.
//!
//! # Addresses and firewalls
//!
//! The launcher listens on all its addresses while a job runs; who connects must prove that it knows the job's key. Each
//! host tries the address from which its ssh session came, then the launcher's other ones, and says which it tried if
//! none answers. `--advertise ADDR` names the one to use.
//!
//! A rank listens on the address from which it has reached the launcher, and tells it the others; no host name is ever
//! resolved to an own address. `--net eth0`, `--net 10.0.0.0/8` or `--net '!docker0'` chooses another (on every host),
//! `addr=` in the hostfile tells the others an address of a router in front of that host. When all pairs are connected,
//! ranks stop listening.
//!
//! Hosts may have only IPv6 addresses: `--hosts 'me@[fd00::3]:4'`, `--advertise fd00::1`, `--net fd00::/8`, `addr=fd00::3`,
//! `LATHIDE_ROOT=[fd00::1]:7000` all work. Link-local ones (`fe80::`) are not used, since they mean nothing on another host.
//!
//! Between all hosts the ranks' ports must be open: any, or those of `--ports 7000-7063`, one for each rank on the host
//! and one for the launcher. The plain connection that `lathide link` compares with takes one of them too.
//!
//! # Ends
//!
//! As on one machine ([`super::launching`]), and:
//!
//! | | |
//! | --- | --- |
//! | a host cannot be reached, or refuses | nothing is started anywhere; status 125 |
//! | the program is not there | names host and path; status 127 (126 if it cannot be executed) |
//! | a host or its session is lost in mid-job | its ranks are lost, the others end; names the host; status 1 |
//! | the launcher is killed | every host ends its ranks and what they have started, within five seconds |
//!
//! A connection that is silently cut is noticed by ssh after nine seconds. The other side of it is not: ranks there end
//! when their peers are lost.
//!
//! # Slurm
//!
//! Inside an allocation (`salloc`, `sbatch`) the hosts are those of the allocation, without `--hosts`: `lathide run
//! ./stencil` starts as many ranks on each node as Slurm has planned tasks, through `srun`. The lathide program must be
//! at the same path on all nodes. `-n` changes the number of ranks. srun passes standard input on over the network as it is, so
//! the job's key does not go that way: the launcher leaves it for some seconds in `${XDG_CACHE_HOME:-$HOME/.cache}/lathide/jobs`,
//! which only you may enter. Hosts that share no such directory are reached by ssh (`--hosts`).
//!
//! `srun -n 4 ./stencil` works too, and so does Open MPI's `mpirun`: without the launcher's output, timelines and reports, but
//! with nothing set by hand where homes are shared ([`super::launching`], "Other starters").
