//! A curve per kind of memory over sizes, with the link's limit drawn in, as SVG. Text stays text in the file: no font is
//! needed to write it.

use std::error::Error;

use plotters::prelude::*;

use super::document::Document;
use super::explain::size;
use super::measurement::{Step, select};
use super::memory::HOST_KINDS;

/// Width and height in pixels.
const EXTENT: (u32, u32) = (960, 600);

/// A curve's name and its points: bytes and GB/s.
type Curve = (String, Vec<(f64, f64)>);

/// Draws the copies.
///
/// # Errors
/// The drawing fails; there is no input for which it is known to.
pub fn svg(document: &Document) -> Result<String, Box<dyn Error>> {
    let curves = curves(document);
    let limit = document.findings.link_limit_gb_per_s;
    let points = || curves.iter().flat_map(|(_, points)| points);
    let top = points().map(|(_, rate)| *rate).chain(limit).fold(0.0, f64::max).max(1e-3) * 1.1;
    let (least, most) =
        points().fold((f64::MAX, 1.0f64), |(least, most), (bytes, _)| (least.min(*bytes), most.max(*bytes)));
    // A single size still needs an axis with two ends.
    let (least, most) = if least < most { (least, most) } else { (most / 2.0, most * 2.0) };

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
        for (index, (name, points)) in curves.iter().enumerate() {
            let colour = Palette99::pick(index).to_rgba();
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3))?
                .label(name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
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
    let all = &document.measurements[..];
    let directions = [(Step::H2d, "to the device"), (Step::D2h, "to the host"), (Step::Both, "both at once")];
    let kinds = HOST_KINDS.iter().flat_map(|kind| directions.map(|(step, label)| (kind.name, step, label)));
    kinds
        .map(|(kind, step, label)| {
            let points = select(all, step, kind).map(|one| (one.size_bytes as f64, one.gb_per_s)).collect();
            (format!("{kind}, {label}"), points)
        })
        .filter(|(_, points): &Curve| !points.is_empty())
        .collect()
}
