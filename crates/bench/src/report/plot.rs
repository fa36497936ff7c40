//! Pictures as SVG: bars for ratios, and a line over time. Written by hand: they are a few rectangles,
//! and look the same wherever they are read.

use std::fmt::Write as _;

use super::target::Verdict;

const STYLE: &str = "<style>text{font:13px sans-serif;fill:#333}.small{font-size:11px;fill:#666}\
                     .met{fill:#3a7d5c}.missed{fill:#b5483a}.limit{stroke:#222;stroke-width:2}\
                     .line{fill:none;stroke:#3a6ea5;stroke-width:1.5}.axis{stroke:#999}</style>";

fn opened(width: u32, height: u32) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n{STYLE}\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Ours by bare for every target that is a ratio, with a mark where the limit is.
pub(super) fn ratios(verdicts: &[Verdict]) -> String {
    let row = |verdict: &Verdict| {
        let (what, value, limit) = (verdict.what.clone(), verdict.ratio?, verdict.limit?);
        Some(Bar { what, value, limit, is_met: verdict.is_met })
    };
    let rows: Vec<Bar> = verdicts.iter().filter_map(row).collect();
    bars("Ours by bare server; the mark is the target", &rows)
}

/// A value beside its limit.
pub(crate) struct Bar {
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) limit: f64,
    pub(crate) is_met: bool,
}

/// A bar for each value, with a mark where its limit is.
pub(crate) fn bars(title: &str, rows: &[Bar]) -> String {
    let most = rows.iter().map(|bar| bar.value.max(bar.limit)).fold(1.0, f64::max) * 1.1;
    let height = 50 + 46 * rows.len() as u32;
    let mut svg = opened(720, height);
    // Writing to a string does not fail, here and below.
    let _ = writeln!(svg, "<text x=\"12\" y=\"22\">{}</text>", escaped(title));
    for (index, Bar { what, value, limit, is_met }) in rows.iter().enumerate() {
        let top = 40 + 46 * index;
        let (length, mark) = (value / most * 560.0, 12.0 + limit / most * 560.0);
        let class = if *is_met { "met" } else { "missed" };
        let what = escaped(what);
        let _ = writeln!(
            svg,
            "<text class=\"small\" x=\"12\" y=\"{}\">{what}</text>\n\
             <rect class=\"{class}\" x=\"12\" y=\"{}\" width=\"{length:.1}\" height=\"16\"/>\n\
             <line class=\"limit\" x1=\"{mark:.1}\" x2=\"{mark:.1}\" y1=\"{}\" y2=\"{}\"/>\n\
             <text x=\"590\" y=\"{}\">{value:.2} (target {limit})</text>",
            top + 10,
            top + 15,
            top + 12,
            top + 34,
            top + 28,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// A value over time, from zero up; points are seconds and values.
pub(crate) fn lines(title: &str, unit: &str, points: &[(f64, f64)]) -> String {
    let mut svg = opened(720, 260);
    let end = points.iter().map(|point| point.0).fold(1.0, f64::max);
    let most = points.iter().map(|point| point.1).fold(1.0, f64::max) * 1.1;
    let _ = writeln!(svg, "<text x=\"12\" y=\"22\">{}</text>", escaped(title));
    svg.push_str("<line class=\"axis\" x1=\"60\" x2=\"700\" y1=\"230\" y2=\"230\"/>\n");
    svg.push_str("<line class=\"axis\" x1=\"60\" x2=\"60\" y1=\"40\" y2=\"230\"/>\n");
    for part in [0.5, 1.0] {
        let height = 230.0 - 190.0 * part / 1.1;
        let value = most / 1.1 * part;
        let _ = writeln!(
            svg,
            "<text class=\"small\" x=\"8\" y=\"{height:.0}\">{value:.0} {}</text>",
            escaped(unit)
        );
    }
    let _ = writeln!(svg, "<text class=\"small\" x=\"660\" y=\"248\">{end:.0} s</text>");
    let places: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{:.1},{:.1}", 60.0 + x / end * 640.0, 230.0 - y / most * 190.0))
        .collect();
    let _ = writeln!(svg, "<polyline class=\"line\" points=\"{}\"/>\n</svg>", places.join(" "));
    svg
}
