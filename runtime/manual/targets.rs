//! What lathide is to reach, what it reaches on a machine of two cores, and what the rest is lost to.
//!
//! `cargo bench --bench targets` prints this table (about ten minutes): ratios of two things measured in the same run,
//! with the default configuration. The run below is of a virtual machine with two cores, Linux 6.18, BBR as the system's
//! congestion control. *tbf* is a link that the kernel shapes in a network namespace: a token bucket of 70 KiB for each
//! direction of its loopback, mtu 1500.
//!
//! ```text
//! what                                                                            measured  required       aim  min .. max
//! 8 B one way, more ranks than cores, against blocking raw TCP                       1.681  <=  1.25      1.05  0.826 .. 4.718  missed
//! 8 B one way, more ranks than cores, against our own task                           0.678  <=   0.6       0.3  0.514 .. 0.794  missed
//! a computation beside 8 idle links, against the same without lathide                1.004  <= 1.005     1.002  0.994 .. 1.076
//! processor time of a rank that waits 10 s, seconds                                  0.002  <=   0.1      0.01
//! 8 B one way, loopback, against blocking raw TCP                                    0.214  <=   0.4       0.2  0.182 .. 0.238
//! 8 B one way, loopback, against polled raw TCP                                      1.364  <=   1.6       1.2  1.291 .. 1.426
//! bandwidth of 64 KiB, loopback, against the better of both raw ways                 0.737  >=   0.9         1  0.581 .. 0.785  missed
//! bandwidth of 1 MiB, loopback, against the better of both raw ways                  0.855  >=   0.9         1  0.624 .. 0.903  missed
//! bandwidth of 16 MiB, loopback, against the better of both raw ways                 0.745  >=   0.9         1  0.651 .. 0.896  missed
//! 8 B messages per second, against one raw write each                                7.603  >=     4        10  2.064 .. 9.143
//! processor time per 8 B, against blocking raw TCP                                   0.558  <=   1.2       0.6  0.467 .. 0.619
//! processor time per MiB, against blocking raw TCP                                   1.315  <=  1.15         1  0.978 .. 1.781  missed
//! 1 MiB both ways at once, emulated 25 ms and 50 Mbit/s, against raw TCP             1.003  <=  1.05      1.01  1.003 .. 1.004
//! 1 MiB both ways at once against ping-pong, 1 Gbit/s (tbf)                          1.913  >=   1.9      1.98  1.836 .. 1.956
//! overlap of 64 KiB, 1 Gbit/s (tbf)                                                  0.858  >=  0.93      0.97  0.696 .. 0.973  missed
//! effective overlap of 64 KiB, 1 Gbit/s (tbf)                                        0.843  >=  0.93      0.97  0.660 .. 0.958  missed
//! overlap of 64 KiB both ways, 1 Gbit/s (tbf)                                        0.810  >=  0.93      0.97  0.668 .. 0.889  missed
//! effective overlap of 64 KiB both ways, 1 Gbit/s (tbf)                              0.797  >=  0.93      0.97  0.650 .. 0.879  missed
//! overlap of 1 MiB, 1 Gbit/s (tbf)                                                   0.808  >=  0.93      0.97  0.682 .. 0.888  missed
//! effective overlap of 1 MiB, 1 Gbit/s (tbf)                                         0.754  >=  0.93      0.97  0.633 .. 0.840  missed
//! overlap of 1 MiB both ways, 1 Gbit/s (tbf)                                         0.819  >=  0.93      0.97  0.643 .. 0.869  missed
//! effective overlap of 1 MiB both ways, 1 Gbit/s (tbf)                               0.773  >=  0.93      0.97  0.595 .. 0.825  missed
//! overlap of 8 MiB, 1 Gbit/s (tbf)                                                   1.019  >=  0.93      0.97  0.849 .. 1.412
//! effective overlap of 8 MiB, 1 Gbit/s (tbf)                                         0.977  >=  0.93      0.97  0.807 .. 1.369
//! overlap of 8 MiB both ways, 1 Gbit/s (tbf)                                         0.902  >=  0.93      0.97  0.625 .. 1.171  missed
//! effective overlap of 8 MiB both ways, 1 Gbit/s (tbf)                               0.835  >=  0.93      0.97  0.550 .. 1.098  missed
//! availability, 8 MiB, spare core, 1 Gbit/s (tbf)                                    1.020  >=  0.95      0.98  0.887 .. 1.374
//! 8 B during a long transfer to the same peer, p99 against idle p50, 1 Gbit/s (tbf)   454.448  <=     5         3  missed
//! availability, 8 MiB, one core for everything, 1 Gbit/s (tbf)                       0.825  >=  0.85       0.9  0.776 .. 0.835  missed
//! overlap of 64 KiB, 100 Mbit/s (tbf)                                                0.779  >=  0.97      0.99  0.642 .. 0.842  missed
//! effective overlap of 64 KiB, 100 Mbit/s (tbf)                                      0.777  >=  0.97      0.99  0.640 .. 0.834  missed
//! overlap of 64 KiB both ways, 100 Mbit/s (tbf)                                      0.843  >=  0.97      0.99  -1.399 .. 0.960  missed
//! effective overlap of 64 KiB both ways, 100 Mbit/s (tbf)                            0.843  >=  0.97      0.99  -1.421 .. 0.946  missed
//! overlap of 1 MiB, 100 Mbit/s (tbf)                                                 0.979  >=  0.97      0.99  0.959 .. 0.989
//! effective overlap of 1 MiB, 100 Mbit/s (tbf)                                       0.961  >=  0.97      0.99  0.946 .. 0.970  missed
//! overlap of 1 MiB both ways, 100 Mbit/s (tbf)                                       0.952  >=  0.97      0.99  0.825 .. 0.990  missed
//! effective overlap of 1 MiB both ways, 100 Mbit/s (tbf)                             0.939  >=  0.97      0.99  0.800 .. 0.974  missed
//! overlap of 8 MiB, 100 Mbit/s (tbf)                                                 1.019  >=  0.97      0.99  1.017 .. 1.043
//! effective overlap of 8 MiB, 100 Mbit/s (tbf)                                       1.006  >=  0.97      0.99  1.004 .. 1.029
//! overlap of 8 MiB both ways, 100 Mbit/s (tbf)                                       0.931  >=  0.97      0.99  0.832 .. 0.934  missed
//! effective overlap of 8 MiB both ways, 100 Mbit/s (tbf)                             0.916  >=  0.97      0.99  0.809 .. 0.925  missed
//! max G, halos of 800 KB, 100 Mbit/s (tbf)                                           1.946  >=  1.92      1.97
//! max G, halos of 800 KB, 1 Gbit/s (tbf)                                             1.576  >=   1.8       1.9  missed
//! ```
//!
//! Of the raw ways, the same machine and link showed: over 1 Gbit/s two threads that block in raw TCP leave a computation
//! 0.88 of its core in an exchange, and hide 0.81 to 0.84 of it (lathide in turns with them: 0.79 to 0.85). That, and
//! the gaps of a tight loop below, were seen with programs written for the question and not kept: no command repeats them.
//! An exchange takes lathide 8.7 ms per MiB, raw TCP 8.75 (`lathide link`).
//!
//! # What is missed, and what it is lost to
//!
//! - **Overlap over 1 Gbit/s** where both nodes compute on the only two cores. A computing core loses 8 to 12 % while it moves 125
//!   MB/s each way: of the gaps in its program that a tight loop sees, about 3 per millisecond of 16 to 65 us each, a third
//!   are timers of the bucket and of BBR (an interrupt costs 16 us here, a virtual machine in another), the rest packets of
//!   64 KiB handled in soft interrupts, with the copies. The task has 3 % of it (5 before it rested between packets,
//!   [`architecture`](super::architecture)). What would help further: fewer interrupts (no pacing: tried, 2 % better, but 8 bytes
//!   beside a long message then wait three times as long), waking later (SO_RCVLOWAT, longer time slices), which
//!   the system offers through calls that need `unsafe` here.
//! - **8 bytes beside a long transfer.** A packet of 64 KiB takes the link for 0.52 ms at 1 Gbit/s, and two are always in
//!   the bucket's queue, before which nothing can be put: 1.1 ms (2.7 before the unsent limit followed who drives, 10
//!   without one). Five times 5 us is out of reach of anything that shares the queue with such packets; it would take
//!   packets of a kilobyte or two, at 30 times the processor time.
//! - **Bandwidth over loopback** against the better of both raw ways, freed of pacing. 64 KiB: the last hop of each message
//!   (handing over, posting, a small read for the header beside the payload) costs 1.5 us of 12. 16 MiB: both ways
//!   fall from 9 to 6 GB/s there, since buffers no longer fit the caches. lathide fell further while it read up to a megabyte
//!   in one call, since the sender hears of room only when a call is over; now calls end at 128 KiB (a pair of builds in
//!   turns: 0.95 instead of 0.63 at 16 MiB, 0.92 instead of 0.77 at 1 MiB, with a program not kept). From day to day, and
//!   within a run, the ratios move by a third with where the machine puts the two processes.
//! - **Processor time per MiB**: 16 headers in a vectored call, and looks of a polling receiver while the sender fills.
//! - **8 B against blocking raw TCP** depends on what a wake-up costs, which is the host's business: on most days
//!   27 to 29 us, on one 7.7, where lathide's 4.9 us were 0.64 of that and 1.5 of polled raw TCP's 3.2. With more ranks than
//!   cores it swings within a run (0.8 to 4.7 above; 1.1 in the median of another day).
//! - **8 B against our own task**, more ranks than cores: a hand-over to the task is itself only 1.5 times blocking raw
//!   TCP here, and nothing that sleeps can be quicker than that sleep; where cores are free the ratio is 0.12.
//! - **64 KiB one way over 100 Mbit/s**: the bucket refills while the other direction sends, so that a message passes in no
//!   time, and there is nothing to hide.
//! - **G over 1 Gbit/s**: what a computing core loses there, as above; 1.76 on another day.
//!
//! Numbers above 1 and below the rest of their column are the machine's noise: other machines' work takes up to a tenth
//! of its processors for seconds at a time.
