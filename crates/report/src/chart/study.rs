//! A study's figure drawn again: what models say beside what was published.

use octavo_study::{Axis, Drawn};

use super::{
    lines::{Curve, Dot, Lines},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    number::{number, plain},
};

pub(super) fn draw(drawn: &Drawn) -> Option<Figure> {
    let curves = drawn.curves.iter().map(|curve| Curve {
        name: curve.name.clone(),
        dots: curve
            .points
            .iter()
            .map(|&(place, value)| Dot {
                place,
                value,
                interval: None,
                tip: format!(
                    "{}, {}: {} {}",
                    curve.name,
                    drawn.places.get(place).map_or("", String::as_str),
                    number(value),
                    drawn.unit
                ),
            })
            .collect(),
    });
    let along = match drawn.along {
        Axis::PageSize => "page size",
        Axis::Memory => "buffer",
        Axis::Cpus => "CPUs",
        Axis::Clients => "clients",
        Axis::Device => "device",
    };
    let lines = Lines {
        title: drawn.title.clone(),
        caption: match drawn.curves.iter().any(|curve| curve.is_published) {
            true => "Predicted by models, beside what was published.",
            false => "Predicted by models. No published figures to compare with.",
        }
        .into(),
        places: (along, drawn.places.clone()),
        values: drawn.unit,
        curves: curves.collect(),
    };
    lines.draw(|values| Scale::from_zero(values, Round::Tens, plain))
}
