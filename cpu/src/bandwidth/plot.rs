//! A curve per kind of memory over sizes, with the link's limit drawn in, as SVG. Text stays text in the file: no font is
//! needed to write it.

use std::error::Error;

use plotters::element::DashedPathElement;
use plotters::prelude::*;

use super::document::Document;
use super::explain::size;
use super::measurement::{Step, select};
use super::memory::HOST_KINDS;

/// Width and height in pixels.
const EXTENT: (u32, u32) = (960, 600);

/// A colour for each kind of memory, to be told apart also by those who see red and green alike (Okabe and Ito's set).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
];

/// What is drawn of each kind, and with dashes and gaps of how many pixels.
const DIRECTIONS: [(Step, &str, (u32, u32)); 3] = [
    (Step::H2d, "to the device", (10_000, 0)),
    (Step::D2h, "to the host", (8, 4)),
    (Step::Both, "both at once", (2, 4)),
];

/// One kind in one direction.
struct Curve {
    name: String,
    colour: RGBColor,
    dash: (u32, u32),
    /// Bytes and GB/s.
    points: Vec<(f64, f64)>,
}

/// Draws the copies.
///
/// # Errors
/// The drawing fails; there is no input for which it is known to.
pub fn svg(document: &Document) -> Result<String, Box<dyn Error>> {
    let curves = curves(document);
    let limit = document.findings.link_limit_gb_per_s;
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let top = points().map(|(_, rate)| *rate).chain(limit).fold(0.0, f64::max).max(1e-3) * 1.1;
    let (least, most) =
        points().fold((f64::MAX, 1.0f64), |(least, most), (bytes, _)| (least.min(*bytes), most.max(*bytes)));
    // A single size still needs an axis with two ends.
    let (least, most) = if least < most { (least, most) } else { (most / 4.0, most * 4.0) };

    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, EXTENT).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(format!("Copies between host and {}", document.device.name), ("sans-serif", 22))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d((least..most).log_scale().base(4.0), 0.0..top)?;
        chart
            .configure_mesh()
            .x_desc("bytes of the copy")
            .y_desc("GB/s, median")
            .x_label_formatter(&|bytes| size(bytes.round() as u64))
            .light_line_style(WHITE)
            .label_style(("sans-serif", 14))
            .draw()?;
        for Curve { name, colour, dash: (dash, gap), points } in &curves {
            let style = colour.stroke_width(2);
            chart
                .draw_series(DashedLineSeries::new(points.iter().copied(), *dash, *gap, style))?
                .label(name.as_str())
                .legend(move |(x, y)| DashedPathElement::new([(x, y), (x + 24, y)], *dash, *gap, style));
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 2, colour.filled())))?;
        }
        if let Some(limit) = limit {
            chart
                .draw_series(LineSeries::new([(least, limit), (most, limit)], BLACK.stroke_width(1)))?
                .label(format!("the link's limit, {limit:.1} GB/s"))
                .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLACK));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.4))
            .label_font(("sans-serif", 14))
            .draw()?;
        root.present()?;
    }
    Ok(text)
}

fn curves(document: &Document) -> Vec<Curve> {
    let kinds = HOST_KINDS.iter().zip(COLOURS.iter().cycle());
    let curves = kinds.flat_map(|(kind, colour)| {
        DIRECTIONS.map(|(step, label, dash)| {
            let figures = select(&document.measurements, step, kind.name);
            let points = figures.map(|one| (one.size_bytes as f64, one.gb_per_s)).collect();
            Curve { name: format!("{}, {label}", kind.name), colour: *colour, dash, points }
        })
    });
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bandwidth::findings::Findings;
    use crate::bandwidth::{Measurement, Plan, Wishes};
    use crate::device::{Device, Selector};
    use crate::memory::PinnedBudget;
    use crate::report::Series;
    use std::time::Duration;

    fn drawn(measurements: Vec<Measurement>, limit: Option<f64>) -> String {
        let device = Device::open(Selector::Simt, PinnedBudget::limited_to(1 << 24)).unwrap();
        let plan = Plan::new(&device, &Wishes::default()).unwrap();
        let findings = Findings::of(&measurements, limit);
        svg(&Document { findings, ..Document::new(&device, &plan, measurements) }).unwrap()
    }

    fn copy(bytes: u64, ms: u64) -> Measurement {
        Measurement::new(Step::H2d, "pinned", bytes, Series::of([Duration::from_millis(ms)]))
    }

    #[test]
    fn the_limit_is_drawn_and_labelled() {
        let text = drawn(vec![copy(4096, 1), copy(1 << 30, 20)], Some(63.02));
        assert!(
            text.contains("the link's limit, 63.0 GB/s") || text.contains("the link&apos;s limit, 63.0 GB/s"),
            "{text}"
        );
        assert!(text.contains("pinned, to the device"), "{text}");
    }

    #[test]
    fn one_size_and_none_and_a_clock_that_stands_still_are_drawn() {
        for measurements in [vec![copy(4096, 1)], vec![], vec![copy(4096, 0), copy(8192, 0)]] {
            let text = drawn(measurements, None);
            assert!(text.trim_end().ends_with("</svg>") && !text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}
