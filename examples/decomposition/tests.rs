//! The whole solver, on a job of one rank: all subdomains in this process.

use super::condition::extreme_eigenvalues;
use super::layout::{Layout, SIDES, Side};
use super::messages::{Kind, Messages, Pending};
use super::options::{Options, Version};
use super::preconditioner::Preconditioner;
use super::solver::energy_per_residual;
use super::stencil::{clear_boundary, dot, line, product_around, product_inside};
use super::{Outcomes, solve};

fn solved(side: usize, n: usize, tolerance: f64, iterations: usize) -> Outcomes {
    let node = lathide::init().expect("a job of one rank");
    let options = Options { version: Version::Native, side, n, iterations, tolerance };
    let outcomes = solve(&node, &options).expect("a solution");
    node.finalize().expect("nothing is left over");
    outcomes
}

fn iterations(side: usize, n: usize) -> usize {
    solved(side, n, 1e-9, 0).solved.iterations
}

#[test]
fn the_error_is_of_second_order() {
    for (side, sizes) in [(1, [16, 32, 64]), (2, [8, 16, 32]), (3, [8, 16, 32]), (4, [4, 8, 16])] {
        let [coarse, fine, finest] = sizes.map(|n| solved(side, n, 1e-10, 0).error);
        for ratio in [coarse / fine, fine / finest] {
            assert!((3.9..4.1).contains(&ratio), "{side}: {coarse:e}, {fine:e}, {finest:e}");
        }
    }
}

/// The preconditioner's quality depends on the logarithm of a subdomain's size only: the condition number is `O((1 + ln n)^2)`, and
/// iterations grow like its root.
fn check_growth(side: usize, sizes: &[usize]) {
    let mut all = Vec::new();
    for n in sizes {
        let outcomes = solved(side, *n, 1e-12, 0);
        let [smallest, largest] = extreme_eigenvalues(&outcomes.solved.steps);
        let known = energy_per_residual(&outcomes.layout);
        assert!(smallest * known * known > 1.0, "side {side}, n = {n}: eigenvalues from {smallest}");
        assert!(largest < 2.0, "side {side}, n = {n}: eigenvalues up to {largest}");
        all.push((iterations(side, *n), largest / smallest));
    }
    let [(few, small), .., (many, large)] = all[..] else { panic!("several sizes") };
    let logarithms = [sizes[0], sizes[sizes.len() - 1]].map(|n| 1.0 + (n as f64).ln());
    assert!(large / small < (logarithms[1] / logarithms[0]).powi(2), "side {side}: condition numbers {all:?}");
    assert!(few > 1 && 4 * many <= 9 * few, "side {side}: iterations {all:?}");
}

#[test]
fn iterations_grow_slowly_with_the_size() {
    check_growth(2, &[16, 32, 64]);
    check_growth(4, &[16, 32, 64]);
}

/// The whole range of the paper.
#[test]
#[ignore = "long: .ci/night runs it"]
fn iterations_grow_slowly_up_to_the_largest_size() {
    check_growth(2, &[16, 64, 256, 512]);
    check_growth(4, &[16, 64, 256, 512]);
}

/// The crosspoints carry what is global: without them iterations would grow with the number of subdomains per side.
#[test]
fn iterations_do_not_grow_with_the_number_of_subdomains() {
    let [few, many] = [4, 16].map(|side| iterations(side, 4));
    assert!(4 * many <= 5 * few, "{few} iterations, then {many}");
}

/// Without a wire basket the preconditioner is the inverse of the matrix.
#[test]
fn one_subdomain_is_solved_at_once() {
    for n in [2, 4, 64] {
        assert_eq!(iterations(1, n), 1, "n = {n}");
    }
}

/// For measuring: more iterations than a solve takes are several solves, and what is checked is a whole one.
#[test]
fn a_solve_begins_anew_when_it_has_converged() {
    let once = solved(2, 16, 1e-9, 0);
    let needed = once.solved.iterations;
    for asked in [needed, needed + 1, 2 * needed, 3 * needed - 1] {
        let several = solved(2, 16, 1e-9, asked);
        assert_eq!((several.solved.iterations, several.solved.converged), (asked, Some(needed)));
        assert_eq!((several.checksum, several.error), (once.checksum, once.error), "{asked} iterations");
    }
    let unfinished = solved(2, 16, 1e-9, needed - 1);
    assert_eq!((unfinished.solved.iterations, unfinished.solved.converged), (needed - 1, None));
    assert!(unfinished.solved.relative > 1e-9 && unfinished.checksum != once.checksum, "{unfinished:?}");
}

/// Numbers at all points that are unknowns.
fn numbers(layout: &Layout, seed: usize) -> Vec<Vec<f64>> {
    let number = |at: usize| f64::from((at * 7919 % 211) as u32) / 100.0 - 1.0;
    let points = layout.n * layout.n;
    let mut field: Vec<Vec<f64>> =
        (0..layout.subdomains()).map(|s| (0..points).map(|at| number(seed + s * points + at)).collect()).collect();
    field.iter_mut().enumerate().for_each(|(s, part)| clear_boundary(layout, s, part));
    field
}

/// What the preconditioner makes of each vector.
fn preconditioned(layout: Layout, vectors: &[Vec<Vec<f64>>]) -> Vec<Vec<Vec<f64>>> {
    let node = lathide::init().expect("a job of one rank");
    let messages = Messages::new(&node, layout, Version::Hidden);
    let mut preconditioner = Preconditioner::new(&layout, messages.own());
    let mut apply = |vector: &Vec<Vec<f64>>| {
        let mut result = vector.clone();
        preconditioner.apply(&messages, vector, &mut result).expect("one rank");
        result
    };
    vectors.iter().map(&mut apply).collect()
}

#[test]
fn the_preconditioner_is_symmetric_and_positive() {
    for (side, n) in [(1, 8), (2, 2), (2, 8), (3, 8), (4, 4)] {
        let layout = Layout { side, n, ranks: 1 };
        let (u, v) = (numbers(&layout, 0), numbers(&layout, 77));
        let products = |a: &[Vec<f64>], b: &[Vec<f64>]| a.iter().zip(b).map(|(a, b)| dot(a, b)).sum::<f64>();
        let [of_u, of_v] = &preconditioned(layout, &[u.clone(), v.clone()])[..] else { panic!("two vectors") };
        let [one, other] = [products(of_u, &v), products(&u, of_v)];
        assert!((one - other).abs() < 1e-10 * products(&u, of_u), "{side}, {n}: {one} and {other}");
        assert!(products(&u, of_u) > 0.0 && products(&v, of_v) > 0.0, "{side}, {n}");
    }
}

/// The interiors are solved exactly, with the values that the wire basket has.
#[test]
fn the_preconditioned_vector_fits_the_equations_of_the_interiors() {
    let layout = Layout { side: 3, n: 8, ranks: 1 };
    let (n, r) = (layout.n, numbers(&layout, 5));
    let z = preconditioned(layout, std::slice::from_ref(&r)).remove(0);
    for s in 0..layout.subdomains() {
        let around = SIDES
            .map(|side| layout.neighbour(s, side).map_or(vec![0.0; n], |other| line(&z[other], n, side.opposite())));
        let mut product = vec![0.0; n * n];
        product_inside(&z[s], n, &mut product);
        product_around(&z[s], &around, n, &mut product);
        for at in (0..n - 1).flat_map(|row| (0..n - 1).map(move |column| row * n + column)) {
            assert!((product[at] - r[s][at]).abs() < 1e-11, "subdomain {s}, {at}: {} and {}", product[at], r[s][at]);
        }
    }
}

/// A residual at one crosspoint is answered along its four edges, linearly.
#[test]
fn a_crosspoint_is_continued_along_its_edges() {
    let layout = Layout { side: 2, n: 8, ranks: 1 };
    let mut r = vec![vec![0.0; 64]; 4];
    r[0][63] = 4.0;
    let z = preconditioned(layout, &[r]).remove(0);
    assert_eq!(z[0][63], 1.0);
    for k in 1..8 {
        let linear = f64::from(k as u32) / 8.0;
        let edges = [
            line(&z[0], 8, Side::East)[k - 1],
            line(&z[0], 8, Side::North)[k - 1],
            line(&z[2], 8, Side::East)[7 - k],
            line(&z[1], 8, Side::North)[7 - k],
        ];
        assert!(edges.iter().all(|value| (value - linear).abs() < 1e-15), "{k}: {edges:?}");
    }
}

/// A rank with all subdomains sends nothing, and its vectors arrive all the same.
#[test]
fn subdomains_of_one_rank_exchange_in_memory() {
    let node = lathide::init().expect("a job of one rank");
    let layout = Layout { side: 2, n: 2, ranks: 1 };
    let messages = Messages::new(&node, layout, Version::Hidden);
    for (kind, count) in [(Kind::A, 8), (Kind::B, 4), (Kind::C, 4), (Kind::Arm, 2)] {
        let arrived = messages.iteration(|| {
            let sent = messages.start(kind, |from, towards| vec![from as f64, towards as usize as f64]);
            sent.and_then(Pending::finish).expect("no message")
        });
        assert_eq!(arrived.len(), count, "{kind:?}");
        for (to, side, words) in arrived {
            let from = layout.neighbour(to, side).expect("a neighbour");
            assert_eq!(words, [from as f64, side.opposite() as usize as f64], "{kind:?} to {to}");
        }
    }
    let regions = node.report().regions;
    let entered: Vec<(&str, u64)> = regions.iter().map(|region| (&*region.name, region.entered)).collect();
    assert_eq!(entered, [("iteration", 4), ("edge A", 1), ("edge B", 1), ("edge C", 1), ("arms", 1)]);
    assert!(regions.iter().all(|region| region.sent.is_empty()), "{regions:?}");
}
