//! What goes wrong outside the protocol: one cause, one mend, one exit code.

use std::fmt;

/// Whose business a failure is; each has an exit code that scripts can rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The system refused something that nobody foresaw (exit code 1).
    System,
    /// The command line or the configuration is wrong (exit code 2).
    Usage,
    /// The process may not do what it has to (exit code 3).
    Privileges,
    /// The key store is missing, damaged, readable by others or in use (exit code 4).
    Store,
    /// The invite is damaged, expired or spent (exit code 5).
    Invite,
    /// No link came up: no answer, refused, or the clock is off (exit code 6).
    NoLink,
    /// No daemon answers on the control socket (exit code 7).
    NoDaemon,
    /// A file of evidence proves nothing (exit code 1, as with grep(1): asked, and not found).
    NotProved,
    /// A file of evidence was not judged to the end: something is needed besides (exit code 8).
    Inconclusive,
}

impl ErrorKind {
    /// Returns the process exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            ErrorKind::System | ErrorKind::NotProved => 1,
            ErrorKind::Usage => 2,
            ErrorKind::Privileges => 3,
            ErrorKind::Store => 4,
            ErrorKind::Invite => 5,
            ErrorKind::NoLink => 6,
            ErrorKind::NoDaemon => 7,
            ErrorKind::Inconclusive => 8,
        }
    }

    /// Returns the stable name used in the control protocol.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::System => "system",
            ErrorKind::Usage => "usage",
            ErrorKind::Privileges => "privileges",
            ErrorKind::Store => "store",
            ErrorKind::Invite => "invite",
            ErrorKind::NoLink => "no_link",
            ErrorKind::NoDaemon => "no_daemon",
            ErrorKind::NotProved => "not_proved",
            ErrorKind::Inconclusive => "inconclusive",
        }
    }

    /// Returns the kind with this stable name; an unknown one is a [`ErrorKind::System`] failure.
    pub fn from_name(name: &str) -> Self {
        [
            ErrorKind::Usage,
            ErrorKind::Privileges,
            ErrorKind::Store,
            ErrorKind::Invite,
            ErrorKind::NoLink,
            ErrorKind::NoDaemon,
            ErrorKind::NotProved,
            ErrorKind::Inconclusive,
        ]
        .into_iter()
        .find(|kind| kind.name() == name)
        .unwrap_or(ErrorKind::System)
    }
}

/// A failure that ends a command: what is wrong and what mends it, each in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Whose business it is.
    pub kind: ErrorKind,
    /// What is wrong.
    pub cause: String,
    /// What the user can do about it; empty when there is nothing to say.
    pub mend: String,
}

impl Error {
    /// Makes a failure of `kind`.
    pub fn new(kind: ErrorKind, cause: impl Into<String>, mend: impl Into<String>) -> Self {
        Error { kind, cause: one_line(cause.into()), mend: one_line(mend.into()) }
    }

    /// Makes a [`ErrorKind::System`] failure out of an operating system error.
    pub fn system(what: impl fmt::Display, error: &std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::PermissionDenied => ErrorKind::Privileges,
            _ => ErrorKind::System,
        };
        let mend = match kind {
            ErrorKind::Privileges => "run as root, or let the path or device belong to this user",
            _ => "",
        };
        Error::new(kind, format!("{what}: {error}"), mend)
    }
}

/// The promise is one line, and some causes quote messages of other libraries, or what somebody else
/// chose: a name, an address, a file. It ends on a terminal, so control characters and what turns the
/// direction of text come escaped.
fn one_line(text: String) -> String {
    let lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let text = if text.contains(['\n', '\r']) { lines.collect::<Vec<_>>().join(" ") } else { text };
    if text.chars().any(commands) { escape(&text) } else { text }
}

fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if commands(c) {
            shown.extend(c.escape_debug());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a terminal takes this as a command, or shows nothing or text in another order for it:
/// control characters (C0, DEL, C1), zero width and direction (Unicode UAX #9), line and paragraph ends.
fn commands(c: char) -> bool {
    let hidden = matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{feff}');
    c.is_control() || hidden || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)?;
        if self.mend.is_empty() { Ok(()) } else { write!(f, "; {}", self.mend) }
    }
}

impl std::error::Error for Error {}

/// The result of everything that a user started.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_is_one_line() {
        let e = Error::new(ErrorKind::Usage, "first\n  second\r\n", "do\nthis");
        assert_eq!(e.to_string(), "first second; do this");
        assert_eq!(Error::new(ErrorKind::Usage, "plain", "").to_string(), "plain");
    }

    #[test]
    fn what_commands_a_terminal_is_escaped_and_nothing_else() {
        for (text, shown) in [
            ("\u{1b}[2J\u{7}", "\\u{1b}[2J\\u{7}"),
            ("a\u{9b}31m\u{7f}\0", "a\\u{9b}31m\\u{7f}\\0"),
            ("\u{202e}txt\u{2066}\u{200b}", "\\u{202e}txt\\u{2066}\\u{200b}"),
            ("Café 'z\u{301}' \\ 日本 …", "Café 'z\u{301}' \\ 日本 …"),
        ] {
            let e = Error::new(ErrorKind::Usage, text, text);
            assert_eq!(e.to_string(), format!("{shown}; {shown}"));
        }
    }

    #[test]
    fn names_survive_the_control_protocol() {
        for kind in [ErrorKind::Usage, ErrorKind::Store, ErrorKind::Invite, ErrorKind::NoDaemon]
            .into_iter()
            .chain([ErrorKind::NotProved, ErrorKind::Inconclusive])
        {
            assert_eq!(ErrorKind::from_name(kind.name()), kind);
        }
        assert_eq!(ErrorKind::from_name("something newer"), ErrorKind::System);
    }
}
