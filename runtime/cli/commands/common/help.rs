//! The examples and paragraphs behind a command's options, made to fit the terminal. Pure.

use crate::report::screen::Screen;

/// The command and all below it, with what stands behind their options in lines that fit.
pub(crate) fn fitted(mut command: clap::Command, width: usize) -> clap::Command {
    for long in [false, true] {
        let help = if long { command.get_after_long_help() } else { command.get_after_help() };
        let Some(text) = help.map(|help| fit(&help.to_string(), Screen::of(width, false))) else { continue };
        command = if long { command.after_long_help(text) } else { command.after_help(text) };
    }
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, |sub| fitted(sub, width)))
}

/// Lines that begin with a blank stay lines; all others are paragraphs, up to an empty line or a heading.
fn fit(text: &str, screen: Screen) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut paragraph = String::new();
    for line in text.lines().chain([""]) {
        let continues = !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
        if continues {
            paragraph = format!("{paragraph} {line}");
            continue;
        }
        if !paragraph.is_empty() {
            lines.push(screen.wrap(&std::mem::take(&mut paragraph), 0));
        }
        lines.push(if line.starts_with(' ') { example(line, screen) } else { line.to_owned() });
    }
    lines.join("\n").trim_end().to_owned()
}

/// A line of an example: what is said of it goes below it where there is no room, and a long command is continued as a shell
/// understands it.
fn example(line: &str, screen: Screen) -> String {
    let room = screen.width;
    if line.chars().count() <= room {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start().len();
    let (code, said) = line.trim_start().split_once("   ").unwrap_or((line.trim_start(), ""));
    let narrow = Screen { width: room.saturating_sub(indent + 2), ..screen };
    let is_command = code.starts_with("lathide ");
    let code = narrow.wrap(code, 4).replace('\n', if is_command { " \\\n" } else { "\n" });
    let below = |text: &str, by: usize| text.lines().map(|line| format!("{:by$}{line}\n", "")).collect::<String>();
    let said = if said.is_empty() { String::new() } else { below(&narrow.wrap(said, 0), indent + 2 + 2) };
    format!("{}{said}", below(&code, indent)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Examples:
  lathide run -n 4 ./stencil                  four ranks on this machine
  lathide run --hosts a:4,me@b:2 --trace a-long-name.json ./stencil --rows 1000 --columns 200 --steps 10    six ranks
  lathide gain

One paragraph
in two lines.
  NAME=VALUE that is explained in a line that is longer than the screen is wide, so that it goes on below

Another.";

    #[test]
    fn lines_fit_and_commands_can_be_typed() {
        let text = fit(TEXT, Screen::of(80, false));
        let expected = "\
Examples:
  lathide run -n 4 ./stencil                  four ranks on this machine
  lathide run --hosts a:4,me@b:2 --trace a-long-name.json ./stencil --rows \\
      1000 --columns 200 --steps 10
      six ranks
  lathide gain

One paragraph in two lines.
  NAME=VALUE that is explained in a line that is longer than the screen is
      wide, so that it goes on below

Another.";
        assert_eq!(text, expected);
        let joined = |text: &str| text.replace(" \\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
        for width in [40, 80, 100, 160] {
            let text = fit(TEXT, Screen::of(width, false));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert_eq!(joined(&text), joined(TEXT), "no word is lost");
        }
    }
}
