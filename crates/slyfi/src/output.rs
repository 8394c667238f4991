//! Tables and colours for people.

use crate::cli::Color;
use std::io::IsTerminal;

/// Whether and how to colour.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Decides for standard output. `NO_COLOR` is honoured (no-color.org).
    pub fn new(when: Color) -> Self {
        let on = match when {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                std::io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
                    && std::env::var_os("TERM").is_none_or(|v| v != "dumb")
            }
        };
        Paint { on }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Headings.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What is less important.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// What is well.
    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// What is not.
    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }
}

/// Lays rows out in columns, two spaces between them.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..count).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Returns a span for people.
pub fn span(seconds: u64) -> String {
    match seconds {
        s if s < 120 => format!("{s} s"),
        s if s < 7_200 => format!("{} min", s / 60),
        s if s < 172_800 => format!("{} h", s / 3_600),
        s => format!("{} days", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_do_not_trail_off() {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        assert_eq!(
            columns(&[row("id", "label"), row("longer", "x")]),
            "id      label\nlonger  x\n"
        );
        assert_eq!(columns(&[row("é", ""), row("ab", "c")]), "é\nab  c\n");
    }

    #[test]
    fn colours_only_where_asked() {
        assert_eq!(Paint::new(Color::Never).bold("x"), "x");
        assert_eq!(Paint::new(Color::Always).bold("x"), "\x1b[1mx\x1b[0m");
    }
}
