//! The device's curves: rate by request size and by queue depth, latency by
//! queue depth. Random requests over the whole file.

use std::collections::BTreeSet;

use octavo_device::{
    point::Durability,
    profile::{Point, Profile},
    request::{Mix, Pattern},
};
use octavo_units::{QueueDepth, RequestSize};

use super::lines::{Curve, Dot, Lines, Scale};
use crate::{
    document::Figure,
    number::{number, plain, plain_time, time},
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

fn caption(profile: &Profile) -> String {
    let steady = if profile.points.iter().all(Point::is_steady) {
        "all points steady"
    } else {
        "some points not steady"
    };
    format!(
        "Logarithmic scale. Random requests over a file of {}, {}, {}, {} points, {steady}. \
         Latency from submission to completion.",
        profile.file_bytes,
        profile.access,
        profile.engine,
        profile.points.len()
    )
}

fn by_size(profile: &Profile) -> Option<Figure> {
    let sizes: BTreeSet<RequestSize> = usable(profile)
        .map(|point| point.spec.request_size)
        .collect();
    let places: Vec<RequestSize> = sizes.into_iter().collect();
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
                    let size = point.spec.request_size;
                    let place = places.iter().position(|other| *other == size)?;
                    Some(dot(place, point, point.iops.get()))
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
    let chart = Lines {
        title: "Device: IOPS by request size".into(),
        places: places.iter().map(ToString::to_string).collect(),
        x_label: "request size",
        y_label: "IOPS",
        scale: Scale::Logarithmic,
        round: Round::Tens,
        label: plain,
        curves,
    };
    chart.draw(caption(profile))
}

fn by_depth(profile: &Profile) -> Option<Figure> {
    let title = "Device: IOPS by queue depth";
    depth_chart(profile, title, "IOPS", plain, |point| point.iops.get())
}

fn latency(profile: &Profile) -> Option<Figure> {
    let title = "Device: mean latency by queue depth";
    depth_chart(profile, title, "mean latency", plain_time, |point| {
        point.latency.us_mean
    })
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
        title: format!("{title}, requests of {size}"),
        places: places.iter().map(ToString::to_string).collect(),
        x_label: "queue depth",
        y_label,
        scale: Scale::Logarithmic,
        round: Round::Tens,
        label,
        curves,
    };
    chart.draw(caption(profile))
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
