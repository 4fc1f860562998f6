//! Operations on windows that their target does not carry out.

use std::fmt;

use crate::buffer::ElementType;
use crate::ids::Rank;
use crate::operation::WindowCall;

/// An operation on a window that its target has refused. Nothing of it was carried out, unless the window was dropped in
/// the midst of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct WindowRefusal {
    /// The rank that made the call.
    pub from: Rank,
    /// The rank whose part of the window was meant.
    pub to: Rank,
    /// The number of the window, in the order in which windows were made, from 0.
    pub window: u32,
    /// The call.
    pub call: WindowCall,
    /// The first element that was meant.
    pub start: u64,
    /// How many elements were meant.
    pub count: u64,
    /// The type of the elements in the call.
    pub element: ElementType,
    /// Why it was refused.
    pub fault: WindowFault,
}

/// Why an operation on a window was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WindowFault {
    /// Some of the elements do not exist.
    Bounds {
        /// How many elements the target's part of the window has.
        length: u64,
    },
    /// The target has dropped its part of the window.
    Dropped,
    /// The element types differ.
    Element {
        /// The type of the target's elements.
        held: ElementType,
    },
    /// The operator is not defined for the elements.
    Update,
}

impl fmt::Display for WindowRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WindowRefusal { from, to, window, call, start, count, element, fault } = self;
        let end = start.saturating_add(*count);
        write!(f, "rank {from}'s {call} on rank {to} (window {window}, elements {start}..{end} of {element}): ")?;
        match fault {
            WindowFault::Bounds { length } => {
                write!(f, "rank {to}'s part of the window has {length} elements; ask for less, or make it longer")
            }
            WindowFault::Dropped => {
                write!(f, "rank {to} has dropped its part of the window; call fence() before it is dropped")
            }
            WindowFault::Element { held } => {
                write!(f, "rank {to}'s part of the window has elements of {held}; use one element type on both sides")
            }
            WindowFault::Update => f.write_str(
                "the operator is not defined for these elements; only replace is defined for your own types",
            ),
        }
    }
}
