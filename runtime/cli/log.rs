//! What the library says through `tracing`, on standard error, as `RUST_LOG` selects.

use lathide::launcher::variables::RUST_LOG;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Shows what `RUST_LOG` selects, such as `lathide=debug`. Without it, nothing.
pub(crate) fn start() {
    let Some(text) = std::env::var(RUST_LOG.name).ok().filter(|text| !text.trim().is_empty()) else { return };
    match text.parse::<Targets>() {
        Ok(targets) => {
            let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
            // Another subscriber is not there: this is the first thing that the command does.
            let _ = tracing_subscriber::registry().with(lines).with(targets).try_init();
        }
        Err(error) => eprintln!("lathide: RUST_LOG={text}: {error}; such as lathide=debug is right"),
    }
}
