//! Throughput over clients, where these vary and something else is compared:
//! one curve for each level of what is compared in each group that differs in
//! more than the clients. Where clients are compared, the chart of throughput
//! is this one already.

use octavo_experiment::{findings::Findings, plan::Factor};

use super::{
    lines::Curve,
    throughput::{dot, over},
};
use crate::document::Figure;

pub(super) fn draw(findings: &Findings) -> Option<Figure> {
    let plan = &findings.plan;
    if plan.compare == Factor::Clients || plan.count(Factor::Clients) < 2 {
        return None;
    }
    let mut clients = plan.clients.clone();
    clients.sort_unstable();
    let mut curves: Vec<Curve> = Vec::new();
    for cell in findings.groups.iter().flat_map(|group| &group.cells) {
        let place = clients
            .iter()
            .position(|&clients| clients == cell.cell.clients)?;
        let levels: Vec<String> = [plan.compare]
            .into_iter()
            .chain(plan.varied())
            .filter(|&factor| factor != Factor::Clients)
            .map(|factor| plan.level(&cell.cell, factor).with_noun())
            .collect();
        let name = levels.join(", ");
        let index = curves
            .iter()
            .position(|curve| curve.name == name)
            .unwrap_or_else(|| {
                curves.push(Curve {
                    name,
                    dots: Vec::new(),
                });
                curves.len() - 1
            });
        curves[index].dots.extend(dot(findings, cell, place));
    }
    for curve in &mut curves {
        curve.dots.sort_by_key(|dot| dot.place);
    }
    let places = clients.iter().map(u32::to_string).collect();
    over(findings, "clients", places, curves)
}
