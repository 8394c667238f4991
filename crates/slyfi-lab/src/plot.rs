//! Line plots as SVG: panels side by side, one legend, the origin of the numbers at the foot.
//!
//! Written here because what is needed is a page of code: axes from zero, markers that differ in shape
//! as well as in colour (Okabe and Ito's, which colour-blind readers tell apart), no fonts to measure.

mod scale;
mod svg;

pub use svg::render;

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// From left to right; all have the same series.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What is on it.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// How numbers become places.
    pub scale: Scale,
}

impl Axis {
    /// An axis from zero.
    pub fn linear(label: &str, unit: &str) -> Self {
        Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear }
    }

    /// An axis over orders of magnitude.
    pub fn decades(label: &str, unit: &str) -> Self {
        Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Decades }
    }

    /// An axis on which doubling is a step.
    pub fn doubling(label: &str, unit: &str) -> Self {
        Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Doubling }
    }
}

/// How numbers become places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm, marked at powers of two.
    Doubling,
    /// By their logarithm, marked at 1, 2 and 5 times powers of ten.
    Decades,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// How it is drawn.
    pub style: Style,
    /// Places, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// How a series is drawn. Equal numbers look alike in all figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colour and marker, from 0.
    pub look: usize,
    /// Whether and how the points are joined.
    pub line: Line,
}

/// Whether and how points are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line.
    Solid,
    /// A broken line.
    Dashed,
    /// Markers only, hollow: for the few numbers that a paper's text gives.
    None,
}
