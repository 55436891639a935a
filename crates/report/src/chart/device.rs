//! The device's curves: rate by request size and by queue depth, latency by
//! queue depth. Random requests over the whole file.

use std::collections::BTreeSet;

use octavo_device::{
    point::{Durability, PointSpec},
    profile::{Point, Profile},
    request::Mix,
    request::Pattern,
};

use super::{
    lines::{Curve, Dot, Lines},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    number::{number, plain, plain_time, time},
    profile::plus_minus,
};

pub(super) fn draw(profile: &Profile) -> Vec<Figure> {
    let points: Vec<&Point> = profile
        .points
        .iter()
        .filter(|of| is_usable(of, profile))
        .collect();
    let rate = ("IOPS", plain as fn(f64) -> String);
    let by_size = over(
        profile,
        "Device: IOPS by request size",
        ("request size", |of| {
            (
                u64::from(of.request_size.get()),
                of.request_size.to_string(),
            )
        }),
        rate,
        &points,
        |of| format!("{}, depth {}", kind(of.mix), of.depth),
        |point| point.iops.get(),
    );
    // The size with the most depths; of equal ones the smallest.
    let sizes: BTreeSet<_> = points.iter().map(|of| of.spec.request_size).collect();
    let at = |size| -> Vec<&Point> {
        let points = points.iter().copied();
        points.filter(|of| of.spec.request_size == size).collect()
    };
    let size = sizes.into_iter().rev().max_by_key(|&size| at(size).len());
    let points = size.map(at).unwrap_or_default();
    let depth = |of: &PointSpec| (u64::from(of.depth.get()), of.depth.to_string());
    let of_size = |of: &PointSpec| format!("{} of {}", kind(of.mix), of.request_size);
    let by_depth = |title, values, value| {
        let places = ("queue depth", depth as AxisPlace);
        over(profile, title, places, values, &points, of_size, value)
    };
    let latency = ("mean latency", plain_time as fn(f64) -> String);
    let all = [
        by_size,
        by_depth("Device: IOPS by queue depth", rate, |of| of.iops.get()),
        by_depth("Device: mean latency by queue depth", latency, |of| {
            of.latency.us_mean
        }),
    ];
    all.into_iter().flatten().collect()
}

fn is_usable(point: &Point, profile: &Profile) -> bool {
    let spec = &point.spec;
    spec.pattern == Pattern::Random
        && spec.range == profile.file_bytes
        && spec.durability == Durability::Device
        && spec.mix.only().is_some()
}

fn kind(mix: Mix) -> &'static str {
    if mix == Mix::READ { "reads" } else { "writes" }
}

/// A place along the horizontal scale, to sort by, and its name.
type AxisPlace = fn(&PointSpec) -> (u64, String);

/// Curves of points; one that has a single point belongs to another chart.
fn over(
    profile: &Profile,
    title: &str,
    (what, place): (&str, AxisPlace),
    (values, words): (&str, fn(f64) -> String),
    points: &[&Point],
    name: impl Fn(&PointSpec) -> String,
    value: fn(&Point) -> f64,
) -> Option<Figure> {
    let places: BTreeSet<(u64, String)> = points.iter().map(|of| place(&of.spec)).collect();
    let places: Vec<(u64, String)> = places.into_iter().collect();
    let mut curves: Vec<Curve> = Vec::new();
    for point in points {
        let own = place(&point.spec);
        let name = name(&point.spec);
        let dot = Dot {
            place: places.iter().position(|of| *of == own)?,
            value: value(point),
            interval: None,
            tip: describe(profile, point),
        };
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.dots.push(dot),
            None => curves.push(Curve {
                name,
                dots: vec![dot],
            }),
        }
    }
    curves.retain(|curve| curve.dots.len() > 1);
    curves.sort_by(|a, b| a.name.cmp(&b.name));
    let steady = match profile.points.iter().any(|of| profile.is_unsteady(of)) {
        true => ", some points not steady",
        false => "",
    };
    let chart = Lines {
        title: title.into(),
        caption: format!(
            "Logarithmic scale. Random requests over a file of {}, {}, {}{steady}.",
            profile.file_bytes, profile.access, profile.engine,
        ),
        places: (what, places.into_iter().map(|(_, name)| name).collect()),
        values,
        curves,
    };
    chart.draw(|values| Scale::logarithmic(values, Round::Tens, words))
}

fn describe(profile: &Profile, point: &Point) -> String {
    let margin = profile.margin(point);
    let margin = margin.map_or_else(String::new, |margin| format!(" ({})", plus_minus(margin)));
    format!(
        "{} of {} at depth {}: {} IOPS{margin}, mean {}, p99 {}{}",
        kind(point.spec.mix),
        point.spec.request_size,
        point.spec.depth,
        number(point.iops.get()),
        time(point.latency.us_mean),
        time(point.latency.us_p99),
        match profile.is_unsteady(point) {
            true => ", not steady",
            false => "",
        }
    )
}
