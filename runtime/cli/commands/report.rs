//! `lathide report`: saved results as one page.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::commands::common::options::one;
use crate::report::html::{self, Page, small};
use lathide::launcher::quantity::WHOLE;
use lathide::observe::file;
use serde_json::{Value, json};

use crate::commands::common::console;
use crate::commands::common::output::Output;

/// Make one page of saved results: verdicts, figures, timelines, tables, advice
///
/// The page is a single HTML file that loads nothing from anywhere. A file that does not fit is named, and skipped.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What any command has written with --json, and what lathide run writes with --trace FILE and --report=FILE
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where the page goes; - for standard output. FILE.svg: a picture of some steps of one timeline instead
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Also a CSV file of each table and each figure, in this folder
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Also an SVG file of each figure, in this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Time steps in a picture of a timeline
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
  lathide report link.json --csv values --svg figures
  lathide report trace.json --steps 4 -o timeline.svg";

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    make(args).unwrap_or_else(|message| console::fail(COMMAND, &message, 1))
}

fn make(args: &Args) -> Result<ExitCode, String> {
    if args.output.extension().is_some_and(|extension| extension == "svg") {
        return picture(args);
    }
    let page = Page::of(args.files.iter().map(|file| (name(file), parsed(file))));
    for (file, why) in &page.skipped {
        console::error(COMMAND, &format!("{file} is skipped: {why}"));
    }
    if page.shown().next().is_none() {
        return Err("there is nothing to show".to_owned());
    }
    let html = page.html();
    let csv = saved(args.csv.as_deref(), || html::values(&page))?;
    let svg = saved(args.svg.as_deref(), || html::pictures(&page))?;
    if args.output.as_os_str() == "-" {
        return Ok(console::print(COMMAND, html.trim_end()));
    }
    write(&args.output, &html, "page")?;
    for shown in page.shown().filter(|_| !args.shown.quiet && !args.shown.json) {
        let meaning = if shown.meaning.is_empty() { shown.title } else { shown.meaning };
        console::note(COMMAND, &format!("{}: {meaning}", shown.file));
    }
    let shown: Vec<Value> = page
        .shown()
        .map(|shown| json!({ "file": shown.file, "title": shown.title, "verdict": shown.verdict, "meaning": shown.meaning }))
        .collect();
    let skipped: Vec<Value> = page.skipped.iter().map(|(file, why)| json!({ "file": file, "why": why })).collect();
    told(args, "page", html.len(), &json!({ "shown": shown, "skipped": skipped, "csv": csv, "svg": svg }))
}

/// A picture of one timeline.
fn picture(args: &Args) -> Result<ExitCode, String> {
    let none = "a picture (FILE.svg) is of one timeline: a file of lathide run --trace; --svg DIR makes one of each figure of a page";
    let [path] = &args.files[..] else { return Err(none.to_owned()) };
    let (file, trace) = (name(path), parsed(path).map_err(|why| format!("{}: {why}", path.display()))?);
    if trace["otherData"]["schema"] != "lathide-trace-1" {
        return Err(none.to_owned());
    }
    let svg = small(&trace, args.steps).map_err(|why| format!("there is no picture of {file}: {why}"))?;
    if args.output.as_os_str() == "-" {
        return Ok(console::print(COMMAND, svg.trim_end()));
    }
    write(&args.output, &svg, "picture")?;
    told(args, "picture", svg.len(), &json!({}))
}

/// Says where it went.
fn told(args: &Args, what: &str, bytes: usize, more: &Value) -> Result<ExitCode, String> {
    if args.shown.json {
        let mut result =
            json!({ "schema": "lathide-report-1", "output": args.output, "bytes": bytes, "files": args.files });
        for (name, value) in more.as_object().into_iter().flatten() {
            result[name] = value.clone();
        }
        return Ok(console::print_json(COMMAND, &result));
    }
    if !args.shown.quiet {
        let also = |what: &str, folder: &Option<PathBuf>| {
            folder.as_ref().map(|folder| format!("; {what} are in {}", folder.display())).unwrap_or_default()
        };
        let more = also("tables", &args.csv) + &also("figures", &args.svg);
        console::note(COMMAND, &format!("the {what} is {}{more}; open it in a browser", args.output.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes these files to a folder, which is made if there is none; their names.
fn saved(folder: Option<&Path>, files: impl Fn() -> Vec<(String, String)>) -> Result<Vec<String>, String> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
    let mut names = Vec::new();
    for (name, text) in files() {
        write(&folder.join(&name), &text, "file")?;
        names.push(name);
    }
    Ok(names)
}

fn write(path: &Path, text: &str, what: &str) -> Result<(), String> {
    file::replace(path, |out| out.write_all(text.as_bytes()))
        .map_err(|error| format!("the {what} cannot be written to {}: {error}", path.display()))
}

fn parsed(file: &Path) -> Result<Value, String> {
    let text = std::fs::read(file).map_err(|error| format!("it cannot be read: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("it is not JSON: {error}"))
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}
