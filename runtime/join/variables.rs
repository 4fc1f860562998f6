//! Environment variables: the table of all that there are, how one is looked up, and what is said of one that makes no
//! sense.
//!
//! The manual's table and the command's help are made of the table here, and the library reads no other variable of its
//! own: it looks one up by its entry.

use crate::error::{Error, Misuse, Result};

/// A variable that ranks or the command `lathide` read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variable {
    /// As it is set.
    pub name: &'static str,
    /// What may be written, as a usage line has it.
    pub value: &'static str,
    /// What is so without the variable.
    pub default: &'static str,
    /// What it says, in one line.
    pub meaning: &'static str,
}

/// Makes of the table: a constant for each variable; `ALL`, by heading; and the macro `table`, which is the same as
/// Markdown. That must be a literal, as a doc comment is.
macro_rules! variables {
    ($($heading:literal { $($constant:ident = $name:literal, $value:literal, $default:literal, $meaning:literal;)+ })+) => {
        $($(
            #[doc = concat!("`", $name, "`: ", $meaning, ".")]
            pub const $constant: Variable =
                Variable { name: $name, value: $value, default: $default, meaning: $meaning };
        )+)+

        /// All variables, under their headings.
        pub const ALL: &[(&str, &[Variable])] = &[$(($heading, &[$($constant),+])),+];

        macro_rules! table {
            () => {
                concat!($(
                    "\n## ", $heading, "\n\n| variable | value | default | meaning |\n| --- | --- | --- | --- |\n",
                    $("| `", $name, "` | `", $value, "` | ", $default, " | ", $meaning, " |\n",)+
                )+)
            };
        }
        pub(crate) use table;
    };
}

variables! {
    "Set by `lathide run`, or by hand" {
        RANK = "LATHIDE_RANK", "N", "a job of one", "this rank";
        SIZE = "LATHIDE_SIZE", "N", "a job of one", "the number of ranks";
        LOCAL_RANK = "LATHIDE_LOCAL_RANK", "N", "none",
            "this rank among those of its host, for programs; the library does not read it";
        LOCAL_SIZE = "LATHIDE_LOCAL_SIZE", "N", "none", "the number of ranks on its host, likewise";
        ROOT = "LATHIDE_ROOT", "HOST:PORT", "what a starter names", "where the coordinator listens, or else rank 0";
        KEY_FD = "LATHIDE_KEY_FD", "N", "as LATHIDE_KEY_FILE", "the descriptor from which the job's 32-byte key is read";
        KEY_FILE = "LATHIDE_KEY_FILE", "FILE", "what rank 0 makes, with a starter",
            "the file with the job's key, which only its owner may be able to read";
        JOB = "LATHIDE_JOB", "ID", "none", "marks the processes of a job, so that none is left if the launcher is killed";
    }
    "Settings of ranks" {
        INTERFACE = "LATHIDE_INTERFACE", "WHICH", "the one that reaches the coordinator",
            "the addresses to listen on: eth0, 10.0.0.0/8, !docker0";
        PORTS = "LATHIDE_PORTS", "FIRST-LAST", "any", "the ports to listen on: 7000-7063";
        ADVERTISE = "LATHIDE_ADVERTISE", "ADDRESS", "the one on which it listens",
            "the IP address to announce to the others";
        ENCRYPT = "LATHIDE_ENCRYPT", "on or off", "off", "whether links are encrypted; needs the feature `encrypt`";
        CHECKSUM = "LATHIDE_CHECKSUM", "on or off", "off",
            "whether links carry checksums (CRC-32C): flipped bits are healed; the same on every rank";
        OVERLAP = "LATHIDE_OVERLAP", "on or off", "on", "with off, bytes move only inside a wait";
        WINDOW = "LATHIDE_WINDOW", "SIZE", "64MiB", "per link, what may arrive before its read is posted";
        BUDGET = "LATHIDE_BUDGET", "SIZE", "512MiB",
            "the same for all links together: a window is at most a link's equal share, but at least 64KiB";
        FRAGMENT = "LATHIDE_FRAGMENT", "SIZE", "4KiB", "the maximum payload of a fragment, from 64B to 64KiB";
        ENVELOPES = "LATHIDE_ENVELOPES", "N", "1024", "messages per link that may be announced beyond the window";
        LANES = "LATHIDE_LANES", "N", "8",
            "connections of a link for long messages, beside the first, where a path needs them: 0 to 8";
        SOCKET_BUFFER = "LATHIDE_SOCKET_BUFFER", "SIZE or default", "default",
            "the send and the receive buffer of a link, from 2KiB to 1GiB; by default sized by the traffic";
        COLLECTIVE = "LATHIDE_COLLECTIVE", "LIST", "the fastest by the cost model",
            "algorithms of collectives, the same on every rank: broadcast:chain,gather:windowed/4";
        CALIBRATE = "LATHIDE_CALIBRATE", "on or off", "on",
            "whether algorithms are selected by what ranks observe; the same on every rank";
        CACHE = "LATHIDE_CACHE", "FILE or off", "~/.cache/lathide/links.json",
            "where rank 0 keeps what it has learnt of links for the next job on these hosts";
        DEADLOCK = "LATHIDE_DEADLOCK", "TIME or off", "3s", "time without any progress before ranks report";
        KEEPALIVE = "LATHIDE_KEEPALIVE", "TIME or off", "3s",
            "time that a host may not answer before its connections are made anew";
        RESUME = "LATHIDE_RESUME", "TIME or off", "30s",
            "time after that, or after a cut, in which a link must go on; then its rank is lost";
        JOIN = "LATHIDE_JOIN", "TIME", "30s", "time in which a rank must join";
        LINGER = "LATHIDE_LINGER", "TIME", "5s", "time for which `finalize` waits for peers to confirm";
        TRACE = "LATHIDE_TRACE", "FILE", "none", "the file for a timeline of all ranks";
        REPORT = "LATHIDE_REPORT", "on or off", "off", "whether the rank sends its report to the launcher at the end";
        OBSERVE = "LATHIDE_OBSERVE", "on, off or sends", "on",
            "whether the rank records what it does; with sends, also when each message has left the host";
    }
    "The command `lathide`" {
        SSH = "LATHIDE_SSH", "COMMAND", "ssh", "what reaches other hosts, with options";
        LAB = "LATHIDE_LAB", "DIRECTORY", "no lab", "set within a lab: its directory";
        LAB_HOSTS = "LATHIDE_LAB_HOSTS", "LIST", "no lab", "set within a lab: the names of its hosts, host0,host1";
        LAB_RELAY = "LATHIDE_LAB_RELAY", "SPEC", "no lab",
            "set where there can be no lab: the emulated link in its stead, as `--link` takes it";
        NO_COLOR = "NO_COLOR", "ANY", "colours on a terminal", "if not empty, nothing is coloured";
        RUST_LOG = "RUST_LOG", "FILTER", "nothing", "what is logged on standard error: lathide=debug";
    }
}

/// The environment, as a function.
pub(super) struct Variables<'a>(pub(super) &'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    /// A variable's value; one that is empty counts as absent, because `NAME= program` is how shells unset one.
    pub(super) fn text(&self, variable: &Variable) -> Option<String> {
        self.of_starter(variable.name)
    }

    /// The same of a variable that another starter sets.
    pub(super) fn of_starter(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_string()).filter(|value| !value.is_empty())
    }

    /// A variable's value, as `read` takes it.
    pub(super) fn parsed<T>(
        &self,
        variable: &Variable,
        read: impl FnOnce(&str) -> std::result::Result<T, String>,
    ) -> Result<Option<T>> {
        let Some(text) = self.text(variable) else { return Ok(None) };
        read(&text).map(Some).or_else(|why| wrong(variable.name, text, why))
    }
}

/// The error for a value that makes no sense.
pub(super) fn wrong<T>(name: &str, value: impl Into<String>, why: impl Into<String>) -> Result<T> {
    Err(Error::Misuse(Misuse::Config { name: name.into(), value: value.into(), why: why.into() }))
}
