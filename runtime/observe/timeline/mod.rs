//! One timeline of all ranks, from the files their events are in, in the Chrome trace format.
//!
//! `ui.perfetto.dev` and `chrome://tracing` show it: one process per rank, one row per thread, with what the thread did
//! (compute, initread, initwrite, wait, finalize), one row per message under way, and an arrow from each initwrite to the
//! wait that got its message; and a row for the times at which a link had no connection. `otherData` says of each rank how its clock was aligned and how wrong that can be, how
//! much of its communication was hidden, and what was dropped.

mod align;
mod chrome;
mod downs;
mod messages;
mod spans;
mod track;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::file;
use super::tape::rank_file;
use track::Track;

/// What [`merge`] has found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Merged {
    /// Ranks that have left events.
    pub ranks: usize,
    /// Ranks whose processes ended before they could write all.
    pub cut_off: usize,
    /// Events for which there was no room.
    pub dropped: u64,
}

/// Makes place for a timeline of `size` ranks: whether it can be written is found out here, and what an earlier job has
/// left is removed. Returns the path that holds in any directory.
///
/// # Errors
/// If no file can be made there.
pub fn prepare(trace: &Path, size: u32) -> io::Result<PathBuf> {
    if file::is_special(trace) && !trace.is_dir() {
        return Err(io::Error::other("it is no regular file, and the ranks' files are made beside it"));
    }
    let trace = file::check(trace)?;
    for rank in 0..size {
        // Most often there is none.
        let _ = std::fs::remove_file(rank_file(&trace, rank));
    }
    Ok(trace)
}

/// Merges the files that the `size` ranks of a job have left beside `trace` into `trace`, and removes them.
///
/// A rank that has left none, or only the beginning of one, takes nothing from the others.
///
/// # Errors
/// If no rank has left any, or the timeline cannot be written. Nothing is left then.
pub fn merge(trace: &Path, size: u32) -> io::Result<Merged> {
    let files: Vec<PathBuf> = (0..size).map(|rank| rank_file(trace, rank)).collect();
    let tracks: Vec<Track> = files.iter().filter_map(|file| read(file).ok()).collect();
    let merged = if tracks.is_empty() {
        Err(io::Error::other("no rank has left any events: did it call lathide::init?"))
    } else {
        write(trace, &tracks)
    };
    for file in files {
        // It has been read; one that is not there is not to be removed.
        let _ = std::fs::remove_file(file);
    }
    merged
}

/// Merges as [`merge`] does, if the files of all ranks of `job` are complete: the last rank to end does it, where no
/// launcher does.
pub(crate) fn merge_if_complete(trace: &Path, job: u64, size: u32) -> io::Result<()> {
    for rank in 0..size {
        let Ok(track) = read(&rank_file(trace, rank)) else { return Ok(()) };
        if track.head.job != job || track.tail.is_none() {
            return Ok(());
        }
    }
    merge(trace, size).map(drop)
}

fn write(trace: &Path, tracks: &[Track]) -> io::Result<Merged> {
    file::replace(trace, |out| chrome::write(out, tracks))?;
    Ok(Merged {
        ranks: tracks.len(),
        cut_off: tracks.iter().filter(|track| track.tail.is_none()).count(),
        dropped: tracks.iter().filter_map(|track| track.tail.as_ref()).map(|tail| tail.dropped).sum(),
    })
}

/// What one rank's file says.
fn read(path: &Path) -> io::Result<Track> {
    Track::read(BufReader::new(File::open(path)?), &path.display().to_string())
}

/// A timeline of ranks that have left these files.
#[cfg(fuzzing)]
pub(crate) fn fuzz<'a>(files: impl Iterator<Item = &'a [u8]>) -> io::Result<Vec<u8>> {
    let tracks: Vec<Track> = files.filter_map(|text| Track::read(text, "it").ok()).collect();
    let mut out = Vec::new();
    chrome::write(&mut out, &tracks)?;
    Ok(out)
}

#[cfg(test)]
mod tests;
