//! Predicted beside measured: whether the model can be trusted.

use serde::Serialize;

use super::predict::Prediction;
use super::recommend::fastest;

/// Medians of one mode, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredMode {
    /// Its name; a strategy of the same name predicts it.
    pub mode: String,
    /// Allocating the host buffers, once.
    pub host_allocation_ms: f64,
    /// To the device.
    pub h2d_ms: f64,
    /// The kernel.
    pub kernel_ms: f64,
    /// To the host.
    pub d2h_ms: f64,
    /// From host data to host result.
    pub total_ms: f64,
}

/// One mode, predicted and measured. A deviation is that of the prediction from the measurement, in percent of the
/// measurement; absent where nothing was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedMode {
    /// Its name.
    pub mode: String,
    /// Allocating the host buffers, once.
    pub predicted_allocate_ms: f64,
    /// The same, measured.
    pub measured_allocate_ms: f64,
    /// To the device.
    pub predicted_h2d_ms: f64,
    /// The same, measured.
    pub measured_h2d_ms: f64,
    /// Its deviation.
    pub h2d_deviation_percent: Option<f64>,
    /// The kernel.
    pub predicted_kernel_ms: f64,
    /// The same, measured.
    pub measured_kernel_ms: f64,
    /// Its deviation.
    pub kernel_deviation_percent: Option<f64>,
    /// To the host.
    pub predicted_d2h_ms: f64,
    /// The same, measured.
    pub measured_d2h_ms: f64,
    /// Its deviation.
    pub d2h_deviation_percent: Option<f64>,
    /// From host data to host result.
    pub predicted_total_ms: f64,
    /// The same, measured.
    pub measured_total_ms: f64,
    /// Its deviation.
    pub total_deviation_percent: Option<f64>,
    /// Whether it copies.
    pub copies: bool,
}

/// What was measured of one job, beside what was predicted of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Each mode that was both predicted and measured.
    pub modes: Vec<ComparedMode>,
    /// Modes that were measured and not predicted: the model does not know them, or lacks their figures.
    pub not_predicted: Vec<String>,
    /// The mode with the least predicted total, of those that were measured.
    pub predicted_winner: Option<String>,
    /// The mode with the least measured total, predicted or not.
    pub measured_winner: Option<String>,
}

/// Puts together what has the same name.
pub fn compare(predictions: &[Prediction], measured: &[MeasuredMode]) -> Comparison {
    let pairs: Vec<(&Prediction, &MeasuredMode)> = measured
        .iter()
        .filter_map(|mode| Some((predictions.iter().find(|one| one.strategy.name() == mode.mode)?, mode)))
        .collect();
    let predicted: Vec<&Prediction> = pairs.iter().map(|pair| pair.0).collect();
    let winner = measured.iter().min_by(|one, other| one.total_ms.total_cmp(&other.total_ms));
    let is_predicted = |mode: &&MeasuredMode| pairs.iter().any(|pair| pair.1.mode == mode.mode);
    Comparison {
        modes: pairs.iter().map(|(prediction, measured)| of_mode(prediction, measured)).collect(),
        not_predicted: measured.iter().filter(|mode| !is_predicted(mode)).map(|mode| mode.mode.clone()).collect(),
        predicted_winner: fastest(&predicted, |one| one.run_ms).map(|strategy| strategy.name().into()),
        measured_winner: winner.map(|mode| mode.mode.clone()),
    }
}

fn of_mode(predicted: &Prediction, measured: &MeasuredMode) -> ComparedMode {
    let total = predicted.run_ms;
    ComparedMode {
        mode: measured.mode.clone(),
        predicted_allocate_ms: predicted.allocate_ms,
        measured_allocate_ms: measured.host_allocation_ms,
        predicted_h2d_ms: predicted.h2d_ms,
        measured_h2d_ms: measured.h2d_ms,
        h2d_deviation_percent: deviation(predicted.h2d_ms, measured.h2d_ms),
        predicted_kernel_ms: predicted.kernel_ms,
        measured_kernel_ms: measured.kernel_ms,
        kernel_deviation_percent: deviation(predicted.kernel_ms, measured.kernel_ms),
        predicted_d2h_ms: predicted.d2h_ms,
        measured_d2h_ms: measured.d2h_ms,
        d2h_deviation_percent: deviation(predicted.d2h_ms, measured.d2h_ms),
        predicted_total_ms: total,
        measured_total_ms: measured.total_ms,
        total_deviation_percent: deviation(total, measured.total_ms),
        copies: predicted.strategy.copies(),
    }
}

/// In percent of what was measured.
fn deviation(predicted: f64, measured: f64) -> Option<f64> {
    (measured > 0.0).then(|| 100.0 * (predicted / measured - 1.0))
}
