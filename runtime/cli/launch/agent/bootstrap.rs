//! How the `lathide` program comes to a host that does not have it.
//!
//! A few lines of `sh` look for a copy of exactly this program in the user's own cache there; if it is missing, they say
//! so, take the program from their standard input, and become the agent. Everything before the agent's first line is
//! noise of the login shell.

use std::io;
use std::path::Path;

use lathide::launcher::text::printable;

/// How every line begins that is not noise.
const MARK: &str = "lathide-agent ";

/// The program, as it is sent.
pub(super) struct Image {
    pub(super) bytes: Vec<u8>,
    hash: String,
    machine: String,
}

impl Image {
    pub(super) fn read(program: &Path) -> io::Result<Self> {
        let bytes = std::fs::read(program)?;
        let hash = blake3::hash(&bytes).to_hex()[..32].to_owned();
        let name = rustix::system::uname();
        let machine = format!("{} {}", name.sysname().to_string_lossy(), name.machine().to_string_lossy());
        Ok(Image { bytes, hash, machine })
    }

    /// The commands for `sh -c` on the host. No login shell changes them: one line, no single quote, no exclamation mark,
    /// no backslash.
    pub(super) fn script(&self) -> String {
        let Image { hash, bytes, .. } = self;
        let size = bytes.len();
        format!(
            r#"d="${{XDG_CACHE_HOME:-$HOME/.cache}}/lathide"; a="$d/agent-{hash}"; "#
        ) + r#"if test -x "$a"; then :; else echo "lathide-agent need $(uname -sm)"; ( umask 077; "#
            // In a shell of its own: what the ranks write is none of that mask's business. What has come only in part,
            // because the launcher was killed, does not stay.
            + r#"t=; u() { rm -f "$t"; }; trap u EXIT; trap "exit 125" HUP INT TERM; "#
            + &format!(
                r#"mkdir -p "$d" && t="$(mktemp "$d/new-XXXXXX")" && head -c {size} > "$t" && test "$(wc -c < "$t")" -eq {size} "#
            )
            + r#"&& chmod 700 "$t" && mv -f "$t" "$a" ) || exit 125; "#
            // What nobody has used for a month belongs to a program that is no more.
            + r#"find "$d" -name "agent-*" -atime +30 -exec rm -f {} +; "#
            // Nor does anybody come back for what a machine that went down had got of one.
            + r#"find "$d" -name "new-*" -mtime +1 -exec rm -f {} +; fi; exec "$a" __agent"#
    }

    /// The same for the way back to an agent that runs there.
    pub(super) fn resume_script(&self) -> String {
        let Image { hash, .. } = self;
        format!(r#"exec "${{XDG_CACHE_HOME:-$HOME/.cache}}/lathide/agent-{hash}" __agent-resume"#)
    }

    /// Whether a host of that kind, as `uname -sm` says it, can execute the program.
    pub(super) fn fits(&self, machine: &str) -> Result<(), String> {
        if machine == self.machine {
            return Ok(());
        }
        Err(format!(
            "it is a {machine} machine, and this lathide program is for {}: install lathide there, and name it with \
             --agent PATH",
            self.machine
        ))
    }
}

/// What a host says before frames begin.
#[derive(Debug, PartialEq)]
pub(super) enum Hello {
    /// It needs the program; what `uname -sm` says.
    Need(String),
    /// The agent is there, and speaks this protocol.
    Ready(u32),
    /// The agent that was there goes on, and expects the message of this number.
    Resumed(u64),
    /// It does not; why.
    Gone(String),
}

impl Hello {
    /// Reads a line; `None` for noise.
    pub(super) fn parse(line: &str) -> Option<Hello> {
        let (what, rest) = line.trim_end().strip_prefix(MARK)?.split_once(' ')?;
        match what {
            "need" => Some(Hello::Need(printable(rest))),
            "resumed" => rest.parse().ok().map(Hello::Resumed),
            "gone" => Some(Hello::Gone(printable(rest))),
            "ready" => rest.split(' ').next()?.parse().ok().map(Hello::Ready),
            _ => None,
        }
    }
}

/// The agent's first line.
pub(super) fn ready_line(protocol: u32) -> String {
    format!("{MARK}ready {protocol} {}", env!("CARGO_PKG_VERSION"))
}

/// The first line of an agent that goes on.
pub(super) fn resumed_line(expected: u64) -> String {
    format!("{MARK}resumed {expected}\n")
}

/// The line that says that no agent goes on, and why.
pub(super) fn gone_line(why: &str) -> String {
    format!("{MARK}gone {}\n", printable(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        Image::read(Path::new("/bin/true")).unwrap()
    }

    #[test]
    fn the_script_survives_any_login_shell() {
        for script in [image().script(), image().resume_script()] {
            assert!(!script.contains(['\'', '!', '\\', '\n']), "{script}");
            let checked = std::process::Command::new("sh").args(["-n", "-c", &script]).status().unwrap();
            assert!(checked.success(), "{script}");
        }
    }

    #[test]
    fn hosts_say_hello_amid_noise() {
        assert_eq!(Hello::parse("Welcome to node01\n"), None);
        assert_eq!(Hello::parse("lathide-agent need Linux x86_64\n"), Some(Hello::Need("Linux x86_64".into())));
        assert_eq!(Hello::parse(&ready_line(7)), Some(Hello::Ready(7)));
        assert_eq!(Hello::parse("lathide-agent ready x"), None);
        assert_eq!(Hello::parse(&resumed_line(u64::MAX)), Some(Hello::Resumed(u64::MAX)));
        assert_eq!(Hello::parse(&gone_line("it is\nno more")), Some(Hello::Gone(printable("it is\nno more"))));
        assert!(image().fits(&image().machine).is_ok());
        assert!(image().fits("Linux riscv64").unwrap_err().contains("--agent"));
    }
}
