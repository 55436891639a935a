//! The device's curves: rate by request size and by queue depth, latency by
//! queue depth. Random requests over the whole file.

use std::collections::BTreeSet;

use octavo_device::{
    point::Durability,
    profile::{Point, Profile},
    request::{Mix, Pattern},
};
use octavo_units::QueueDepth;

use super::{
    Figure,
    lines::{Curve, Dot, Lines, Scale, plain},
};
use crate::{
    number::{number, time},
    svg::Round,
};

pub(super) fn draw(profile: &Profile) -> Vec<Figure> {
    [by_size(profile), by_depth(profile), latency(profile)]
        .into_iter()
        .flatten()
        .collect()
}

fn usable(profile: &Profile) -> impl Iterator<Item = &Point> {
    profile.points.iter().filter(|point| {
        let spec = &point.spec;
        spec.pattern == Pattern::Random
            && spec.range == profile.file_bytes
            && spec.durability == Durability::Device
            && spec.mix.only().is_some()
    })
}

fn kind(mix: Mix) -> &'static str {
    if mix == Mix::READ { "reads" } else { "writes" }
}

fn conditions(profile: &Profile) -> String {
    let steady = if profile.points.iter().all(Point::is_steady) {
        "all points steady"
    } else {
        "some points not steady"
    };
    format!(
        "random requests over a file of {}, {}, {}, {} points, {steady}; latency from submission \
         to completion",
        profile.file_bytes,
        profile.access,
        profile.engine,
        profile.points.len()
    )
}

fn by_size(profile: &Profile) -> Option<Figure> {
    let sizes: BTreeSet<u32> = usable(profile)
        .map(|point| point.spec.request_size.get())
        .collect();
    let places: Vec<u32> = sizes.into_iter().collect();
    let mut curves = Vec::new();
    for mix in [Mix::READ, Mix::WRITE] {
        let depths: BTreeSet<QueueDepth> = usable(profile)
            .filter(|point| point.spec.mix == mix)
            .map(|point| point.spec.depth)
            .collect();
        for depth in depths {
            let dots: Vec<Dot> = usable(profile)
                .filter(|point| point.spec.mix == mix && point.spec.depth == depth)
                .filter_map(|point| {
                    let bytes = point.spec.request_size.get();
                    Some(dot(
                        places.iter().position(|other| *other == bytes)?,
                        point,
                        point.iops.get(),
                    ))
                })
                .collect();
            // A depth that was measured at one size belongs to the other
            // chart.
            if dots.len() > 1 {
                curves.push(Curve {
                    name: format!("{}, depth {depth}", kind(mix)),
                    dots: sorted(dots),
                });
            }
        }
    }
    let title = "Device: IOPS by request size";
    let chart = Lines {
        places: places.iter().map(u32::to_string).collect(),
        x_label: "request size in bytes",
        y_label: "IOPS",
        scale: Scale::Logarithmic,
        round: Round::Tens,
        label: plain,
        curves,
    };
    Some(Figure::new(
        title,
        chart.draw(title)?,
        format!("Logarithmic scale. Conditions: {}.", conditions(profile)),
    ))
}

fn by_depth(profile: &Profile) -> Option<Figure> {
    let title = "Device: IOPS by queue depth";
    depth_chart(profile, title, "IOPS", plain, |point| point.iops.get())
}

fn latency(profile: &Profile) -> Option<Figure> {
    let title = "Device: mean latency by queue depth";
    depth_chart(profile, title, "mean latency", time_label, |point| {
        point.latency.us_mean
    })
}

fn time_label(us: f64) -> String {
    if us >= 1e3 {
        format!("{} ms", plain(us / 1e3))
    } else {
        format!("{} us", plain(us))
    }
}

fn depth_chart(
    profile: &Profile,
    title: &str,
    y_label: &str,
    label: fn(f64) -> String,
    value: fn(&Point) -> f64,
) -> Option<Figure> {
    let depths: BTreeSet<QueueDepth> = usable(profile).map(|point| point.spec.depth).collect();
    let places: Vec<QueueDepth> = depths.into_iter().collect();
    // The size with the most depths; of equal ones the smallest.
    let depths_at = |size| {
        usable(profile)
            .filter(|point| point.spec.request_size == size)
            .map(|point| point.spec.depth)
            .collect::<BTreeSet<_>>()
            .len()
    };
    let sizes: BTreeSet<_> = usable(profile)
        .map(|point| point.spec.request_size)
        .collect();
    let size = sizes
        .into_iter()
        .rev()
        .max_by_key(|size| depths_at(*size))?;
    if depths_at(size) < 2 {
        return None;
    }
    let curves = [Mix::READ, Mix::WRITE]
        .into_iter()
        .map(|mix| Curve {
            name: format!("{} of {size}", kind(mix)),
            dots: sorted(
                usable(profile)
                    .filter(|point| point.spec.mix == mix && point.spec.request_size == size)
                    .filter_map(|point| {
                        let place = places.iter().position(|depth| *depth == point.spec.depth)?;
                        Some(dot(place, point, value(point)))
                    })
                    .collect(),
            ),
        })
        .filter(|curve| !curve.dots.is_empty())
        .collect();
    let chart = Lines {
        places: places.iter().map(ToString::to_string).collect(),
        x_label: "queue depth: requests in flight",
        y_label,
        scale: Scale::Logarithmic,
        round: Round::Tens,
        label,
        curves,
    };
    Some(Figure::new(
        format!("{title}, requests of {size}"),
        chart.draw(title)?,
        format!("Logarithmic scale. Conditions: {}.", conditions(profile)),
    ))
}

fn sorted(mut dots: Vec<Dot>) -> Vec<Dot> {
    dots.sort_by_key(|dot| dot.place);
    dots
}

fn dot(place: usize, point: &Point, value: f64) -> Dot {
    Dot {
        place,
        value,
        interval: None,
        tip: format!(
            "{} of {} at depth {}: {} IOPS, mean {}, p99 {}{}",
            kind(point.spec.mix),
            point.spec.request_size,
            point.spec.depth,
            number(point.iops.get()),
            time(point.latency.us_mean),
            time(point.latency.us_p99),
            if point.is_steady() {
                ""
            } else {
                ", not steady"
            }
        ),
    }
}
