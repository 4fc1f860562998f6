//! What lathide is to reach, what it reaches on a machine of two cores, and what the rest is lost to.
//!
//! `cargo bench --bench targets` prints this table (about ten minutes): ratios of two things measured in the same run,
//! with the default configuration. The run below is of a virtual machine with two cores, Linux 6.18, BBR as the system's
//! congestion control. *tbf* is a link that the kernel shapes in a network namespace: a token bucket of 70 KiB for each
//! direction of its loopback, mtu 1500.
//!
//! ```text
//! what                                                                            measured  required       aim  min .. max
//! 8 B one way, more ranks than cores, against blocking raw TCP                       1.104  <=  1.25      1.05  0.873 .. 2.907
//! 8 B one way, more ranks than cores, against our own task                           0.678  <=   0.6       0.3  0.592 .. 0.790  missed
//! a computation beside 8 idle links, against the same without lathide                0.997  <= 1.005     1.002  0.971 .. 1.040
//! processor time of a rank that waits 10 s, seconds                                  0.002  <=   0.1      0.01
//! 8 B one way, loopback, against blocking raw TCP                                    0.230  <=   0.4       0.2  0.180 .. 0.311
//! 8 B one way, loopback, against polled raw TCP                                      1.444  <=   1.6       1.2  1.244 .. 1.581
//! bandwidth of 64 KiB, loopback, against the better of both raw ways                 0.820  >=   0.9         1  0.707 .. 0.830  missed
//! bandwidth of 1 MiB, loopback, against the better of both raw ways                  0.900  >=   0.9         1  0.821 .. 0.974  missed
//! bandwidth of 16 MiB, loopback, against the better of both raw ways                 0.685  >=   0.9         1  0.581 .. 0.947  missed
//! 8 B messages per second, against one raw write each                                4.284  >=     4        10  2.903 .. 8.335
//! processor time per 8 B, against blocking raw TCP                                   0.585  <=   1.2       0.6  0.518 .. 0.780
//! processor time per MiB, against blocking raw TCP                                   1.219  <=  1.15         1  1.173 .. 1.358  missed
//! 1 MiB both ways at once, emulated 25 ms and 50 Mbit/s, against raw TCP             1.004  <=  1.05      1.01  1.002 .. 1.004
//! 1 MiB both ways at once against ping-pong, 1 Gbit/s (tbf)                          1.915  >=   1.9      1.98  1.906 .. 1.942
//! overlap of 64 KiB, 1 Gbit/s (tbf)                                                  0.868  >=  0.93      0.97  0.281 .. 0.891  missed
//! effective overlap of 64 KiB, 1 Gbit/s (tbf)                                        0.859  >=  0.93      0.97  0.251 .. 0.882  missed
//! overlap of 64 KiB both ways, 1 Gbit/s (tbf)                                        0.923  >=  0.93      0.97  0.802 .. 1.269  missed
//! effective overlap of 64 KiB both ways, 1 Gbit/s (tbf)                              0.913  >=  0.93      0.97  0.794 .. 1.258  missed
//! overlap of 1 MiB, 1 Gbit/s (tbf)                                                   0.904  >=  0.93      0.97  0.759 .. 1.266  missed
//! effective overlap of 1 MiB, 1 Gbit/s (tbf)                                         0.880  >=  0.93      0.97  0.713 .. 1.217  missed
//! overlap of 1 MiB both ways, 1 Gbit/s (tbf)                                         0.786  >=  0.93      0.97  0.690 .. 0.838  missed
//! effective overlap of 1 MiB both ways, 1 Gbit/s (tbf)                               0.743  >=  0.93      0.97  0.661 .. 0.808  missed
//! overlap of 8 MiB, 1 Gbit/s (tbf)                                                   0.866  >=  0.93      0.97  0.739 .. 0.965  missed
//! effective overlap of 8 MiB, 1 Gbit/s (tbf)                                         0.825  >=  0.93      0.97  0.697 .. 0.922  missed
//! overlap of 8 MiB both ways, 1 Gbit/s (tbf)                                         0.677  >=  0.93      0.97  0.489 .. 0.936  missed
//! effective overlap of 8 MiB both ways, 1 Gbit/s (tbf)                               0.627  >=  0.93      0.97  0.426 .. 0.889  missed
//! availability, 8 MiB, spare core, 1 Gbit/s (tbf)                                    0.946  >=  0.95      0.98  0.925 .. 1.063  missed
//! 8 B during a long transfer to the same peer, p99 against idle p50, 1 Gbit/s (tbf)   357.303  <=     5         3  missed
//! availability, 8 MiB, one core for everything, 1 Gbit/s (tbf)                       0.871  >=  0.85       0.9  0.805 .. 0.876
//! overlap of 64 KiB, 100 Mbit/s (tbf)                                                0.737  >=  0.97      0.99  0.701 .. 0.857  missed
//! effective overlap of 64 KiB, 100 Mbit/s (tbf)                                      0.737  >=  0.97      0.99  0.686 .. 0.850  missed
//! overlap of 64 KiB both ways, 100 Mbit/s (tbf)                                      0.998  >=  0.97      0.99  0.931 .. 1.043
//! effective overlap of 64 KiB both ways, 100 Mbit/s (tbf)                            0.996  >=  0.97      0.99  0.930 .. 1.042
//! overlap of 1 MiB, 100 Mbit/s (tbf)                                                 1.030  >=  0.97      0.99  0.997 .. 1.146
//! effective overlap of 1 MiB, 100 Mbit/s (tbf)                                       1.019  >=  0.97      0.99  0.990 .. 1.132
//! overlap of 1 MiB both ways, 100 Mbit/s (tbf)                                       1.052  >=  0.97      0.99  0.997 .. 1.138
//! effective overlap of 1 MiB both ways, 100 Mbit/s (tbf)                             1.043  >=  0.97      0.99  0.989 .. 1.131
//! overlap of 8 MiB, 100 Mbit/s (tbf)                                                 1.010  >=  0.97      0.99  0.974 .. 1.030
//! effective overlap of 8 MiB, 100 Mbit/s (tbf)                                       1.003  >=  0.97      0.99  0.967 .. 1.025
//! overlap of 8 MiB both ways, 100 Mbit/s (tbf)                                       0.938  >=  0.97      0.99  0.935 .. 0.944  missed
//! effective overlap of 8 MiB both ways, 100 Mbit/s (tbf)                             0.929  >=  0.97      0.99  0.922 .. 0.937  missed
//! max G, halos of 800 KB, 100 Mbit/s (tbf)                                           1.954  >=  1.92      1.97
//! max G, halos of 800 KB, 1 Gbit/s (tbf)                                             1.761  >=   1.8       1.9  missed
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
//!   fall from 9 to 6 GB/s there, since buffers no longer fit the caches. lathide fell further, because it read up to a
//!   megabyte in one call, and the sender hears of room only when a call is over; since calls end at 128 KiB, after the
//!   run above, a pair of builds in turns had medians of 0.95 instead of 0.63 at 16 MiB and 0.92 instead of 0.77 at 1 MiB
//!   (a program not kept; `lathide link --bytes 64KiB,1MiB,16MiB` shows the ratios of one build).
//! - **Processor time per MiB**: 16 headers in a vectored call, and looks of a polling receiver while the sender fills.
//! - **8 B against blocking raw TCP** depends on what a wake-up costs, which is the host's business: on the day of the run above
//!   29 us, on another 7.7, where lathide's 4.9 us were 0.64 of that and 1.5 of polled raw TCP's 3.2.
//! - **8 B against our own task**, more ranks than cores: a hand-over to the task is itself only 1.5 times blocking raw
//!   TCP here, and nothing that sleeps can be quicker than that sleep; where cores are free the ratio is 0.12.
//! - **64 KiB one way over 100 Mbit/s**: the bucket refills while the other direction sends, so that a message passes in no
//!   time, and there is nothing to hide; both ways it is 1.00.
//!
//! Numbers above 1 and below the rest of their column are the machine's noise: other machines' work takes up to a tenth
//! of its processors for seconds at a time.
