//! Jobs on several hosts: from one laptop to two machines, to a cluster.
//!
//! # From one laptop to two machines
//!
//! ```text
//! lathide run -n 4 ./stencil                           four ranks here
//! lathide run --hosts localhost:2,b:2 ./stencil        two here, two on b
//! lathide link --hosts localhost,b                          what the network between them can do
//! lathide gain --hosts localhost,b                          what latency hiding gains on it
//! ```
//!
//! First check the hosts:
//!
//! ```text
//! lathide doctor --hosts localhost,b ./stencil
//! ```
//!
//! reaches every host as `run` would, and prints for each: versions and hashes, system and cores. Then every host
//! connects to every other one and to the launcher, and authenticates, as ranks do. For each pair the command prints the
//! addresses, the round trip, the rate of one connection (what arrives in the second half of 0.8 s), and how far the
//! clock there is ahead (right to half the round trip). What does not work is listed below: why each address failed, on
//! which host the program is missing, and what is not the same everywhere. The exit status is 0 if every host reaches
//! every other one and all have the same programs. `--json` and `lathide report` work as with the measuring commands.
//!
//! The same in a virtual network on one machine ([`super::lab`]), where you can cut a cable:
//!
//! ```text
//! lathide lab --hosts 2 --delay 25ms --rate 50mbit -- bash
//! lathide doctor --hosts host0,host1            in that shell
//! lathide gain --hosts host0,host1
//! lathide lab cut host1; lathide doctor --hosts host0,host1; lathide lab mend host1
//! ```
//!
//! Host b needs an ssh server that accepts your key (`ssh b true` must work without a question), and `./stencil` at the
//! same path. It does not need lathide: the launcher sends its own program over the ssh session, once, into
//! `~/.cache/lathide` (`$XDG_CACHE_HOME/lathide`), under a name derived from its content. A host with another kind of
//! processor needs its own lathide: `--agent PATH` names it.
//!
//! # Naming hosts
//!
//! `--hosts` (`-H`) takes a list, `a:4,me@b:2,[fd00::7]`, or a hostfile (`--hostfile`, `--machinefile` and `-f` are
//! other names for the same option):
//!
//! ```text
//! node01 slots=4 max_slots=8                           # as for mpirun
//! node02:4                                             # as for Hydra
//! me@node03 slots=2 port=2222 addr=10.0.0.3            # ours
//! ```
//!
//! Without `-n` there is one rank per slot. With it, hosts are filled in order. More ranks than slots start a second
//! round, with a warning, up to `max_slots`. A host that is named twice has the slots of both entries. Unknown settings
//! are errors with line and column.
//!
//! # What goes where
//!
//! One ssh session per host carries the job's description and its key (never in an argument or a variable), input for
//! rank 0, the output and exit statuses of all ranks, signals, and timelines. Messages between ranks go directly from
//! host to host over TCP.
//!
//! - Directory: the current directory of the command, if the host has it too. Otherwise the home directory, with a
//!   note. `--wdir DIR` must exist.
//! - Variables: those that ssh gives a command on that host, then those here that begin with `LATHIDE_` or `RUST_`,
//!   then those of `-x`.
//! - Programs: `./name` and absolute paths refer to each host's own files. A bare name is searched in that host's
//!   `PATH`.
//! - Output: each line has the prefix `[rank@host]`.
//!
//! The launcher uses the system's ssh, with your configuration, agent, jump hosts and known hosts. ssh asks no
//! questions (`BatchMode`). A host that is not known yet, or does not accept your key, is an error with ssh's own
//! message within ten seconds. `--ssh-option '-p 2222 -i key'` adds options, and `LATHIDE_SSH` names another program
//! with its options.
//!
//! # Addresses and firewalls
//!
//! The launcher listens on all its addresses while a job runs. Every connection is authenticated by the job's key. Each
//! host tries the address from which its ssh session came, then the launcher's other ones. If none answers, the error
//! lists them. `--advertise ADDR` selects one.
//!
//! A rank listens on the address from which it has reached the launcher, and announces that address to the others. No
//! host name is resolved to a rank's own address. `--net eth0`, `--net 10.0.0.0/8` or `--net '!docker0'` selects
//! another address (on every host). `addr=` in the hostfile announces the address of a router in front of that host.
//! Ranks listen as long as the job runs, for connections that are made again.
//!
//! Hosts may have only IPv6 addresses: `--hosts 'me@[fd00::3]:4'`, `--advertise fd00::1`, `--net fd00::/8`,
//! `addr=fd00::3`, `LATHIDE_ROOT=[fd00::1]:7000` all work. Link-local addresses (`fe80::`) are not used: they are not
//! valid on other hosts.
//!
//! The ranks' ports must be open between all hosts: any port, or those of `--ports 7000-7063`, one per rank on the host
//! and one for the launcher. The raw TCP connection that `lathide link` compares with uses one of them too.
//!
//! # Ends
//!
//! As on one machine ([`super::launching`]), and in addition:
//!
//! | | |
//! | --- | --- |
//! | a host cannot be reached, or refuses | no rank starts; status 125 |
//! | the network is cut while the job starts | a delay of up to 8 s while a host looks for the launcher, then of up to `LATHIDE_JOIN`; beyond that an error that names the host, or the rank and its host |
//! | the program is not found | the error names host and path; status 127 (126 if it cannot be executed) |
//! | the ssh connection to a host breaks during the job | a delay, if it can be made again within `LATHIDE_RESUME` |
//! | a host or its agent is lost during the job | its ranks are lost, the others end; names the host; status 1 |
//! | the launcher is killed | every host ends its ranks and what they have started, within five seconds |
//!
//! # When the ssh connection breaks
//!
//! Each message between the launcher and a host's agent has a number and is kept until the other side has it. When a
//! connection breaks, the launcher starts ssh again, at once and then every quarter of a second, for `LATHIDE_RESUME`
//! (30 s, or `off`). Both sides then go on at the first message that the other one lacks: lines, exit statuses, signals and
//! input arrive exactly once and in order. Meanwhile a rank that writes much waits, as for a slow terminal. ssh ends by
//! itself when a host has not answered for `LATHIDE_KEEPALIVE`, rounded up to a multiple of four seconds.
//!
//! - The agent waits on a socket in a new directory below `$TMPDIR` (`/tmp`) that only its user can enter, and lets in only
//!   who knows the job's token. Its directory goes when it ends.
//! - The launcher says a last word when it ends, also if it was killed: a process of its own does that. A connection that
//!   ends without it was cut. If that process was killed too, the agent finds that nobody listens at the launcher's
//!   address any more, and ends after a second.
//! - If the launcher dies while the network is cut, no host can know: an agent stays as long as it would wait for a launcher
//!   that lives, `LATHIDE_RESUME` and some seconds after it has noticed the cut. When the network is mended, the end of the ssh
//!   connection reaches the host, at once if a rank writes something, else when the launcher's system sends it again: after as
//!   long again as the cut has lasted, at most. From then on it takes two seconds. If the launcher's machine is gone
//!   for good, ranks of lathide end after `LATHIDE_KEEPALIVE` and `LATHIDE_RESUME`; an agent, whose own end nobody hears, and
//!   other programs that are silent, when the system gives the connection up (a quarter of an hour, or what `ClientAliveInterval`
//!   of that host's sshd says).
//! - A job that ends its ranks by KILL does not wait for a host whose connection is cut.
//! - Before an agent is ready, a connection that breaks is no reason to look for it again: the launcher starts another one,
//!   up to three in all. From then on the same agent is found again, also if its ranks are not started yet.
//! - With `srun`, and with `LATHIDE_RESUME=off`, a broken connection loses the host.
//! - A host that ends all processes of a user with the last session (`KillUserProcesses` of logind) loses its agent.
//!
//! # Slurm
//!
//! Inside an allocation (`salloc`, `sbatch`) the hosts are those of the allocation, without `--hosts`.
//! `lathide run ./stencil` starts as many ranks on each node as Slurm has planned tasks, through `srun`. The lathide
//! program must be at the same path on all nodes. `-n` changes the number of ranks. srun forwards standard input
//! unencrypted over the network, so the job's key does not go that way. The launcher leaves it for some seconds in
//! `${XDG_CACHE_HOME:-$HOME/.cache}/lathide/jobs`, which only you may enter. Use ssh (`--hosts`) for hosts that share
//! no such directory.
//!
//! `srun -n 4 ./stencil` works too, and so does Open MPI's `mpirun`, without the launcher's output, timelines and
//! reports. With shared home directories nothing must be set by hand ([`super::launching`], "Other starters").
