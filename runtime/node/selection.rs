//! How a node selects the algorithms of its collectives: calibration, cost models and overrides of the program's own.

use super::Node;
use crate::collective::price;
use crate::cost::CostModel;
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::Result;
use crate::observe::SizeReport;
use crate::overrides::Overrides;
use lathide_models::fit::{Sample, segmented};

/// # Selection of algorithms
///
/// It follows what the job observes; a program that knows better says so. A [group](crate::Group) selects by what its parent
/// knew when the group was made.
impl Node {
    /// Calibrates the cost model on the links of this job, so that the selection of algorithms follows it. This is a
    /// blocking collective. Ranks exchange the straight lines `a + b x` fitted to the one-way times of their links
    /// ([`Node::report`]), and all take the median. Before it, and if no link has enough samples, the cost model is
    /// [`Config::cost_model`].
    ///
    /// These are not the a and b of eq. (3) of Stoica, Sultan and Keyes (1994), which the report has. The predicted
    /// time of a schedule is the sum of both limits. On a link that is a straight line the hyperbola's a and b are both
    /// 10 % too large, since the hyperbola lies a quarter below its own `a + b x` where both terms are equal.
    ///
    /// Returns the new cost model, which is the same on every rank.
    ///
    /// # Errors
    /// As all collectives.
    ///
    /// [`Config::cost_model`]: crate::Config::cost_model
    pub fn calibrate(&self) -> Result<CostModel> {
        let report = self.report();
        let known = report.links.iter().filter(|link| link.hyperbolic.is_some());
        let own = price::typical(known.filter_map(|link| line(&link.sizes)));
        let (a, b) = own.unwrap_or((f64::NAN, f64::NAN));
        let all = self.allgather(vec![a, b])?;
        let kernel = &self.inner.kernel;
        if let Some((a, b)) = price::typical(all.chunks_exact(2).map(|pair| (pair[0], pair[1]))) {
            kernel.adopt_line(a, b);
        }
        Ok(kernel.cost_model())
    }

    /// Sets the cost model from the next call on, for instance if a program knows more than measured links show. All
    /// ranks must set the same model between the same two collectives. If their selections differ otherwise, the next
    /// collective fails with [`Error::Disagreement`].
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let model = node.calibrate()?;
    /// node.set_cost_model(model.with_overhead(40e-6));      // measured: 40 us of processor to send a message or to receive one
    /// # assert_eq!(node.broadcast(0, vec![1u8])?, [1]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn set_cost_model(&self, model: CostModel) {
        self.inner.kernel.adopt(model);
    }

    /// Sets overrides from the next call on, instead of [`Config::overrides`], for instance to compare algorithms. All
    /// ranks must set the same overrides between the same two collectives; otherwise the next collective fails with
    /// [`Error::Disagreement`].
    ///
    /// ```
    /// use lathide::Overrides;
    /// let node = lathide::init()?;
    /// node.override_algorithms(Overrides::parse("broadcast:chain").expect("an algorithm that exists"));
    /// node.broadcast(0, vec![1u8; 1000])?;
    /// node.override_algorithms(Overrides::none());
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// [`Config::overrides`]: crate::Config::overrides
    pub fn override_algorithms(&self, overrides: Overrides) {
        self.inner.kernel.override_algorithms(overrides);
    }
}

/// The straight line `a + b x` through the one-way times of a link, by size class.
fn line(sizes: &[SizeReport]) -> Option<(f64, f64)> {
    let sample = |size: &SizeReport| Sample { bytes: size.bytes, time_s: size.median_s };
    let samples: Vec<Sample> = sizes.iter().map(sample).collect();
    let line = segmented::line(&samples).ok()?;
    Some((line.start_s, line.segments.first()?.s_per_byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_link_is_what_its_messages_took() {
        let size = |bytes: u64| {
            let median_s = 300e-6 + 160e-9 * bytes as f64;
            SizeReport { bytes, samples: 20, median_s, min_s: median_s, max_s: 2.0 * median_s }
        };
        let sizes: Vec<SizeReport> = [8, 64, 512, 4096, 32_768, 262_144].map(size).to_vec();
        let (a, b) = line(&sizes).expect("six sizes are a line");
        assert!((a / 300e-6 - 1.0).abs() < 1e-6 && (b / 160e-9 - 1.0).abs() < 1e-6, "{a}, {b}");
        assert_eq!((line(&[]), line(&sizes[..1])), (None, None));
    }
}
