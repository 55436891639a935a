//! Throughput by what is compared, one curve a group; and by clients, where
//! these vary and something else is compared.

use octavo_experiment::{
    findings::{CellFindings, Findings},
    plan::Factor,
};

use super::{
    lines::{Curve, Dot, Lines},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    naming,
    number::{ends, is_bounded, join, number, plain},
};

pub(super) fn draw(findings: &Findings) -> Option<Figure> {
    let curve = |group: &_| {
        let group: &octavo_experiment::findings::GroupFindings = group;
        let cells = group.cells.iter().enumerate();
        let dots = cells.filter_map(|(place, cell)| dot(findings, cell, place));
        Curve {
            name: naming::group(group).to_owned(),
            dots: dots.collect(),
        }
    };
    let curves = naming::groups(findings).into_iter().map(curve).collect();
    let compared = findings.plan.compare.noun();
    over(findings, (compared, naming::places(findings)), curves)
}

/// One curve for each level of what is compared in each group that differs in
/// more than the clients.
pub(super) fn by_clients(findings: &Findings) -> Option<Figure> {
    let plan = &findings.plan;
    if plan.compare == Factor::Clients || plan.count(Factor::Clients) < 2 {
        return None;
    }
    let mut clients = plan.clients.clone();
    clients.sort_unstable();
    let mut curves: Vec<Curve> = Vec::new();
    for cell in naming::cells(findings) {
        let own = cell.cell.clients;
        let place = clients.iter().position(|&clients| clients == own)?;
        let levels = [plan.compare]
            .into_iter()
            .chain(plan.varied())
            .filter(|&factor| factor != Factor::Clients)
            .map(|factor| plan.level(&cell.cell, factor).with_noun());
        let name = join(levels, ", ");
        let dot = dot(findings, cell, place);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.dots.extend(dot),
            None => curves.push(Curve {
                name,
                dots: dot.into_iter().collect(),
            }),
        }
    }
    let places = clients.iter().map(u32::to_string).collect();
    over(findings, ("clients", places), curves)
}

fn over(findings: &Findings, places: (&str, Vec<String>), curves: Vec<Curve>) -> Option<Figure> {
    let shown = naming::shown(findings);
    let chart = Lines {
        title: format!("{} by {}, in {}", shown.what, places.0, shown.in_full),
        caption: match naming::cells(findings)
            .any(|cell| shown.of(cell).as_ref().is_some_and(is_bounded))
        {
            true if findings.is_over_hosts() => {
                "Whiskers are the 95% CI of each cell's mean over hosts (Student's t), with how far hosts \
                 are apart. Compare cells by their ratios instead."
                    .into()
            }
            true => {
                "Whiskers are the 95% CI of each cell's level over the minutes of all, with the \
                     drift of the machine. Compare cells by their ratios instead."
                    .into()
            }
            false => "No cell has an interval yet.".into(),
        },
        places,
        values: &shown.in_short,
        curves,
    };
    chart.draw(|values| Scale::from_zero(values, Round::Tens, plain))
}

/// A cell's throughput with its interval.
fn dot(findings: &Findings, cell: &CellFindings, place: usize) -> Option<Dot> {
    let shown = naming::shown(findings);
    let value = shown.of(cell)?;
    let interval = is_bounded(&value).then_some((value.low, value.high));
    Some(Dot {
        place,
        value: value.estimate,
        interval,
        tip: format!(
            "{}: {} {} ({})",
            findings.plan.cell_name(&cell.cell),
            number(value.estimate),
            shown.in_short,
            ends(&value, number),
        ),
    })
}
