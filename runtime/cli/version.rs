//! Which program this is.

#[cfg(feature = "encrypt")]
macro_rules! features {
    () => {
        "encrypt"
    };
}
#[cfg(not(feature = "encrypt"))]
macro_rules! features {
    () => {
        "none"
    };
}

/// `0.1.0 (commit 0123456789ab, features: encrypt)`: the version, the commit of its sources (with a plus if files had been
/// changed since), and what was selected when it was built.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("SOURCES_COMMIT"), ", features: ", features!(), ")");
