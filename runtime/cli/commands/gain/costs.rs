//! What a strip's calculation costs, and the work that makes it take a wanted time. Pure.

use crate::commands::common::strip::Shape;

/// What a strip's calculation costs, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Costs {
    /// Per point, without substeps.
    pub(super) point_s: f64,
    /// Per point and substep.
    pub(super) substep_s: f64,
}

impl Costs {
    /// From the times of one step of this shape with two amounts of work.
    pub(super) fn fit(shape: Shape, few: (u32, f64), many: (u32, f64)) -> Self {
        let substep_s = (many.1 - few.1) / points(shape) / (f64::from(many.0) - f64::from(few.0));
        let substep_s = substep_s.max(LEAST_S);
        Costs { point_s: (few.1 / points(shape) - f64::from(few.0) * substep_s).max(LEAST_S), substep_s }
    }

    /// The columns and the work that make a step's calculation take `wanted_s`: as many columns as the bare
    /// stencil has time for, since more columns mean a greater f, and work for the rest of the time.
    pub(super) fn choose(&self, rows: usize, columns_max: usize, wanted_s: f64) -> Shape {
        // An interior needs a second column. A quarter of the time is left for work, to set the time with.
        let columns = (0.75 * wanted_s / (self.point_s * rows as f64)) as usize;
        self.set_work(Shape { rows, columns: columns.clamp(2, columns_max.max(2)), work: 0 }, wanted_s)
    }

    /// The shape with the work that makes a step's calculation take `wanted_s`.
    pub(super) fn set_work(&self, shape: Shape, wanted_s: f64) -> Shape {
        let rest_s = wanted_s / points(shape) - self.point_s;
        Shape { work: (rest_s / self.substep_s).round().clamp(0.0, f64::from(WORK_MAX)) as u32, ..shape }
    }

    /// What a step's calculation takes.
    pub(super) fn time_s(&self, shape: Shape) -> f64 {
        points(shape) * (self.point_s + f64::from(shape.work) * self.substep_s)
    }

    /// The costs by which this shape takes the `time_s` that it is seen to take.
    pub(super) fn seen(&self, shape: Shape, time_s: f64) -> Self {
        let (per_point_s, work) = (time_s / points(shape), f64::from(shape.work));
        // What most of the time is spent on.
        if shape.work > 0 && per_point_s > 2.0 * self.point_s {
            Costs { substep_s: (per_point_s - self.point_s) / work, ..*self }
        } else {
            Costs { point_s: (per_point_s - work * self.substep_s).max(LEAST_S), ..*self }
        }
    }
}

fn points(shape: Shape) -> f64 {
    (shape.rows * shape.columns) as f64
}

/// No time is taken to be less than this, so that a disturbed measurement cannot ask for endless work.
const LEAST_S: f64 = 1e-12;
const WORK_MAX: u32 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_meets_the_time() {
        let costs = Costs { point_s: 2e-9, substep_s: 0.2e-9 };
        let time = |shape| costs.time_s(shape);
        let at = |columns, work| {
            let shape = Shape { rows: 1000, columns, work };
            (shape, time(shape))
        };
        let fitted = Costs::fit(at(4, 2).0, (2, at(4, 2).1), (66, at(4, 66).1));
        assert!((fitted.point_s / costs.point_s - 1.0).abs() < 1e-9);
        assert!((fitted.substep_s / costs.substep_s - 1.0).abs() < 1e-9);
        for wanted in [0.016, 0.065, 0.26] {
            let shape = costs.choose(100_000, 16, wanted);
            assert_eq!(shape.columns, 16);
            assert!((time(shape) / wanted - 1.0).abs() < 0.02, "{shape:?} takes {}", time(shape));
        }
        assert_eq!(
            costs.choose(100_000, 16, 1e-5),
            Shape { rows: 100_000, columns: 2, work: 0 },
            "as short as it goes"
        );
        let middle = costs.choose(100_000, 16, 1e-3);
        assert!(middle.columns == 3 && middle.work > 0, "{middle:?}");
        assert_eq!(costs.choose(100, 16, f64::INFINITY).work, WORK_MAX, "bounded");
        assert_eq!(costs.set_work(at(2, 5).0, 1e-9).work, 0, "never below nothing");
    }

    #[test]
    fn what_is_seen_sets_the_work() {
        let costs = Costs { point_s: 2e-9, substep_s: 0.2e-9 };
        // Mostly work, mostly the bare stencil, nothing else.
        for (work, wanted_s) in [(200, 0.065), (3, 0.005), (0, 0.004)] {
            let shape = Shape { rows: 100_000, columns: 16, work };
            for slower in [0.5, 1.0, 1.7] {
                let now = Costs { point_s: slower * costs.point_s, substep_s: slower * costs.substep_s };
                let seen = costs.seen(shape, now.time_s(shape));
                assert!((seen.time_s(shape) / now.time_s(shape) - 1.0).abs() < 1e-9);
                let set = seen.set_work(shape, wanted_s);
                assert!(
                    work < 200 || (now.time_s(set) / wanted_s - 1.0).abs() < 0.04,
                    "{set:?}, {slower} times as slow"
                );
                let again = seen.seen(set, now.time_s(set));
                let settled = again.set_work(set, wanted_s);
                let error = now.time_s(settled) / wanted_s - 1.0;
                assert!(error.abs() < 0.15 || settled.work == 0, "{settled:?}, {slower} times as slow: {error}");
            }
        }
        // What was extrapolated to double the cost.
        let off = Costs { substep_s: 2.0 * costs.substep_s, ..costs };
        let chosen = off.choose(100_000, 16, 0.065);
        let corrected = off.seen(chosen, costs.time_s(chosen)).set_work(chosen, 0.065);
        assert!((costs.time_s(corrected) / 0.065 - 1.0).abs() < 0.01, "{corrected:?}");
    }
}
