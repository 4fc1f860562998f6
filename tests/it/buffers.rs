//! Buffers of all kinds, parts and strided regions of them, and buffers that are lent.

use std::sync::Arc;
use std::time::Duration;

use lathide::{
    Bytes, BytesMut, Config, Error, Misuse, Node, Overlap, Part, Rank, ReadBuffer, Section, SectionShift, Strided,
    WriteBuffer,
};
use ndarray::{Array2, Array3, ShapeBuilder, SliceInfoElem};

use crate::support::job_within;

const LIMIT: Duration = Duration::from_secs(60);

/// Runs `program` on 1, 2, 3 and 5 ranks, with overlap on and off, and once encrypted.
fn everywhere(program: impl Fn(&Node) + Clone + Send + 'static) {
    for size in [1, 2, 3, 5] {
        for (overlap, encrypt) in [(Overlap::On, false), (Overlap::Off, false), (Overlap::On, true)] {
            if encrypt && size != 2 {
                continue;
            }
            let configure = |config: &mut Config| (config.overlap, config.encrypt) = (overlap, encrypt);
            let program = program.clone();
            job_within(LIMIT, size, configure, move |node| {
                program(&node);
                node.finalize().unwrap();
            });
        }
    }
}

/// Sends `sent` around the ring; each rank reads into `place`.
#[track_caller]
fn pass<W: WriteBuffer, R: ReadBuffer>(node: &Node, sent: W, place: R) -> (W, R) {
    let (left, right) = (node.rank().on_ring(-1, node.size()), node.rank().on_ring(1, node.size()));
    let read = node.initread(left, 5, place).unwrap();
    let write = node.initwrite(right, 5, sent).unwrap();
    (write.wait().unwrap(), read.wait().unwrap())
}

/// Some of them longer than a fragment, and than what is sent at once.
const LENGTHS: [usize; 5] = [0, 1, 700, 5000, 40_000];

#[test]
fn every_buffer_carries_a_message_and_comes_back() {
    everywhere(|node| {
        for length in LENGTHS {
            let data: Vec<u32> = (0..length as u32).map(|index| index.wrapping_mul(77)).collect();
            let boxed = data.clone().into_boxed_slice();
            let (sent, received) = pass(node, boxed.clone(), vec![0u32; length + 3]);
            assert!(sent == boxed && received == data);
            let (sent, received) = pass(node, Arc::<[u32]>::from(&data[..]), vec![0u32; length].into_boxed_slice());
            assert!(sent[..] == data && received[..] == data);
            let bytes: Vec<u8> = data.iter().map(|word| *word as u8).collect();
            let (sent, received) = pass(node, Bytes::from(bytes.clone()), BytesMut::zeroed(length + 9));
            assert!(sent[..] == bytes && received[..] == bytes);
            let (sent, received) =
                pass(node, BytesMut::from(&bytes[..]), Part::new(BytesMut::zeroed(length + 9), 4..length + 5));
            assert!(sent[..] == bytes && received.elements() == bytes);
            assert_eq!(received.range(), 4..4 + length);
        }
    });
}

#[test]
fn a_range_of_shared_memory_goes_to_each_rank() {
    everywhere(|node| {
        let (size, count) = (node.size(), 3000);
        let all: Arc<[u64]> = (0..u64::from(size) * count as u64).collect();
        let place = |rank: u32| rank as usize * count..(rank as usize + 1) * count;
        let reads: Vec<_> =
            (0..size).map(|rank| node.initread(rank, 1, Part::new(vec![0u64; 4 * count], 7..7 + count))).collect();
        let write = |rank: u32| node.initwrite(rank, 1, Part::new(all.clone(), place(rank))).unwrap();
        let writes: Vec<_> = (0..size).map(write).collect();
        for read in reads {
            let read = read.unwrap().wait().unwrap().into_inner();
            assert_eq!(read[7..7 + count], all[place(node.rank().0)]);
            assert!(read[..7].iter().chain(&read[7 + count..]).all(|&outside| outside == 0));
        }
        for write in writes {
            assert!(Arc::ptr_eq(&write.wait().unwrap().into_inner(), &all), "nothing was copied");
        }
    });
}

/// A matrix of so many rows and columns.
fn matrix(rows: usize, columns: usize) -> Vec<i64> {
    (0..(rows * columns) as i64).collect()
}

fn column(rows: usize, columns: usize, number: usize) -> Section {
    Section::of(&[rows, columns], &[0..rows, number..number + 1]).unwrap()
}

#[test]
fn columns_go_from_matrix_to_matrix() {
    everywhere(|node| {
        for (rows, columns) in [(1, 1), (3, 4), (200, 7), (9, 2000)] {
            let sent = Strided::new(matrix(rows, columns), column(rows, columns, columns - 1));
            let place = Strided::new(vec![-1; rows * columns].into_boxed_slice(), column(rows, columns, 0));
            let (sent, received) = pass(node, sent, place);
            assert_eq!(sent.into_inner(), matrix(rows, columns));
            for (index, &element) in received.into_inner().iter().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let expected = if column == 0 { (row * columns + columns - 1) as i64 } else { -1 };
                assert_eq!(element, expected, "row {row} of {rows}, column {column} of {columns}");
            }
        }
    });
}

#[test]
fn arrays_and_their_sections_are_buffers() {
    everywhere(|node| {
        let cube = Array3::from_shape_fn((4, 5, 6), |(z, y, x)| (z * 100 + y * 10 + x) as f32);
        let cube = cube.into_dyn();
        let (sent, received) = pass(node, cube.clone(), Array3::<f32>::zeros((4, 5, 6)).into_dyn());
        assert!(sent == cube && received == cube);
        let at_the_end: [SliceInfoElem; 3] = [(..).into(), (1..4).into(), 5.into()];
        let reversed: [SliceInfoElem; 2] = [ndarray::Slice::new(0, None, -1).into(), (..).into()];
        let face = Section::of_slice(&cube, &at_the_end[..]);
        let turned = Array2::<f32>::zeros((3, 4).f()).into_dyn();
        let place = Section::of_slice(&turned, &reversed[..]);
        // Into an array of another layout, its rows from the last to the first.
        let (sent, received) = pass(node, Strided::new(cube.clone(), face), Strided::new(turned, place));
        assert_eq!(sent.into_inner(), cube);
        let expected: Vec<f32> = cube.slice(&at_the_end[..]).iter().copied().collect();
        assert_eq!(received.into_inner().slice(&reversed[..]).iter().copied().collect::<Vec<_>>(), expected);
        let turned = Array2::<f32>::zeros((3, 4).f());
        refused(node.initwrite(node.rank(), 1, turned), &["row-major"]);
    });
}

#[track_caller]
fn refused<T>(result: lathide::Result<T>, words: &[&str]) {
    let Err(error) = result else { panic!("no error, but one with {words:?} was due") };
    assert!(matches!(error, Error::Misuse(_)), "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in {error}");
    }
}

#[test]
fn regions_beyond_their_buffer_are_refused_with_rank_and_numbers() {
    everywhere(|node| {
        let own = node.rank();
        let named = format!("rank {own}: ");
        let range = [named.as_str(), "5..9", "8 elements"];
        refused(node.initread(own, 1, Part::new(vec![0u8; 8], 5..9)), &range);
        refused(node.initwrite(own, 1, Part::new(Bytes::from(vec![0u8; 8]), 5..9)), &range);
        let section = [named.as_str(), "3 elements", "from 5 to 13", "0 to 12"];
        let beyond = || Section::at(5).by(3, 4);
        refused(node.initread(own, 1, Strided::new(vec![0u8; 13], beyond())), &section);
        refused(node.initwrite(own, 1, Strided::new(vec![0u8; 13], beyond())), &section);
        let mut grid = vec![7u8; 13];
        refused(node.read_into(own, 1, Strided::new(&mut grid, beyond())).map(drop), &section);
        refused(node.write_from(own, 1, Strided::new(&mut grid, beyond())).map(drop), &section);
        refused(node.write_from(99usize, 1, &mut grid).map(drop), &[&named, "rank 99 does not exist"]);
        refused(node.read_into(-3, 1, &mut grid).map(drop), &[&named, "given as -3"]);
        refused(node.exchange_sections(&[SectionShift { to: None, from: Some((own, beyond())) }], &mut grid), &section);
        assert_eq!(grid, [7; 13], "what is not lent stays in its place");
        let twice = Section::at(0).by(3, 2).by(2, 2);
        refused(node.initread(own, 1, Strided::new(vec![0u8; 99], twice)), &[&named, "6 elements", "twice"]);
        node.barrier().unwrap();
    });
}

/// A buffer that cannot be cut takes messages of its own length only; both sides are told.
#[test]
fn a_message_that_leaves_a_box_half_empty_is_refused_on_both_sides() {
    let configure = |config: &mut Config| config.window_bytes = 64 << 10;
    // The last one is beyond the window: it is announced, and stays where it is.
    for (sent, posted, read_first) in [(3usize, 4usize, true), (3, 4, false), (0, 1, true), (100_000, 100_001, false)] {
        job_within(LIMIT, 2, configure, move |node| {
            let words = [format!("{sent} bytes of u8"), format!("{posted} bytes of u8"), "cannot be cut".to_owned()];
            let check = |error: Error| {
                assert!(matches!(error, Error::Mismatch(_)), "{error}");
                assert!(words.iter().all(|words| error.to_string().contains(words)), "{error}");
            };
            if node.rank() == 0 {
                if read_first {
                    node.barrier().unwrap();
                }
                let write = node.initwrite(1, 1, vec![1u8; sent]).unwrap();
                if !read_first {
                    node.barrier().unwrap();
                }
                let early = write.wait();
                node.barrier().unwrap();
                check(early.err().unwrap_or_else(|| node.check().unwrap_err()));
            } else {
                let post = || node.initread(0, 1, vec![0u8; posted].into_boxed_slice()).unwrap();
                let read = read_first.then(post);
                node.barrier().unwrap();
                check(read.unwrap_or_else(post).wait().unwrap_err());
                node.barrier().unwrap();
            }
            node.finalize().unwrap();
        });
    }
}

#[test]
fn what_is_lent_is_put_back() {
    everywhere(|node| {
        let (left, right) = (node.rank().on_ring(-1, node.size()), node.rank().on_ring(1, node.size()));
        let (mut edge, mut ghosts) = (vec![node.rank().0; 600], vec![u32::MAX; 1000]);
        for round in 0..20 {
            let memory = (edge.as_ptr(), ghosts.as_ptr());
            let ghost = node.read_into(left, 1, Part::new(&mut ghosts, round..round + 600)).unwrap();
            let sent = node.write_from(right, 1, &mut edge).unwrap();
            assert_eq!(ghost.operation().peer, left);
            assert!(sent.wait().unwrap().iter().all(|&element| element == node.rank().0));
            assert_eq!(ghost.wait().unwrap().range(), round..round + 600);
            assert!(ghosts[round..round + 600].iter().all(|&element| element == left.0));
            assert_eq!((edge.as_ptr(), ghosts.as_ptr()), memory, "nothing was copied");
        }
        assert_eq!((edge.len(), ghosts.len()), (600, 1000));
        let column = |number: usize| Section::of(&[10, 100], &[0..10, number..number + 1]).unwrap();
        let mut grid: Vec<u32> = (0..1000).collect();
        let read = node.read_into(left, 1, Strided::new(&mut ghosts, column(99))).unwrap();
        node.write_from(right, 1, Strided::new(&mut grid, column(3))).unwrap().wait().unwrap();
        read.wait().unwrap();
        assert!((0..10).all(|row| ghosts[row * 100 + 99] == (row * 100 + 3) as u32));
    });
}

/// In every state a loan may be dropped or forgotten: the place is as it was, or empty.
#[test]
fn a_loan_that_is_dropped_or_forgotten_leaves_a_vector() {
    everywhere(|node| {
        let own = node.rank();
        let mut place = vec![1u8; 4];
        drop(node.read_into(own, 1, &mut place).unwrap());
        assert!(place.is_empty(), "nothing had come");
        place = vec![1; 4];
        std::mem::forget(node.read_into(own, 2, &mut place).unwrap());
        assert!(place.is_empty());
        place.resize(3, 9);
        // The read that was dropped has taken nothing, and the one that is forgotten its own message only.
        node.initwrite(own, 2, vec![5u8; 4]).unwrap().wait().unwrap();
        let read = node.read_into(own, 1, &mut place).unwrap();
        node.initwrite(own, 1, vec![5u8; 2]).unwrap().wait().unwrap();
        while !read.is_complete() {
            std::thread::yield_now();
        }
        drop(read);
        assert_eq!(place, [5, 5], "a read that is complete gives back what has come");
        let (error, loan) = node.read_into(own, 1, &mut place).unwrap().wait_timeout(Duration::ZERO).unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }));
        node.initwrite(own, 1, vec![6u8]).unwrap().wait().unwrap();
        loan.expect("it goes on").wait().unwrap();
        assert_eq!(place, [6]);
        node.barrier().unwrap();
    });
}

/// A block of a periodic grid of `size` blocks side by side, with a frame of ghosts.
#[test]
fn columns_and_rows_are_exchanged_where_they_are() {
    const ROWS: usize = 40;
    const COLUMNS: usize = 30;
    everywhere(|node| {
        let (left, right) = (node.rank().on_ring(-1, node.size()), node.rank().on_ring(1, node.size()));
        let value = |rank: Rank, index: usize| u64::from(rank.0) * 1_000_000 + index as u64;
        let mut grid: Vec<u64> = (0..ROWS * COLUMNS).map(|index| value(node.rank(), index)).collect();
        let column = |number: usize| Section::of(&[ROWS, COLUMNS], &[1..ROWS - 1, number..number + 1]).unwrap();
        let shifts = [
            SectionShift { to: Some((right, column(COLUMNS - 2))), from: Some((left, column(0))) },
            SectionShift { to: Some((left, column(1))), from: Some((right, column(COLUMNS - 1))) },
        ];
        for blocking in [true, false] {
            if blocking {
                node.exchange_sections(&shifts, &mut grid).unwrap();
            } else {
                let ghosts = node.initexchange_sections(&shifts, &grid).unwrap();
                // The grid is free meanwhile.
                grid[COLUMNS + 5] += 1;
                grid[COLUMNS + 5] -= 1;
                ghosts.wait_into(&mut grid).unwrap();
            }
            for (index, &element) in grid.iter().enumerate() {
                let (row, column) = (index / COLUMNS, index % COLUMNS);
                let expected = match column {
                    _ if row == 0 || row == ROWS - 1 => value(node.rank(), index),
                    0 => value(left, index + COLUMNS - 2),
                    _ if column == COLUMNS - 1 => value(right, index + 2 - COLUMNS),
                    _ => value(node.rank(), index),
                };
                assert_eq!(element, expected, "row {row}, column {column}");
            }
        }
        let ghosts = node.initexchange_sections(&shifts, &grid).unwrap();
        let error = ghosts.wait_into(&mut [0]).unwrap_err();
        assert!(matches!(error, Error::Misuse(Misuse::Region { rank: Some(_), .. })), "{error}");
        node.barrier().unwrap();
    });
}
