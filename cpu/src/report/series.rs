//! Samples of one quantity and what they come to.

use std::time::Duration;

use serde::Serialize;

/// Times in milliseconds, in the order measured.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// The middle sample, or the mean of the two in the middle.
    pub median: f64,
    /// A quarter of the samples are at most this.
    pub lower_quartile: f64,
    /// A quarter of the samples are at least this.
    pub upper_quartile: f64,
    /// The smallest.
    pub minimum: f64,
    /// The largest.
    pub maximum: f64,
    /// All of them.
    pub samples: Vec<f64>,
}

impl Series {
    /// Sums up durations; none at all come to zeros.
    pub fn of(durations: impl IntoIterator<Item = Duration>) -> Self {
        let samples: Vec<f64> = durations.into_iter().map(|duration| duration.as_secs_f64() * 1e3).collect();
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        Self {
            median: quantile(&sorted, 0.5),
            lower_quartile: quantile(&sorted, 0.25),
            upper_quartile: quantile(&sorted, 0.75),
            minimum: quantile(&sorted, 0.0),
            maximum: quantile(&sorted, 1.0),
            samples,
        }
    }

    /// Half the distance between the quartiles: half of all samples lie within about this much of the median.
    pub fn spread(&self) -> f64 {
        (self.upper_quartile - self.lower_quartile) / 2.0
    }
}

/// Linear interpolation between the two nearest ranks.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let rank = at * last as f64;
    let (below, above) = (rank.floor() as usize, rank.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * (rank - rank.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(milliseconds: &[u64]) -> Series {
        Series::of(milliseconds.iter().map(|&ms| Duration::from_millis(ms)))
    }

    #[test]
    fn an_outlier_moves_the_maximum_and_not_the_median() {
        let with = series(&[10, 11, 9, 10, 1000]);
        assert_eq!((with.median, with.maximum, with.minimum), (10.0, 1000.0, 9.0));
        assert_eq!(with.spread(), 0.5);
        assert_eq!(with.samples, [10.0, 11.0, 9.0, 10.0, 1000.0], "in the order measured");
    }

    #[test]
    fn few_samples() {
        assert_eq!(series(&[]).median, 0.0);
        assert_eq!((series(&[7]).median, series(&[7]).spread()), (7.0, 0.0));
        assert_eq!(series(&[2, 4]).median, 3.0);
    }
}
