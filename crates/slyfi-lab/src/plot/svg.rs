//! The drawing.

use super::scale::{Range, label};
use super::{Axis, Figure, Line, Panel, Series, Style};
use std::fmt::Write;

/// One panel's axes, and the room around them, in pixels.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 26.0;
const ABOVE: f64 = 66.0;
const BELOW: f64 = 52.0;
/// One line of the legend, and one entry.
const LEGEND_LINE: f64 = 20.0;
const ENTRY: f64 = 245.0;
const FOOT: f64 = 26.0;
/// A character of the foot's font, about, to fold it.
const FOOT_CHARACTER: f64 = 5.3;
const FOOT_LINE: f64 = 13.0;

/// Okabe and Ito's colours, without yellow, which is invisible on white.
const COLOURS: [&str; 7] =
    ["#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Draws a figure; `origin` is written at its foot.
pub fn render(figure: &Figure, origin: &str) -> String {
    let panels = figure.panels.len().max(1) as f64;
    let width = panels * (LEFT + WIDTH + RIGHT);
    let names = legend(figure);
    let in_line = ((width - LEFT) / ENTRY).floor().max(1.0) as usize;
    let legend_height = names.len().div_ceil(in_line) as f64 * LEGEND_LINE;
    let foot = fold(origin, (width / FOOT_CHARACTER) as usize - 4);
    let legend_top = ABOVE + HEIGHT + BELOW;
    let height = legend_top + legend_height + FOOT + foot.len() as f64 * FOOT_LINE;
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, sans-serif\">\n\
         <title>{}</title>\n<desc>{}</desc>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        escape(&figure.title),
        escape(origin)
    );
    text(&mut out, (width / 2.0, 24.0), "font-size=\"16\" text-anchor=\"middle\"", &figure.title);
    for (i, panel) in figure.panels.iter().enumerate() {
        let left = i as f64 * (LEFT + WIDTH + RIGHT) + LEFT;
        let _ = writeln!(out, "<g transform=\"translate({left:.1} {ABOVE:.1})\">");
        draw(&mut out, panel);
        out.push_str("</g>\n");
    }
    for (i, series) in names.iter().enumerate() {
        let x = LEFT + (i % in_line) as f64 * ENTRY;
        let y = legend_top + (i / in_line) as f64 * LEGEND_LINE + 10.0;
        line(&mut out, series.style, &[(x, y), (x + 30.0, y)]);
        marker(&mut out, series.style, (x + 15.0, y));
        text(&mut out, (x + 38.0, y + 4.0), "font-size=\"12\"", &series.name);
    }
    for (i, part) in foot.iter().enumerate() {
        let y = height - 8.0 - (foot.len() - 1 - i) as f64 * FOOT_LINE;
        text(&mut out, (12.0, y), "font-size=\"10\" fill=\"#555555\"", part);
    }
    out.push_str("</svg>\n");
    out
}

/// Every series of any panel once.
fn legend(figure: &Figure) -> Vec<&Series> {
    let mut found: Vec<&Series> = Vec::new();
    for series in figure.panels.iter().flat_map(|p| &p.series) {
        if !found.iter().any(|s| s.name == series.name) {
            found.push(series);
        }
    }
    found
}

fn draw(out: &mut String, panel: &Panel) {
    let points = || panel.series.iter().flat_map(|s| &s.points);
    let x = Range::over(&panel.x, &points().map(|p| p.0).collect::<Vec<_>>(), WIDTH);
    let y = Range::over(&panel.y, &points().map(|p| p.1).collect::<Vec<_>>(), HEIGHT);
    let middle = "font-size=\"13\" text-anchor=\"middle\"";
    text(out, (WIDTH / 2.0, -12.0), middle, &panel.title);
    for tick in &y.ticks {
        let at = HEIGHT - y.place(*tick);
        rule(out, (0.0, at), (WIDTH, at), "#dddddd");
        let place = "font-size=\"11\" text-anchor=\"end\"";
        text(out, (-7.0, at + 4.0), place, &label(*tick));
    }
    for tick in &x.ticks {
        let at = x.place(*tick);
        rule(out, (at, HEIGHT), (at, HEIGHT + 5.0), "#333333");
        let place = "font-size=\"11\" text-anchor=\"middle\"";
        text(out, (at, HEIGHT + 19.0), place, &label(*tick));
    }
    rule(out, (0.0, 0.0), (0.0, HEIGHT), "#333333");
    rule(out, (0.0, HEIGHT), (WIDTH, HEIGHT), "#333333");
    text(out, (WIDTH / 2.0, HEIGHT + 38.0), middle, &name(&panel.x));
    let turned = format!("{middle} transform=\"translate(-56 {:.1}) rotate(-90)\"", HEIGHT / 2.0);
    text(out, (0.0, 0.0), &turned, &name(&panel.y));
    for series in &panel.series {
        let places: Vec<_> =
            series.points.iter().map(|(a, b)| (x.place(*a), HEIGHT - y.place(*b))).collect();
        line(out, series.style, &places);
        for place in places {
            marker(out, series.style, place);
        }
    }
}

fn name(axis: &Axis) -> String {
    format!("{} ({})", axis.label, axis.unit)
}

fn rule(out: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let ((a, b), (c, d)) = (from, to);
    let _ = writeln!(
        out,
        "<line x1=\"{a:.1}\" y1=\"{b:.1}\" x2=\"{c:.1}\" y2=\"{d:.1}\" stroke=\"{colour}\"/>"
    );
}

fn colour(style: Style) -> &'static str {
    COLOURS[style.look % COLOURS.len()]
}

fn line(out: &mut String, style: Style, points: &[(f64, f64)]) {
    let dashes = match style.line {
        Line::Solid => "",
        Line::Dashed => " stroke-dasharray=\"6 4\"",
        Line::None => return,
    };
    let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        out,
        "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{dashes} points=\"{}\"/>",
        colour(style),
        places.join(" ")
    );
}

/// Shapes differ as colours do, for print in grey.
fn marker(out: &mut String, style: Style, (x, y): (f64, f64)) {
    let colour = colour(style);
    let fill = if style.line == Line::None { "#ffffff" } else { colour };
    let paint = format!("fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.4\"");
    let path = |corners: &[(f64, f64)]| {
        let places: Vec<String> =
            corners.iter().map(|(a, b)| format!("{:.1},{:.1}", x + a, y + b)).collect();
        format!("<polygon points=\"{}\" {paint}/>", places.join(" "))
    };
    let shape = match style.look % COLOURS.len() {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\" {paint}/>"),
        1 => path(&[(-3.2, -3.2), (3.2, -3.2), (3.2, 3.2), (-3.2, 3.2)]),
        2 => path(&[(0.0, -4.2), (4.0, 3.2), (-4.0, 3.2)]),
        3 => path(&[(0.0, -4.4), (4.4, 0.0), (0.0, 4.4), (-4.4, 0.0)]),
        4 => path(&[(0.0, 4.2), (4.0, -3.2), (-4.0, -3.2)]),
        5 => path(&[(-4.2, 0.0), (3.2, -4.0), (3.2, 4.0)]),
        _ => path(&[(4.2, 0.0), (-3.2, -4.0), (-3.2, 4.0)]),
    };
    let _ = writeln!(out, "{shape}");
}

fn text(out: &mut String, (x, y): (f64, f64), attributes: &str, content: &str) {
    let content = escape(content);
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{content}</text>");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Breaks a text at spaces into lines of at most `most` characters.
fn fold(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> Figure {
        let series = |name: &str, look, line| Series {
            name: name.to_owned(),
            style: Style { look, line },
            points: vec![(16.0, 1.0), (2048.0, 90.0)],
        };
        let panel = |title: &str| Panel {
            title: title.to_owned(),
            x: Axis::doubling("payload", "bytes"),
            y: Axis::linear("time", "ns a packet"),
            series: vec![
                series("WEP & <others>", 0, Line::Solid),
                series("SBKH", 1, Line::Dashed),
                series("paper", 1, Line::None),
            ],
        };
        Figure { title: "cost".to_owned(), panels: vec![panel("seal"), panel("open")] }
    }

    #[test]
    fn it_is_well_formed_and_says_what_it_must() {
        let svg = render(&figure(), "commit abc \"x\"");
        well_formed(&svg);
        for word in [
            "payload (bytes)",
            "time (ns a packet)",
            "SBKH",
            "paper",
            "seal",
            "commit abc",
            "2,048",
        ] {
            assert!(svg.contains(word), "{word}");
        }
        assert!(svg.contains("WEP &amp; &lt;others&gt;") && !svg.contains("NaN"));
        assert_eq!(svg.matches("<polyline").count(), 6, "two lines in each panel and the legend");
    }

    #[test]
    fn what_is_not_well_formed_is_noticed() {
        for bad in ["<svg><g></svg>", "<svg><text x=\"1>a</text></svg>", "<svg>a & b</svg>"] {
            assert!(std::panic::catch_unwind(|| well_formed(bad)).is_err(), "{bad}");
        }
    }

    /// Panics unless tags match, attributes are quoted and every ampersand begins an entity.
    fn well_formed(svg: &str) {
        let mut open = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, rest) = part.split_once('>').expect("a tag ends");
            assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
            for entity in rest.split('&').skip(1).chain(tag.split('&').skip(1)) {
                assert!(entity.split_once(';').is_some_and(|(e, _)| e.len() < 5), "{entity}");
            }
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "{tag}");
            } else if !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}
