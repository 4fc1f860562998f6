//! A virtual network of several hosts on one machine: `lathide lab`.
//!
//! ```text
//! lathide lab --hosts 2 --delay 25ms --rate 50mbit -- bash
//! ```
//!
//! starts a shell on `host0`. `host1` is 25 ms away, and both can send 50 Mbit/s. Between them runs the TCP of this
//! machine's kernel, with slow start, losses and retransmissions. It needs no root. A relay
//! ([`--link`](super::launching)) needs even less, but has neither hosts nor packets.
//!
//! # A walk through
//!
//! ```text
//! $ lathide run --hosts host0,host1 ./stencil         # a rank on each host
//! $ ping -c 1 host1                                   # names resolve within the lab: 50 ms round trip
//! $ lathide __in-host host1 ss -tn                    # any program, on another host
//! $ lathide lab status                                # what each host has sent and received, and what was dropped
//! $ lathide lab cut host1                             # packets from and to host1 are lost,
//! $ lathide lab mend host1                            #   until now
//! $ lathide lab move host1 10.76.0.77                 # another address, which its name means from now on
//! $ lathide lab change host1 --rate 1mbit --loss 1%   # changes only what is named
//! $ lathide lab change --delay 100ms                  # of all hosts
//! $ exit                                              # and nothing is left of it
//! ```
//!
//! `move` takes the former address from the host's interface, so connections from and to it are dead without a word, as when
//! a machine gets another lease or network. It takes any free address in 10.76.0.0/16 or fd76:6c61:7468::/64; the host keeps that
//! of the other kind. A job goes on ([network cuts](super::launching#network-cuts-and-keepalive)), unless it is the host of its
//! launcher.
//!
//! Another shell with the same `LATHIDE_LAB` reaches the lab: `lathide lab cut host1` there cuts the link of a program
//! that runs here. Only the lab's user can do that, since the directory is private.
//!
//! | within a lab | |
//! | --- | --- |
//! | `LATHIDE_LAB`, `LATHIDE_LAB_HOSTS` | [the environment](super::launching#environment) |
//! | `10.76.0.1`, `fd76:6c61:7468::1` | `host0`'s addresses, and so on, unless it is moved |
//! | `lathide __in-host NAME PROGRAM ARGS…` | runs PROGRAM on that host, as the same process |
//!
//! Programs within a lab reach its hosts and nothing else, not even the machine's own network. Files and terminals are
//! the machine's.
//!
//! # What the figures mean
//!
//! Each host has a full-duplex cable to one switch, with the same properties in both directions.
//!
//! - `--rate` counts IP packets with their headers. TCP over IPv4 carries 1448 bytes in a packet of 1500, so 50 Mbit/s
//!   are 48.3 Mbit/s for a program. (The relay of `--link` counts the bytes that programs send.)
//! - `--delay` is the one-way delay from host to host; each of the two cables has half of it. Between hosts with
//!   different delays it is the mean. A packet takes the delay plus the time of its bytes at the lower rate: the switch
//!   is cut-through.
//! - `--host-rate` is the rate of each host's own network card, in front of its cable. A packet that has left is followed by the next
//!   when the card has sent it, and what waits does so within the host. So TCP knows of it, and the system tells when it has left
//!   ([sending times](super::observing#sending-times)). On a medium that hosts share, cards of 0.65 of its rate are the
//!   workstations of Stoica, Sultan and Keyes, section 5.2 (0.92 of 1.42 us per byte). Without it hosts send as fast as the switch
//!   takes it, and what waits for the cable does so in the switch. It is the kernel's token bucket `sch_htb`, of 34 Gbit/s at most.
//! - `--queue` is the size of the queue in front of each direction of each cable, in bytes. A packet that finds no room
//!   is dropped. If many send to one, that happens in front of the receiver's cable (incast); if one sends more than
//!   its rate, in front of its own. The default is what passes in two round trips or in 10 ms, and at least 64 KiB.
//! - `--loss` is the probability that a packet between two hosts is lost, independently of others.
//! - `--shared` is one medium for all, as the Ethernet of the papers: one packet at a time, hosts in turn, no
//!   collisions, and no queues but those of the senders.
//!
//! Packets have at most 1500 bytes. On fast links the kernel hands over several packets as one, as it does to a network
//! card with segmentation offload. Such a piece takes at most 0.5 ms or a tenth of the delay, and a sixteenth of the
//! queue, and is dropped as a whole. With `--loss` there are none. Everything is counted in packets.
//!
//! # Cost and accuracy
//!
//! Packets leave at the calculated time, or when the machine wakes the switch's thread: some 0.1 ms later, on a busy
//! machine more. Over long delays the switch saves wake-ups, since each one costs a computation on the same machine. A
//! packet with others behind it may wait for them, at most 2 ms and a twelfth of the delay; the last one never waits.
//! After a piece of several packets the switch does not read from that host for up to one and a half times as long, and
//! assumes that later packets followed at the rate of the cable. So a packet among others may be early or late by that
//! much. A single packet is neither.
//!
//! `lathide link --hosts host0,host1` and `lathide gain --hosts host0,host1` in a lab show the accuracy. On two cores,
//! over 25 ms and 50 Mbit/s, `link` measured 25.2 ms one way for 8 bytes (calculated: 25.0). The switch used 0.1 of a
//! core. `benches/results/2026-11-22-lab.md` has more. A cable holds at most 256 MiB in each direction; beyond that,
//! packets are dropped.
//!
//! If two hosts compute on two cores, the switch and the kernel's packets take some of them. So the gain is a little
//! lower than over a relay: a maximum of 1.87 to 1.94 in eight runs, of 1.99 possible.
//!
//! # Implementation
//!
//! There is one user namespace, in which the user keeps their identity but may administer networks. In it, each host is
//! a network namespace with a TUN device, whose other end belongs to the switch. No process belongs to a host. The
//! launcher keeps the namespaces open, and passes them over the socket in the lab's directory to programs that enter.
//! The command and all it starts may administer the lab's interfaces (`ip`, `tc`, `tcpdump` work), and have no other
//! privileges.
//!
//! When the launcher ends or is killed, its devices disappear with it. A warden process, started first, ends every
//! process in the lab's networks and removes the directory. The launcher waits for it.
//!
//! # Requirements
//!
//! The lab needs user namespaces and `/dev/net/tun`. If one is missing, the error says what to do. On Ubuntu 24.04 a
//! program without an AppArmor profile gets a user namespace without privileges, so `lathide` needs a profile. A
//! container needs the device (`--device /dev/net/tun`) and a seccomp filter that allows namespaces.
//!
//! Without them the command still runs (but not with `--json`), and says so. It sets `LATHIDE_LAB_RELAY`: then `run`,
//! `gain`, `link` and `collectives` with `--hosts host0,host1` start their ranks on this machine, and a relay between
//! them delays and limits what they send, as `--link` does. A relay has no packets: no losses, no queue that drops, no network
//! cards, and no cable to cut.
