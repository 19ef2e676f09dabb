//! Times between and beyond the sizes at which they were measured.

/// Time over size. Between two measured sizes it is a straight line, which is exact for a latency and a rate; beyond the
/// largest the last rate goes on; below the smallest the first line does, as long as it leaves a time.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Ascending in size, never descending in time.
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// From sizes and times in any order. What is no size or no time is left out; where a larger size was measured to take
    /// less, it is taken to last as long as the smaller: noise, or the clock.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let usable = |&(size, time): &(f64, f64)| size.is_finite() && size > 0.0 && time.is_finite() && time >= 0.0;
        let mut points: Vec<(f64, f64)> = points.into_iter().filter(usable).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        points.dedup_by(|one, other| one.0 == other.0);
        let mut longest = 0.0f64;
        for (_, time) in &mut points {
            longest = longest.max(*time);
            *time = longest;
        }
        Self { points }
    }

    /// The time for a size, in the unit of the times; 0 for nothing. Absent where nothing was measured.
    pub fn at(&self, size: f64) -> Option<f64> {
        let (&first, &last) = (self.points.first()?, self.points.last()?);
        if size.is_nan() || size <= 0.0 {
            return Some(0.0);
        }
        if size >= last.0 {
            return Some(last.1 * (size / last.0));
        }
        let above = self.points.partition_point(|point| point.0 <= size);
        if above > 0 {
            return Some(line(self.points[above - 1], self.points[above], size));
        }
        // `size` lies below the first of at least two points, for it lies below the last.
        let intercept = self.points.get(1).map_or(0.0, |&second| line(first, second, 0.0));
        Some(if intercept > 0.0 { line((0.0, intercept), first, size) } else { first.1 * (size / first.0) })
    }
}

/// The straight line through two points.
fn line(one: (f64, f64), other: (f64, f64), at: f64) -> f64 {
    one.1 + (other.1 - one.1) * ((at - one.0) / (other.0 - one.0))
}

#[cfg(test)]
mod tests {
    use super::Curve;
    use proptest::prelude::*;

    #[test]
    fn a_latency_and_a_rate_are_met_exactly() {
        let time = |size: f64| 8.0 + size / 50.0;
        let curve = Curve::new([4096.0, 65536.0, 1048576.0].map(|size| (size, time(size))));
        for size in [1.0, 4096.0, 5000.0, 65536.0, 100_000.0, 1e6] {
            assert!((curve.at(size).unwrap() - time(size)).abs() < 1e-6, "{size}");
        }
        let (last, beyond) = (time(1048576.0), curve.at(4.0 * 1048576.0).unwrap());
        assert!((beyond - 4.0 * last).abs() < 1e-6, "the last rate goes on");
    }

    #[test]
    fn few_points_and_strange_ones() {
        assert_eq!(Curve::new([]).at(10.0), None);
        assert_eq!(Curve::new([(10.0, 2.0)]).at(5.0), Some(1.0));
        assert_eq!(Curve::new([(10.0, 2.0)]).at(0.0), Some(0.0));
        assert_eq!(Curve::new([(10.0, 2.0)]).at(f64::NAN), Some(0.0));
        let strange = [(f64::NAN, 1.0), (4.0, f64::INFINITY), (5.0, -1.0), (0.0, 3.0), (10.0, 2.0)];
        assert_eq!(Curve::new(strange).at(20.0), Some(4.0));
        assert!(Curve::new([(10.0, 2.0)]).at(1e300).unwrap().is_finite());
        let steep = Curve::new([(10.0, 1.0), (20.0, 9.0)]);
        assert_eq!(steep.at(5.0), Some(0.5), "a line that leaves no time below is not followed");
    }

    proptest! {
        #[test]
        fn more_never_takes_less(
            points in prop::collection::vec((1.0f64..1e9, 0.0f64..1e3), 1..12),
            sizes in prop::collection::vec(0.0f64..1e10, 2),
        ) {
            let curve = Curve::new(points);
            let (low, high) = (sizes[0].min(sizes[1]), sizes[0].max(sizes[1]));
            let (less, more) = (curve.at(low).unwrap(), curve.at(high).unwrap());
            prop_assert!(less >= 0.0 && less <= more * (1.0 + 1e-9) + 1e-9, "{low}: {less}, {high}: {more}");
        }
    }
}
