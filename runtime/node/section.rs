//! The neighbours' exchange of strided regions.

use super::Group;
use crate::buffer::{Element, Section};
use crate::collective::Shift;
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::{Misuse, Result};
use crate::handle::Handle;
use crate::ids::Rank;

/// One shift of an exchange of strided regions. At the edge of a grid one side or both are missing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SectionShift {
    /// The rank to send to, and which elements.
    pub to: Option<(Rank, Section)>,
    /// The rank to receive from, and where to put its elements.
    pub from: Option<(Rank, Section)>,
}

/// # Strided regions
impl Group {
    /// [`Group::exchange`] of regions of `grid`, such as the columns of a block in row-major order: sends the elements
    /// of each shift's `to` and puts the received ones into its `from`.
    ///
    /// What is sent is packed at the call. What is received is unpacked by the calling thread, in the order of
    /// `shifts`: where regions overlap, the last one's elements stay.
    ///
    /// ```
    /// use lathide::{Section, SectionShift};
    /// let node = lathide::init()?;
    /// let (left, right) = (node.rank().on_ring(-1, node.size()), node.rank().on_ring(1, node.size()));
    /// let column = |number: usize| Section::of(&[3, 4], &[0..3, number..number + 1]);
    /// let to_the_right = SectionShift { to: Some((right, column(2)?)), from: Some((left, column(0)?)) };
    /// let to_the_left = SectionShift { to: Some((left, column(1)?)), from: Some((right, column(3)?)) };
    /// let mut block: Vec<f64> = (0..12).map(f64::from).collect();         // 3 rows of 2, and a column of ghosts at each end
    /// node.exchange_sections(&[to_the_right, to_the_left], &mut block)?;
    /// # if node.size() == 1 {
    /// assert_eq!(block[..4], [2.0, 1.0, 2.0, 1.0]);
    /// # }
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Group::exchange`], and [`Misuse::Region`] if a region does not lie within `grid` or has an element twice.
    pub fn exchange_sections<T: Element>(&self, shifts: &[SectionShift], grid: &mut [T]) -> Result<()> {
        // No other thread may call a collective during it.
        let _call = self.noting(self.kernel().call_collective(self.team()))?;
        self.initexchange_sections(shifts, grid)?.wait_into(grid)
    }

    /// [`Group::exchange_sections`] without waiting. The grid is free for computation: what is sent has been packed when
    /// the call returns, and [`Ghosts::wait_into`] unpacks what was received.
    ///
    /// # Errors
    /// As [`Group::exchange_sections`].
    pub fn initexchange_sections<T: Element>(&self, shifts: &[SectionShift], grid: &[T]) -> Result<Ghosts<T>> {
        let sides = shifts.iter().flat_map(|shift| [&shift.to, &shift.from]).flatten();
        sides.into_iter().try_for_each(|(_, section)| self.check_region(section.flaw(grid.len())))?;
        let mut edges = Vec::with_capacity(shifts.iter().map(|shift| shift.to.as_ref().map_or(0, length)).sum());
        shifts.iter().filter_map(|shift| shift.to.as_ref()).for_each(|(_, section)| section.gather(grid, &mut edges));
        let counted = |side: &Option<(Rank, Section)>| side.as_ref().map(|side| (side.0, length(side)));
        let counts: Vec<Shift> =
            shifts.iter().map(|shift| Shift { to: counted(&shift.to), from: counted(&shift.from) }).collect();
        let handle = self.initexchange(&counts, edges)?;
        let places = shifts.iter().filter_map(|shift| shift.from.as_ref()).map(|(_, section)| section.clone());
        Ok(Ghosts { handle, places: places.collect(), rank: self.job_rank(), elements: grid.len() })
    }
}

fn length(side: &(Rank, Section)) -> usize {
    side.1.len()
}

/// A pending exchange of strided regions: [`Group::initexchange_sections`]. Dropping it detaches the exchange.
#[must_use = "wait for the exchange, or drop it to detach it"]
#[derive(Debug)]
pub struct Ghosts<T> {
    handle: Handle<Vec<T>>,
    places: Vec<Section>,
    rank: Rank,
    /// Of the grid.
    elements: usize,
}

impl<T: Element> Ghosts<T> {
    /// Waits for the exchange and puts what was received into its places in `grid`.
    ///
    /// # Errors
    /// [`Misuse::Region`] if `grid` has not as many elements as the one that the call was given; all others as
    /// [`Handle::wait`].
    pub fn wait_into(self, grid: &mut [T]) -> Result<()> {
        if grid.len() != self.elements {
            let why = format!("a grid of {} elements is not the exchange's, which has {}", grid.len(), self.elements);
            return Err(Misuse::Region { rank: Some(self.rank), why }.into());
        }
        let received = self.handle.wait()?;
        let mut rest = &received[..];
        for place in &self.places {
            let (elements, after) = rest.split_at(place.len());
            place.scatter(elements, grid);
            rest = after;
        }
        Ok(())
    }

    /// Whether the exchange is complete. Never blocks.
    pub fn is_complete(&self) -> bool {
        self.handle.is_complete()
    }
}
