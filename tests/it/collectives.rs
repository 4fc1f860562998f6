//! Collectives over real sockets: every operation, every algorithm, mixed with messages, while programs compute, when
//! ranks disagree, and when one dies.

use lathide::Operator;

use crate::support::job;

#[test]
fn broadcast_and_allreduce_end_to_end() {
    for size in [1, 2, 3, 5] {
        job(size, move |node| {
            let rank = node.rank().0;
            for root in 0..size {
                for count in [0usize, 1, 7, 100_000] {
                    let data = |index: usize| f64::from(root) + index as f64;
                    let buffer = (0..count).map(|index| if rank == root { data(index) } else { -1.0 }).collect();
                    let got = node.broadcast(root, buffer).unwrap();
                    assert!(got.iter().enumerate().all(|(index, &got)| got == data(index)));
                    let own: Vec<u64> = (0..count as u64).map(|index| index * u64::from(rank + 1)).collect();
                    let sum = node.initallreduce(&Operator::sum(), own).unwrap();
                    let barrier = node.initbarrier().unwrap();
                    let factor = u64::from(size * (size + 1) / 2);
                    assert!(sum.wait().unwrap().iter().zip(0..).all(|(&sum, index): (_, u64)| sum == index * factor));
                    barrier.wait().unwrap();
                }
            }
            node.finalize().unwrap();
        });
    }
}
