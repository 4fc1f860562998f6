//! A virtual network of several hosts on one machine: `lathide lab`.
//!
//! ```text
//! lathide lab --hosts 2 --delay 25ms --rate 50mbit -- bash
//! ```
//!
//! starts a shell on `host0`. `host1` is 25 ms away, both can send 50 Mbit/s, and what passes between them is real TCP of this
//! machine's kernel: slow start, losses, retransmissions and all. It needs no root. A relay ([`--link`](super::launching))
//! needs even less, but has neither hosts nor packets.
//!
//! # A walk through
//!
//! ```text
//! $ lathide run --hosts host0,host1 ./stencil         # a rank on each host
//! $ ping -c 1 host1                                   # names resolve within the lab: 50 ms there and back
//! $ lathide __in-host host1 ss -tn                    # any program, on another host
//! $ lathide lab status                                # what each host has sent and received, and what was dropped
//! $ lathide lab cut host1                             # packets from and to host1 get lost,
//! $ lathide lab mend host1                            #   until now
//! $ lathide lab change host1 --rate 1mbit --loss 1%   # only what is named becomes different
//! $ lathide lab change --delay 100ms                  # of all hosts
//! $ exit                                              # and nothing of it is left
//! ```
//!
//! Another shell reaches the lab when it has the same `LATHIDE_LAB`: `lathide lab cut host1` there cuts the link of a program that
//! runs here. Only its user can: the directory is theirs alone.
//!
//! | within a lab | |
//! | --- | --- |
//! | `LATHIDE_LAB` | the lab's directory |
//! | `LATHIDE_LAB_HOSTS` | its hosts' names: `host0,host1` |
//! | `10.76.0.1`, `fd76:6c61:7468::1` | `host0`'s addresses, and so on |
//! | `lathide __in-host NAME PROGRAM ARGS…` | becomes PROGRAM on that host, as the same process |
//!
//! Programs within a lab reach its hosts and nothing else; there is no way to the machine's own network. Files and terminals
//! are the machine's.
//!
//! # What the figures mean
//!
//! Each host has a cable to one switch, full duplex, alike both ways.
//!
//! - `--rate` counts IP packets with their headers. TCP over IPv4 carries 1448 bytes in a packet of 1500, so 50 Mbit/s are 48.3 Mbit/s
//!   for a program. (The relay of `--link` counts what programs send.)
//! - `--delay` is the way from one host to another, one way; each of the two cables has half of it. Between hosts with
//!   different delays it is the mean. A packet takes the delay and the time that its bytes take at the lower rate; the
//!   switch begins to pass it on before all of it has come.
//! - `--queue` is what may wait before each direction of each cable, in bytes; what finds no room is dropped. When many send to
//!   one, that is before the receiver's cable (incast); when one sends more than its rate, before its own. Without the option it is
//!   what passes in two round trips or in 10 ms, and at least 64 KiB.
//! - `--loss` is the part that gets lost between two hosts, each packet by itself.
//! - `--shared`: one medium for all, as the papers' Ethernet: one packet at a time, hosts in turn, no collisions, and no
//!   queue but the senders'.
//!
//! Packets have at most 1500 bytes. On fast links, the kernel hands over a train of packets as one piece, as it does to a
//! network card that can cut segments; a train takes at most 0.5 ms or a tenth of the delay, and a sixteenth of the queue,
//! and is dropped as a whole. With `--loss` there are none. Everything is counted in packets.
//!
//! # What it costs, and how exact it is
//!
//! Packets leave at the time that the arithmetic says, or when the machine wakes the switch's thread: some 0.1 ms later, on a
//! busy machine more. Over long delays wake-ups are spared, since each costs a computation beside it: a packet with
//! others behind it may wait for them, at most 2 ms and a twelfth of the delay (the last is never late for that), and a
//! host that has just sent a train is not listened to for up to one and a half times as long; what it has sent then is
//! taken to have followed at its cable's rate. So a packet amid others may be late, or early, by so much; one that comes
//! alone is neither.
//!
//! On two cores that others used too (Linux 6.18, not optimised much), one TCP stream:
//!
//! | lab | 8 bytes there and back | a program gets | of at most | the switch's processor time |
//! | --- | --- | --- | --- | --- |
//! | 25 ms, 50 Mbit/s | 50.2 ms | 48.3 Mbit/s | 48.3 | 0.1 of a core |
//! | 0.1 ms, 1 Gbit/s | 0.29 ms | 943 Mbit/s | 965 | 0.2 of a core |
//! | no limits | 0.08 ms | 7 Gbit/s | | |
//!
//! In the first, the nodes of `lathide link` saw 25.2 ms one way for 8 bytes (arithmetic: 25.0) and 199.7 ms for 1 MiB (198.8). The
//! processor time includes what the kernel's TCP does for the receiver. A cable holds at most 256 MiB each way; beyond that,
//! packets are dropped.
//!
//! Where two hosts compute on two cores, the switch and the kernel's packets take some of them. `lathide gain --hosts
//! host0,host1` in the first lab showed a greatest G of 1.87 to 1.94 in eight runs, five of them above 1.9 (of 1.99
//! possible; the relay of `--link wan` 1.95): up to gamma 0.9 everything is hidden, beyond it a step takes some 5 to 10 ms
//! more than its calculation of 160. While others took up to a third of the processors, three more showed 2.05, 2.15 and
//! 2.20: beyond what is possible, so disturbed.
//!
//! # How it is made
//!
//! One user namespace, in which the user is who they are but may administer networks; in it a network namespace per host,
//! with a TUN device whose other end is the switch's. There is no process for a host: the launcher keeps the namespaces
//! open, and hands them, over the socket in the lab's directory, to whoever wants to enter. The command and all it
//! starts have the rights to administer the lab's interfaces (`ip`, `tc`, `tcpdump` work), and no other.
//!
//! When the launcher ends or is killed, its devices are gone with it. A warden, started first, ends every process that is in
//! one of the lab's networks, and removes the directory. The launcher waits for it.
//!
//! # Where there can be none
//!
//! It needs user namespaces and `/dev/net/tun`. What is missing is said with what to do about it; on Ubuntu 24.04, where a
//! program without an AppArmor profile gets a user namespace without any rights, that is a profile for `lathide`. A container needs the
//! device (`--device /dev/net/tun`) and a seccomp filter that allows namespaces. Without them the command runs all the same (but not
//! with `--json`), and is told so: with
//! `LATHIDE_LAB_RELAY` set, `run`, `gain`, `link` and `collectives` with `--hosts host0,host1` have their ranks on this machine,
//! and a relay between them delays and limits what they send, as `--link` does. It has no packets: no losses, no queue that
//! drops, and nothing that can be cut.
