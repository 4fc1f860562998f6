//! What the measuring commands share: node processes of this same binary, their reports, and how results look.

pub(crate) mod background;
pub(crate) mod blocks;
pub(crate) mod calculation;
pub(crate) mod clock;
pub(crate) mod compared;
pub(crate) mod console;
pub(crate) mod environment;
pub(crate) mod help;
pub(crate) mod hosts;
pub(crate) mod inventory;
pub(crate) mod lab_link;
pub(crate) mod load;
pub(crate) mod nodes;
pub(crate) mod options;
pub(crate) mod output;
pub(crate) mod program;
pub(crate) mod raw;
pub(crate) mod raw_route;
pub(crate) mod session;
pub(crate) mod setup;
pub(crate) mod strip;
pub(crate) mod target;
