//! Both ends write short messages in turn.

use super::units::{Pair, pattern};

/// Has `from` write messages of 8 bytes, of these seeds.
fn write(pair: &mut Pair, from: usize, seeds: &[usize]) {
    for &seed in seeds {
        pair.write(from, 1, pattern(seed, 8));
        pair.send(from);
    }
}

#[test]
fn who_has_written_reads_one_short_message_at_a_time() {
    let mut pair = Pair::new(1 << 20, 16, 1 << 20);
    let reads: Vec<_> = (0..6).map(|_| pair.read(0, 1, 8)).collect();
    // How long they are is seen by the first.
    write(&mut pair, 1, &[0]);
    pair.receive(0, usize::MAX);
    write(&mut pair, 0, &[9]);
    write(&mut pair, 1, &[1, 2, 3]);
    let done = |pair: &Pair| reads.iter().filter(|&&read| pair.is_done(0, read)).count();
    assert_eq!(done(&pair), 1);
    pair.receive(0, usize::MAX);
    assert_eq!(done(&pair), 2, "the others stay in the socket");
    pair.receive(0, usize::MAX);
    assert_eq!(done(&pair), 4, "who has not written since reads all");
    // One that is longer than the last comes in two pieces.
    write(&mut pair, 0, &[9]);
    let long = pair.read(0, 2, 100);
    pair.write(1, 2, pattern(7, 100));
    pair.send(1);
    write(&mut pair, 1, &[4, 5]);
    pair.receive(0, usize::MAX);
    assert!(done(&pair) == 4 && !pair.is_done(0, long));
    pair.receive(0, usize::MAX);
    assert_eq!(done(&pair), 6);
    assert_eq!(pair.take(0, long), pattern(7, 100));
    let taken: Vec<_> = reads.iter().map(|&read| pair.take(0, read)).collect();
    assert_eq!(taken, (0..6).map(|seed| pattern(seed, 8)).collect::<Vec<_>>());
}
