//! Samples made ready for fitting: checked, sorted, each size with the same weight, and the split by size.

use super::robust::{self, plain_median};
use super::{FitError, Fitted, HeldOut, Quality, Sample, checked_time};

/// Checked samples in the order of size.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Series {
    rows: Vec<Row>,
}

/// One sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Row {
    pub(super) bytes: u64,
    pub(super) time_s: f64,
    /// What else the time depends on, such as a number of processors.
    pub(super) tag: u32,
    /// One over the number of samples in its class.
    pub(super) weight: f64,
    /// How many samples it stands for.
    pub(super) samples: usize,
    /// Sizes that are nearly the same are in one class, and left out together: 1000 bytes do not prove what was
    /// learnt from 1001.
    class: u32,
}

impl Series {
    /// The samples, if they can be fitted with `parameters` and have at least two sizes.
    pub(super) fn new(samples: &[Sample], parameters: usize) -> Result<Self, FitError> {
        Series::tagged(samples, |_| 0, parameters)
    }

    /// As [`Series::new`], with the tag of each sample by its index.
    pub(super) fn tagged(samples: &[Sample], tag: impl Fn(usize) -> u32, parameters: usize) -> Result<Self, FitError> {
        let mut rows = Vec::with_capacity(samples.len());
        for (index, sample) in samples.iter().enumerate() {
            let time_s = checked_time(index, "time_s", sample.time_s)?;
            rows.push(Row {
                bytes: sample.bytes,
                time_s,
                tag: tag(index),
                weight: 1.0,
                samples: 1,
                class: class(sample.bytes),
            });
        }
        if rows.len() < parameters {
            return Err(FitError::TooFewSamples { samples: rows.len(), parameters });
        }
        let series = Series::of(rows);
        match series.rows.first() {
            Some(row) if !series.has_two_sizes() => Err(FitError::OneValue { what: "size", value: row.bytes as f64 }),
            _ => Ok(series),
        }
    }

    fn of(mut rows: Vec<Row>) -> Self {
        rows.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.tag.cmp(&b.tag)).then(a.time_s.total_cmp(&b.time_s)));
        for same in rows.chunk_by_mut(|a, b| a.class == b.class) {
            let weight = 1.0 / same.len() as f64;
            same.iter_mut().for_each(|row| row.weight = weight);
        }
        Series { rows }
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn has_two_sizes(&self) -> bool {
        self.rows.first().map(|row| row.bytes) != self.rows.last().map(|row| row.bytes)
    }

    /// The classes of sizes.
    fn classes(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|a, b| a.class == b.class)
    }

    /// At most [`PER_CLASS`] samples of each class, evenly by time, so that fitting a long job's samples is quick.
    pub(super) fn thinned(&self) -> Self {
        let mut rows = Vec::new();
        for same in self.classes() {
            let mut same = same.to_vec();
            let count = same.len().min(PER_CLASS);
            same.sort_by(|a, b| a.time_s.total_cmp(&b.time_s).then(a.bytes.cmp(&b.bytes)));
            rows.extend((0..count).map(|pick| same[(2 * pick + 1) * same.len() / (2 * count)]));
        }
        Series::of(rows)
    }

    /// One row for each class of samples without tags: the median of its sizes and of its times.
    pub(super) fn medians(&self) -> Vec<Row> {
        let median = |same: &[Row]| Row {
            bytes: plain_median(same.iter().map(|row| row.bytes as f64)) as u64,
            time_s: plain_median(same.iter().map(|row| row.time_s)),
            tag: same[0].tag,
            weight: 1.0,
            samples: same.len(),
            class: same[0].class,
        };
        self.classes().map(median).collect()
    }

    /// Fits all, and each class from the others. Of more than [`FOLDS`] classes, several far apart are left out at once.
    pub(super) fn fit<M>(&self, fit: impl Fn(&Series) -> M, predict_s: impl Fn(&M, u64) -> f64) -> Fitted<M> {
        self.fit_tagged(fit, |model, bytes, _| predict_s(model, bytes))
    }

    /// As [`Series::fit`], for a time that also depends on the tag.
    pub(super) fn fit_tagged<M>(
        &self,
        fit: impl Fn(&Series) -> M,
        predict_s: impl Fn(&M, u64, u32) -> f64,
    ) -> Fitted<M> {
        let model = fit(&self.thinned());
        let classes: Vec<&[Row]> = self.classes().collect();
        let folds = classes.len().min(FOLDS);
        let mut all: Vec<(HeldOut, f64)> = Vec::with_capacity(self.rows.len());
        for fold in 0..folds {
            let others = classes.iter().enumerate().filter(|(index, _)| index % folds != fold);
            let others = Series::of(others.flat_map(|(_, same)| same.iter().copied()).collect());
            if !others.has_two_sizes() {
                return Fitted { model, quality: None, held_out: Vec::new() };
            }
            let model = fit(&others.thinned());
            for row in classes.iter().skip(fold).step_by(folds).flat_map(|same| same.iter()) {
                let predicted_s = predict_s(&model, row.bytes, row.tag);
                all.push((HeldOut { bytes: row.bytes, measured_s: row.time_s, predicted_s }, row.weight));
            }
        }
        all.sort_by(|a, b| a.0.bytes.cmp(&b.0.bytes).then(a.0.measured_s.total_cmp(&b.0.measured_s)));
        let errors: Vec<(f64, f64)> =
            all.iter().map(|(pair, weight)| (pair.error().unwrap_or(f64::MAX), *weight)).collect();
        let held_out = all.into_iter().map(|(pair, _)| pair).collect();
        Fitted { model, quality: quality(&errors), held_out }
    }
}

/// What weighted errors amount to.
pub(super) fn quality(errors: &[(f64, f64)]) -> Option<Quality> {
    let at = |share| robust::quantile(errors.iter().copied(), share);
    Some(Quality { median_error: at(0.5)?, p90_error: at(0.9)?, samples: errors.len() })
}

/// Four classes for each doubling of the size, centred on the powers of two.
fn class(bytes: u64) -> u32 {
    (4.0 * (bytes as f64 + 1.0).log2()).round() as u32
}

/// More samples of a size do not make its time known any better than the model can use.
const PER_CLASS: usize = 64;

/// How often a fit is repeated without some of the sizes.
const FOLDS: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(bytes: u64, time_s: f64) -> Sample {
        Sample { bytes, time_s }
    }

    #[test]
    fn every_size_has_the_same_weight() {
        let samples = [sample(8, 1.0), sample(1 << 20, 5.0), sample(8, 2.0), sample(8, 3.0)];
        let series = Series::new(&samples, 2).unwrap();
        let weight = |bytes| series.rows().iter().filter(|row| row.bytes == bytes).map(|row| row.weight).sum::<f64>();
        assert!((weight(8) - 1.0).abs() < 1e-12 && (weight(1 << 20) - 1.0).abs() < 1e-12);
        let medians: Vec<_> = series.medians().iter().map(|row| (row.bytes, row.time_s)).collect();
        assert_eq!(medians, [(8, 2.0), (1 << 20, 5.0)]);
    }

    #[test]
    fn sizes_that_are_nearly_the_same_are_left_out_together() {
        for exponent in 4..40 {
            let power = 1_u64 << exponent;
            assert_eq!(class(power - power / 40), class(power + power / 40));
            assert_ne!(class(power), class(2 * power));
            assert_ne!(class(power), class(3 * power / 2));
        }
        let apart: std::collections::BTreeSet<_> = (0..8).map(class).collect();
        assert_eq!(apart.len(), 8, "small sizes are told apart");
        assert!(class(u64::MAX) > class(1 << 60));
    }

    #[test]
    fn many_samples_are_thinned_evenly() {
        let samples: Vec<_> = (0..1000).flat_map(|i| [sample(8, 1.0 + f64::from(i)), sample(64, 1.0)]).collect();
        let thinned = Series::new(&samples, 2).unwrap().thinned();
        let small: Vec<f64> = thinned.rows().iter().filter(|row| row.bytes == 8).map(|row| row.time_s).collect();
        assert_eq!(small.len(), PER_CLASS);
        assert!((plain_median(small.iter().copied()) - 500.0).abs() < 10.0);
        assert!(small.iter().any(|time| *time < 12.0) && small.iter().any(|time| *time > 988.0));
    }

    #[test]
    fn what_is_predicted_was_not_fitted() {
        let samples: Vec<_> = [(1, 1.0), (10, 10.0), (100, 100.0), (1000, 1000.0)].map(|(b, t)| sample(b, t)).into();
        let series = Series::new(&samples, 2).unwrap();
        // A "model" that knows the times it has seen by heart, and 0 for all others.
        let fitted = series.fit(
            |seen| seen.rows().iter().map(|row| row.bytes).collect::<Vec<_>>(),
            |seen, bytes| if seen.contains(&bytes) { bytes as f64 } else { 0.0 },
        );
        assert_eq!(fitted.model.len(), 4);
        assert_eq!(fitted.quality, Some(Quality { median_error: 1.0, p90_error: 1.0, samples: 4 }));
        let two = Series::new(&samples[..2], 2).unwrap().fit(|_| (), |(), _| 1.0);
        assert_eq!((two.quality, two.held_out.len()), (None, 0), "nothing is left to learn from");
    }

    #[test]
    fn many_sizes_are_left_out_in_a_few_rounds() {
        let samples: Vec<_> = (0..100).map(|step| sample(1.5_f64.powi(step) as u64 + step as u64, 1.0)).collect();
        let series = Series::new(&samples, 2).unwrap();
        let rounds = std::cell::Cell::new(0);
        let fit = |seen: &Series| {
            rounds.set(rounds.get() + 1);
            seen.rows().iter().map(|row| row.bytes).collect::<Vec<_>>()
        };
        let fitted = series.fit(fit, |seen, bytes| if seen.contains(&bytes) { 1.0 } else { 2.0 });
        assert_eq!(rounds.get(), FOLDS + 1, "once with all");
        assert_eq!(fitted.held_out.len(), 100);
        assert!(fitted.held_out.iter().all(|pair| pair.predicted_s == 2.0), "never seen");
        assert!(fitted.held_out.is_sorted_by_key(|pair| pair.bytes));
    }

    #[test]
    fn useless_samples_are_errors() {
        let new = |samples: &[Sample]| Series::new(samples, 2).unwrap_err();
        assert_eq!(new(&[]), FitError::TooFewSamples { samples: 0, parameters: 2 });
        assert_eq!(new(&[sample(1, 1.0)]), FitError::TooFewSamples { samples: 1, parameters: 2 });
        assert_eq!(new(&[sample(7, 1.0), sample(7, 2.0)]), FitError::OneValue { what: "size", value: 7.0 });
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300] {
            let error = new(&[sample(1, 1.0), sample(2, bad)]);
            assert!(matches!(error, FitError::BadSample { index: 1, cause } if cause.name == "time_s"), "{error}");
        }
        assert_eq!(
            new(&[sample(1, -2.0), sample(2, 1.0)]).to_string(),
            "sample 0 cannot be used: time_s is -2, but must be between 1e-15 and 1e15 seconds"
        );
    }
}
