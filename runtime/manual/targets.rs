//! What lathide is required to reach, what it reaches on a machine with two cores, and what causes the difference.
//!
//! `cargo bench --bench targets` prints every target: the measured ratio, the required one, the aim, and the range
//! (about ten minutes). `benches/results/2026-11-29-targets.md` has a complete run, on a virtual machine with two
//! cores. Both things of a ratio are measured in the same run, with the default configuration. *tbf* is a link shaped
//! by the kernel in a network namespace: a token bucket of 70 KiB for each direction of its loopback, mtu 1500.
//!
//! # Missed targets and their causes
//!
//! Experiments without a command that repeats them are in `benches/results/2026-11-22-experiments.md`.
//!
//! - **Overlap over 1 Gbit/s**, with both nodes computing on the only two cores (measured 0.77 to 0.91 up to 1 MiB,
//!   required 0.93). A computing core loses 8 to 12 % while it moves 125 MB/s in each direction. A third of that are
//!   timers of the token bucket and of BBR; the rest is the handling of packets in soft interrupts, with the copies.
//!   The kernel's task has 3 % of it ([`architecture`](super::architecture)). Fewer interrupts would help; without
//!   pacing the loss is 2 % smaller, but the latency under load three times as long. Later wake-ups (SO_RCVLOWAT,
//!   other time slices) bring nothing beside the task's pauses (`benches/results/2026-11-25-peers.md`).
//! - **Latency under load**: 8 bytes beside a long transfer take 1.1 ms at 1 Gbit/s. A packet of 64 KiB occupies the
//!   link for 0.52 ms, and two are always in the bucket's queue. This head-of-line delay cannot be avoided above the
//!   queue. The required value, five times the idle time of 5 us, would need packets of one or two kilobytes, at 30
//!   times the processor time.
//! - **Bandwidth over loopback** (0.84 to 0.90, required 0.9), against the better of both raw variants without pacing.
//!   64 KiB: the end of each message (completion, next post, a small read for the header) costs 1.5 us of 12. 16 MiB:
//!   both lathide and raw TCP fall from 9 to 6 GB/s, since the buffers no longer fit the caches. The ratios vary by a
//!   third from day to day and within a run, with the cores on which the two processes run.
//! - **Processor time per MiB** (1.4, 0.9 to 1.5 within a run, required 1.15): 16 headers in a vectored call, and
//!   polling by the receiver while the sender fills.
//! - **Overlap of 64 KiB over 100 Mbit/s** (0.66 to 0.78, required 0.97). The bucket refills while the other direction
//!   sends, so a message takes no time, and there is nothing to hide.
//! - **G over 1 Gbit/s** (1.70, required 1.8): the computing core's loss, as above.
//!
//! Ratios above 1 that lie below the rest of their column are noise of the machine: other machines use up to a tenth of
//! its processors for seconds at a time.
