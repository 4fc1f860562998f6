//! `lathide report`: saved results as one page.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::report::html::page;
use lathide::observe::file;
use serde_json::Value;

use crate::commands::common::console;

/// Make one page of saved results: curves, timelines, tables, advice
///
/// The page is a single HTML file that loads nothing from anywhere.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Results of lathide gain --json, link --json, run --trace, --report=FILE or run --json
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where the page goes; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// One JSON object on stdout, nothing else there
    #[arg(long)]
    json: bool,
    /// Nothing on stderr but errors
    #[arg(long)]
    quiet: bool,
}

const COMMAND: &str = "lathide report";

const EXAMPLES: &str = "\
Examples:
  lathide gain --json > gain.json && lathide report gain.json
  lathide run -n 4 --trace trace.json --report=reports.json ./stencil
  lathide report gain.json link.json trace.json reports.json -o report.html";

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let html = match make(&args.files) {
        Ok(html) => html,
        Err(message) => return console::fail(COMMAND, &message, 1),
    };
    if args.output.as_os_str() == "-" {
        return console::print(COMMAND, html.trim_end());
    }
    let name = args.output.display();
    if let Err(error) = file::replace(&args.output, |out| out.write_all(html.as_bytes())) {
        return console::fail(COMMAND, &format!("the page cannot be written to {name}: {error}"), 1);
    }
    if args.json {
        let result = serde_json::json!({
            "schema": "lathide-report-1",
            "output": args.output,
            "bytes": html.len(),
            "files": args.files,
        });
        return console::print_json(COMMAND, &result);
    }
    if !args.quiet {
        eprintln!("{COMMAND}: the page is {name}; open it in a browser");
    }
    ExitCode::SUCCESS
}

fn make(files: &[PathBuf]) -> Result<String, String> {
    let read = |file: &PathBuf| Ok((name(file), parsed(file)?));
    let files = files.iter().map(read).collect::<Result<Vec<_>, String>>()?;
    page(&files).map_err(|error| error.to_string())
}

fn parsed(file: &Path) -> Result<Value, String> {
    let text = std::fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{} is not JSON: {error}", file.display()))
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}
