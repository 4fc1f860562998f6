//! From a program that waits for its messages to one that hides them, in four steps.
//!
//! The program is the heat equation on a grid of 20 000 rows and 384 columns (Strumpen 1994, section 2). Each step is a whole
//! program, in `examples/tutorial/`. Build them, or make a package of your own in the clone (`cargo new heat && cd heat && cargo
//! add lathide --path ..`), put a step into its `src/main.rs`, and run `target/release/heat` instead.
//!
//! ```console
//! $ cargo build --release --examples
//! ```
//!
//! The times below are from a machine with two cores; those of another one differ. The sum of all temperatures does not, and shows that all
//! steps calculate the same.
//!
//! # 1. Alone
//!
//! ```console
//! $ target/release/examples/heat-alone
//! alone: 6.5ms per step, the sum of all temperatures is 368640129.544974
//! ```
//!
//! A column of the next time step needs three of this one. So whoever has a strip of columns needs one more on either side.
//!
//! ```no_run
#![doc = include_str!("../../examples/tutorial/1_alone.rs")]
//! ```
//!
//! # 2. Calculate, write, read
//!
//! Each rank has a strip. After a step it writes its edges to its neighbours, and reads theirs: version I.1 of the paper, and how such
//! programs are usually written. The region `solve` marks what reports and measurements are to be about: the steps, without start and sum.
//!
//! ```no_run
#![doc = include_str!("../../examples/tutorial/2_blocking.rs")]
//! ```
//!
//! The link between two ranks of one machine has no delay to hide. So have one emulated:
//!
//! ```console
//! $ lathide run -n 2 --link delay=0.2ms,rate=500mbit --report --trace blocking.json target/release/examples/heat-blocking
//! [0] I.1: 9.0ms per step, the sum of all temperatures is 368640129.544974
//! lathide: region solve: gamma = t_calc/t_com = 0.945 ..., hidden = 1 - t_exposed/t_com = 19 ... % of the communication, ...
//! lathide: region solve: only f = 0.20 of the calculation has communication behind it: post earlier, wait later;
//!   with f = 1 eq. (4) gives G = 1.87 instead of 1.11
//! $ lathide report blocking.json --steps 3 -o blocking.svg
//! ```
//!
//! Two ranks take longer than one. The picture of three steps shows why: calculation (green) and messages (blue) take turns, and
//! both ranks wait (red) most of the time.
//!
#![doc = include_str!("figures/blocking.svg")]
//!
//! # 3. Write early
//!
//! Nobody has to wait for the interior to send the edges. Version I.2 calculates them first. Then its messages travel while the
//! interior is calculated. Only the loop changes:
//!
//! ```no_run
#![doc = include_str!("../../examples/tutorial/3_write_early.rs")]
//! ```
//!
//! ```console
//! $ lathide run -n 2 --link delay=0.2ms,rate=500mbit --report --trace write_early.json target/release/examples/heat-write-early
//! [0] I.2: 5.5ms per step, the sum of all temperatures is 368640129.544974
//! lathide: region solve: gamma = t_calc/t_com = 1.075 ..., hidden = 1 - t_exposed/t_com = 94 ... % of the communication, ...
//! lathide: region solve: communication is hidden; calculation takes the time
//! $ lathide report write_early.json --steps 3 -o write_early.svg
//! ```
//!
//! Now it is faster than one rank. A wait for a write ends when its buffer may be used again, and messages of this size find room in
//! the system's buffers. Longer ones do not: a rank that writes 8 MB waits until most of them have left
//! (`lathide gain` measures I.2 with messages of 800 kB).
//!
#![doc = include_str!("figures/write_early.svg")]
//!
//! # 4. Post early, wait late
//!
//! Version I.3 posts reads and writes before the interior and waits for them behind it. It depends on no buffer of the system, for
//! any size, and a message goes from the socket to its place.
//!
//! ```no_run
#![doc = include_str!("../../examples/tutorial/4_hidden.rs")]
//! ```
//!
//! ```console
//! $ lathide run -n 2 --link delay=0.2ms,rate=500mbit --report --trace hidden.json target/release/examples/heat-hidden
//! [0] I.3: 5.6ms per step, the sum of all temperatures is 368640129.544974
//! lathide: region solve: gamma = t_calc/t_com = 0.804 ..., hidden = 1 - t_exposed/t_com = 76 ... % of the communication, ... f = 1.00
//! lathide: region solve: a step has more communication than its calculation can hide, gamma = 0.776; 1.2 x more work per step
//!   would hide it (best gamma = 1/(f + Omega) = 0.95, section 2.3.1): eq. (4) then gives G = 1.95 instead of 1.78
//! $ lathide report hidden.json --steps 3 -o hidden.svg
//! ```
//!
//! The reports of the last two steps do not ask for earlier posts any more: f, the part of the calculation with communication behind it, is
//! near 1. What remains, where the calculation is the shorter one, is that the messages take longer.
//!
#![doc = include_str!("figures/hidden.svg")]
//!
//! # What it gains
//!
//! `lathide gain -- PROGRAM` runs an unchanged program in turns with overlap and without: without it, bytes move only while a
//! thread waits, as in a library that makes no progress by itself.
//!
//! ```console
//! $ lathide gain -n 2 --link delay=0.2ms,rate=500mbit -- target/release/examples/heat-hidden
//! Overlap pays for this program's region solve: G = 1.54 (1.51 to 1.56); it saves 35 % of the time.
//! $ lathide gain -n 2 --link delay=0.2ms,rate=500mbit -- target/release/examples/heat-blocking
//! Overlap makes no clear difference for this program's region solve: G = 1.00 (0.98 to 1.01). ...
//! ```
//!
//! Step 2 gains nothing, because nothing lies between its posts and its waits. Your own program, on your own hosts, in the same way:
//! `lathide gain -n 4 --hosts a,b,c,d -- ./program`. [Measuring](super::measuring) explains the numbers, [observing](super::observing)
//! the report, and [`coming_from`](super::coming_from) has the calls of MPI beside those used here.
