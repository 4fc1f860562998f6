//! `lathide report`: saved results as one page.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::report::html::page;
use lathide::observe::file;
use serde_json::{Value, json};

use crate::commands::common::console;
use crate::commands::common::output::Output;

/// Make one page of saved results: curves, timelines, tables, advice
///
/// The page is a single HTML file that loads nothing from anywhere.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Results of lathide gain --json, link --json, study --json, run --trace, --report=FILE or run --json
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where the page goes; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    #[command(flatten)]
    shown: Output,
}

const COMMAND: &str = "lathide report";

const EXAMPLES: &str = "\
Examples:
  lathide gain --json > gain.json && lathide report gain.json
  lathide run -n 4 --trace trace.json --report=reports.json ./stencil
  lathide report gain.json link.json trace.json reports.json -o report.html";

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    make(args).unwrap_or_else(|message| console::fail(COMMAND, &message, 1))
}

fn make(args: &Args) -> Result<ExitCode, String> {
    let Args { files, output, shown } = args;
    let results = files.iter().map(|file| Ok((name(file), parsed(file)?))).collect::<Result<Vec<_>, String>>()?;
    let html = page(&results).map_err(|error| error.to_string())?;
    if output.as_os_str() == "-" {
        return Ok(console::print(COMMAND, html.trim_end()));
    }
    file::replace(output, |out| out.write_all(html.as_bytes()))
        .map_err(|error| format!("the page cannot be written to {}: {error}", output.display()))?;
    if shown.json {
        let result = json!({ "schema": "lathide-report-1", "output": output, "bytes": html.len(), "files": files });
        return Ok(console::print_json(COMMAND, &result));
    }
    if !shown.quiet {
        console::note(COMMAND, &format!("the page is {}; open it in a browser", output.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn parsed(file: &Path) -> Result<Value, String> {
    let text = std::fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{} is not JSON: {error}", file.display()))
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}
