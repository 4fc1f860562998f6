//! What a link's result says of the price of messages, for commands that measure programs.

use std::path::Path;

use lathide_models::hyperbolic::Prices;
use serde_json::{Map, Value};

use super::network::NetworkArgs;
use super::prices::{Priced, priced};
use super::saved::Saved;
use crate::launch::failed::{Failed, Result};

/// What prices messages on a link, by a result of `lathide link`.
#[derive(Clone, Debug)]
pub(crate) struct LinkPrices {
    pub(crate) prices: Prices,
    /// By name, in s and s/byte.
    pub(crate) parameters: Map<String, Value>,
    /// The file, its schema and its link.
    pub(crate) from: Value,
    /// What was assumed.
    pub(crate) notes: Vec<String>,
}

impl LinkPrices {
    /// Of a saved result.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        of(&Saved::read(path).map_err(Failed::usage)?)
    }
}

/// Of a result that was not saved.
pub(crate) fn link_prices(name: &str, link: &Value) -> Result<LinkPrices> {
    of(&Saved::parse(name.to_owned(), &link.to_string()).map_err(Failed::new)?)
}

fn of(saved: &Saved) -> Result<LinkPrices> {
    let Priced { prices, parameters, notes } = priced(&NetworkArgs::default(), Some(saved)).map_err(Failed::usage)?;
    let parameters = parameters.into_iter().map(|it| (it.key.to_owned(), it.value)).collect();
    Ok(LinkPrices { prices, parameters, from: saved.origin(), notes })
}
