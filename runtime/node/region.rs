//! Regions: parts of a program that it names, so that reports say which messages are for what.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::Node;
use crate::kernel::Kernel;
use crate::observe::Visit;
#[expect(unused_imports, reason = "named in documentation")]
use crate::observe::{RegionReport, Report};

/// # Regions
impl Node {
    /// Enters a region of the program: as long as what is returned lives, the messages of operations that this thread posts count for
    /// `name` in [`Report::regions`], those of collectives included, and the timeline shows the time as a slice of that
    /// name. So a report has the inventory of a program's messages by what they are for (Stoica, Sultan and Keyes 5.1), as it
    /// was observed.
    ///
    /// A region `solve` marks what counts of the program ([`Report::counted`]): `lathide run --report` and `lathide gain -- PROGRAM` tell of
    /// that, and not of start-up and checks.
    ///
    /// Regions may be nested; a message counts for the innermost. A thread is in regions of its own. A node tells 64 names apart.
    /// Entering one and leaving it each look at two clocks.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// for _ in 0..10 {
    ///     let _halo = node.region("halo");
    ///     let read = node.initread(0, 1, vec![0.0f64; 100])?;
    ///     node.initwrite(0, 1, vec![1.0f64; 100])?.wait()?;
    ///     read.wait()?;
    /// }
    /// let halo = &node.report().regions[0];
    /// assert_eq!((&*halo.name, halo.entered), ("halo", 10));
    /// assert_eq!((halo.sent[0].bytes, halo.sent[0].messages), (800, 10));
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    #[must_use = "the region ends when this is dropped"]
    pub fn region(&self, name: &str) -> Region {
        let kernel = self.inner.kernel.clone();
        let visit = kernel.enter_region(name);
        Region { kernel, visit, of_this_thread: PhantomData }
    }
}

/// A region of the program that a thread is in ([`Node::region`]). Those of one thread end in the reverse order in which they began.
pub struct Region {
    kernel: Arc<Kernel>,
    /// `None` if nothing is observed.
    visit: Option<Visit>,
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(visit) = &self.visit {
            self.kernel.leave_region(visit);
        }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Region")
    }
}
