//! The simplex search of Nelder and Mead (The Computer Journal 7(4), 1965): a
//! minimum without derivatives, which a simulated figure does not have.

/// Searches from `start`, the first steps being `step` in each direction, with
/// about `evaluations` calls of `cost`, and gives the best place and its cost.
/// Costs that are not numbers count as infinite.
///
/// # Errors
/// The first that `cost` gives.
pub(super) fn minimise<E>(
    start: &[f64],
    step: f64,
    evaluations: usize,
    cost: &mut dyn FnMut(&[f64]) -> Result<f64, E>,
) -> Result<(Vec<f64>, f64), E> {
    let mut used = 0;
    let mut cost = |place: &[f64]| -> Result<f64, E> {
        used += 1;
        let cost = cost(place)?;
        Ok(if cost.is_nan() { f64::INFINITY } else { cost })
    };
    let dimensions = start.len();
    let mut simplex = vec![(start.to_vec(), cost(start)?)];
    for axis in 0..dimensions {
        let mut place = start.to_vec();
        place[axis] += step;
        let value = cost(&place)?;
        simplex.push((place, value));
    }
    let mut calls = simplex.len();
    loop {
        // Stable: ties keep their order, so that a search replays.
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        if calls >= evaluations {
            return Ok(simplex.swap_remove(0));
        }
        let (best, worst) = (simplex[0].1, simplex[dimensions].1);
        let second = simplex[dimensions - 1].1;
        let centre: Vec<f64> = (0..dimensions)
            .map(|axis| {
                let sum: f64 = simplex[..dimensions]
                    .iter()
                    .map(|(place, _)| place[axis])
                    .sum();
                sum / dimensions as f64
            })
            .collect();
        // From the worst place through the centre: 1 is as far beyond.
        let along = |distance: f64| -> Vec<f64> {
            let from = &simplex[dimensions].0;
            let axis = |(centre, from): (&f64, &f64)| centre + distance * (centre - from);
            centre.iter().zip(from).map(axis).collect()
        };
        let reflected = along(1.0);
        let value = cost(&reflected)?;
        calls += 1;
        if value < best {
            let expanded = along(2.0);
            let further = cost(&expanded)?;
            calls += 1;
            simplex[dimensions] = if further < value {
                (expanded, further)
            } else {
                (reflected, value)
            };
            continue;
        }
        if value < second {
            simplex[dimensions] = (reflected, value);
            continue;
        }
        let contracted = along(if value < worst { 0.5 } else { -0.5 });
        let nearer = cost(&contracted)?;
        calls += 1;
        if nearer < value.min(worst) {
            simplex[dimensions] = (contracted, nearer);
            continue;
        }
        let towards = simplex[0].0.clone();
        for (place, known) in &mut simplex[1..] {
            for (axis, best) in place.iter_mut().zip(&towards) {
                *axis = best + (*axis - best) / 2.0;
            }
            *known = cost(place)?;
            calls += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_valley_of_rosenbrock_is_followed_to_its_end() {
        let mut calls = 0;
        let mut valley = |place: &[f64]| {
            calls += 1;
            let (x, y) = (place[0], place[1]);
            Ok::<f64, ()>((1.0 - x) * (1.0 - x) + 100.0 * (y - x * x) * (y - x * x))
        };
        let (place, cost) = minimise(&[-1.2, 1.0], 0.5, 300, &mut valley).unwrap();
        assert!(cost < 1e-8, "{cost} at {place:?}");
        assert!((300..=303).contains(&calls));
    }

    #[test]
    fn the_search_avoids_nan_costs_and_returns_errors() {
        let mut half = |place: &[f64]| Ok::<f64, ()>((place[0] - 0.1).sqrt());
        let (place, _) = minimise(&[3.0], 1.0, 200, &mut half).unwrap();
        assert!((place[0] - 0.1).abs() < 1e-3);
        assert_eq!(minimise(&[3.0], 1.0, 50, &mut |_| Err(7)).unwrap_err(), 7);
    }
}
