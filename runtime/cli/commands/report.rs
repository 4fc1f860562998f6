//! `lathide report`: saved results as one page.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::commands::common::options::one;
use crate::report::html::page;
use crate::report::html::timeline::figure;
use lathide::launcher::quantity::WHOLE;
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
    /// Where the page goes; - for standard output. FILE.svg: a picture of some steps of one timeline instead
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Time steps in a picture
    #[arg(long, value_name = "N", default_value = "3", value_parser = one::<u32>(WHOLE.within("1", "1000")))]
    steps: u32,
    #[command(flatten)]
    shown: Output,
}

const COMMAND: &str = "lathide report";

const EXAMPLES: &str = "\
Examples:
  lathide gain --json > gain.json && lathide report gain.json
  lathide run -n 4 --trace trace.json --report=reports.json ./stencil
  lathide report gain.json link.json trace.json reports.json -o report.html
  lathide report trace.json --steps 4 -o timeline.svg";

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    make(args).unwrap_or_else(|message| console::fail(COMMAND, &message, 1))
}

fn make(args: &Args) -> Result<ExitCode, String> {
    let Args { files, output, steps, shown } = args;
    let results = files.iter().map(|file| Ok((name(file), parsed(file)?))).collect::<Result<Vec<_>, String>>()?;
    let is_picture = output.extension().is_some_and(|extension| extension == "svg");
    let (what, html) = match &results[..] {
        [(file, trace)] if is_picture && trace["otherData"]["schema"] == "lathide-trace-1" => {
            ("picture", figure(trace, *steps).map_err(|why| format!("there is no picture of {file}: {why}"))?)
        }
        _ if is_picture => return Err("a picture (FILE.svg) is of one timeline: a file of lathide run --trace".into()),
        _ => ("page", page(&results)?),
    };
    if output.as_os_str() == "-" {
        return Ok(console::print(COMMAND, html.trim_end()));
    }
    file::replace(output, |out| out.write_all(html.as_bytes()))
        .map_err(|error| format!("the {what} cannot be written to {}: {error}", output.display()))?;
    if shown.json {
        let result = json!({ "schema": "lathide-report-1", "output": output, "bytes": html.len(), "files": files });
        return Ok(console::print_json(COMMAND, &result));
    }
    if !shown.quiet {
        console::note(COMMAND, &format!("the {what} is {}; open it in a browser", output.display()));
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
