//! What is said of curves: where they bend, where they are highest, what follows them.

/// Where a rising curve bends most towards level, as Satopaa et al. define a knee
/// ("Finding a 'Kneedle' in a Haystack", ICDCSW 2011): both axes from 0 to 1, where the curve
/// is farthest above its chord. `None` with fewer than three points or a curve that does not
/// rise.
pub(crate) fn knee(points: &[(f64, f64)]) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let (width, height) = (last.0 - first.0, last.1 - first.1);
    if points.len() < 3 || width <= 0.0 || height <= 0.0 {
        return None;
    }
    let above = |point: &(f64, f64)| (point.1 - first.1) / height - (point.0 - first.0) / width;
    let most = points.iter().max_by(|a, b| above(a).total_cmp(&above(b)))?;
    Some(most.0)
}

/// By which share a peak is above both ends of its curve at least: what throughput is known
/// to where studies say nothing else. Chosen.
const PEAK: f64 = 0.01;

/// Where a curve is highest; `None` where that is no more than [`PEAK`] above its ends, as
/// of one that is level.
pub(crate) fn peak(points: &[(f64, f64)]) -> Option<f64> {
    let most = points.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let ends = points.first()?.1.max(points.last()?.1);
    (most.1 - ends > PEAK * ends.abs()).then_some(most.0)
}

/// The share of steps that go up, or stay within a thousandth.
pub(crate) fn rising(points: &[(f64, f64)]) -> Option<f64> {
    let steps = points.windows(2);
    let count = steps.len();
    let up = steps.filter(|pair| pair[1].1 >= pair[0].1 * 0.999).count();
    (count > 0).then(|| up as f64 / count as f64)
}

/// The largest step upwards as a share of all of the rise.
pub(crate) fn steepest_step(points: &[(f64, f64)]) -> Option<f64> {
    let rise = points.last()?.1 - points.first()?.1;
    let steps = points.windows(2).map(|pair| pair[1].1 - pair[0].1);
    let most = steps.max_by(f64::total_cmp)?;
    (rise > 0.0).then(|| most / rise)
}

/// How well `a - b exp(-x / c)` follows a curve: 1 less the share of variance that the best
/// one leaves. For each `c` of a grid the others follow by least squares.
pub(crate) fn saturating(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 4 {
        return None;
    }
    let count = points.len() as f64;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let variance: f64 = points.iter().map(|point| (point.1 - mean_y).powi(2)).sum();
    if variance == 0.0 {
        return None;
    }
    let width = points.last()?.0 - points.first()?.0;
    let left = |scale: f64| {
        let u = |x: f64| -(-(x - points[0].0) / scale).exp();
        let mean_u = points.iter().map(|point| u(point.0)).sum::<f64>() / count;
        let (mut uu, mut uy) = (0.0, 0.0);
        for (x, y) in points {
            uu += (u(*x) - mean_u).powi(2);
            uy += (u(*x) - mean_u) * (y - mean_y);
        }
        // One that falls towards its end saturates at nothing.
        if uy <= 0.0 {
            1.0
        } else {
            1.0 - uy * uy / (uu * variance)
        }
    };
    let scales = (1..=200).map(|step| width * f64::from(step) / 100.0);
    let best = scales.map(left).min_by(f64::total_cmp)?;
    Some(1.0 - best)
}

/// Of a rise, the share that may be left where a curve counts as level. Chosen.
const LEVEL: f64 = 0.1;

/// From where on no more than [`LEVEL`] of the rise is left; `None` of a curve that does not
/// rise.
pub(crate) fn level(points: &[(f64, f64)]) -> Option<f64> {
    let (first, last) = (points.first()?.1, points.last()?.1);
    let from = last - LEVEL * (last - first);
    let below = points.iter().rposition(|point| point.1 < from);
    let place = points.get(below.map_or(0, |below| below + 1))?;
    (last > first).then_some(place.0)
}

/// The highest less the lowest.
pub(crate) fn width(values: &[f64]) -> Option<f64> {
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    Some(most - least)
}

/// The highest over the lowest, less 1.
pub(crate) fn spread(values: &[f64]) -> Option<f64> {
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    (least > 0.0).then(|| most / least - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (2..=12)
            .map(|x| (f64::from(x), value(f64::from(x))))
            .collect()
    }

    #[test]
    fn a_curve_that_is_level_from_eight_on_bends_there() {
        assert_eq!(knee(&curve(|x| x.min(8.0))), Some(8.0));
        assert_eq!(knee(&curve(|x| -x)), None);
        assert_eq!(peak(&curve(|x| 40.0 - (x - 6.0).powi(2))), Some(6.0));
        // Level but for noise, and one that only rises: neither has a peak.
        assert_eq!(peak(&curve(|x| if x == 7.0 { 100.9 } else { 100.0 })), None);
        assert_eq!(peak(&curve(|x| x)), None);
        assert_eq!(rising(&curve(|x| x)), Some(1.0));
        assert_eq!(rising(&curve(|x| -x)), Some(0.0));
    }

    #[test]
    fn an_exponential_is_followed_and_a_step_is_not() {
        let saturating_curve = saturating(&curve(|x| 1.0 - 0.5 * (-x / 3.0).exp())).unwrap();
        assert!(saturating_curve > 0.9999, "{saturating_curve}");
        let step = saturating(&curve(|x| if x < 9.0 { 0.1 } else { 1.0 })).unwrap();
        assert!(step < 0.8, "{step}");
        assert_eq!(
            steepest_step(&curve(|x| if x < 9.0 { 0.0 } else { 1.0 })),
            Some(1.0)
        );
        let falling = saturating(&curve(|x| -x)).unwrap();
        assert!(falling < 0.01, "{falling}");
    }

    #[test]
    fn a_spread_is_of_the_ends() {
        assert!((spread(&[10.0, 10.3, 10.1]).unwrap() - 0.03).abs() < 1e-12);
        assert_eq!(spread(&[]), None);
        assert_eq!((width(&[3.0, 1.0, 2.5]), width(&[])), (Some(2.0), None));
        // From 2 to 12 a tenth of the rise is left at 11.
        assert_eq!(level(&curve(|x| x)), Some(11.0));
        assert_eq!(level(&curve(|x| x.min(8.0))), Some(8.0));
        assert_eq!(level(&curve(|x| -x)), None);
    }
}
