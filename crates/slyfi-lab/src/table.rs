//! Numbers in rows, for CSV and JSON.

use serde::Serialize;
use std::fmt::Write;

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Its name, which is its file's.
    pub name: String,
    /// What each column holds.
    pub columns: Vec<Column>,
    /// Rows of as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name, with the unit at the end: `seal_ns`.
    pub name: &'static str,
    /// The unit in words, empty for text.
    pub unit: &'static str,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A name.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A measured number.
    Number(f64),
    /// Not measured.
    Missing,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<Option<f64>> for Cell {
    fn from(n: Option<f64>) -> Self {
        n.map_or(Cell::Missing, Cell::Number)
    }
}

impl Table {
    /// A table without rows.
    pub fn new(name: &str, columns: &[(&'static str, &'static str)]) -> Self {
        let columns = columns.iter().map(|(name, unit)| Column { name, unit }).collect();
        Table { name: name.to_owned(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When it has not one cell for each column.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(
            row.len(),
            self.columns.len(),
            "a row of {} has a cell too many or few",
            self.name
        );
        self.rows.push(row);
    }

    /// Returns it as comma-separated values (RFC 4180), names first. What was not measured is empty.
    pub fn to_csv(&self) -> String {
        let names = self.columns.iter().map(|c| c.name);
        let mut out = names.collect::<Vec<_>>().join(",");
        out.push('\n');
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(csv).collect();
            let _ = writeln!(out, "{}", cells.join(","));
        }
        out
    }
}

fn csv(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Cell::Text(text) => text.clone(),
        Cell::Count(n) => n.to_string(),
        Cell::Number(n) => format!("{n:.3}"),
        Cell::Missing => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_stay_one_cell() {
        let mut t =
            Table::new("t", &[("cipher", ""), ("payload_bytes", "bytes"), ("seal_ns", "ns")]);
        t.push(vec!["WPA 2.0, \"soft\"".into(), Cell::Count(16), Cell::Number(1.0625)]);
        t.push(vec!["WEP".into(), Cell::Count(16), None.into()]);
        let want = "cipher,payload_bytes,seal_ns\n\"WPA 2.0, \"\"soft\"\"\",16,1.062\nWEP,16,\n";
        assert_eq!(t.to_csv(), want);
    }

    #[test]
    #[should_panic(expected = "too many or few")]
    fn a_row_of_another_length_is_refused() {
        Table::new("t", &[("a", "")]).push(Vec::new());
    }
}
