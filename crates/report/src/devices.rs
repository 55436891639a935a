//! Reports of the catalog of devices and of twins.

use octavo_device::{
    catalog::{Compared, Entry, Figure, Parameter, Published, Relation, machine::MachineEntry},
    fit::Fit,
};

use crate::{
    document::{Block, Document, Section, Table},
    number::{number, off_by, percent, percent_fine},
};

/// The devices, one a line.
pub fn devices(entries: &[Entry]) -> Document {
    let table = Table::with_rows("", entries)
        .label("name", |entry| entry.name.clone())
        .words("model", |entry| entry.model().name())
        .prose("study", |entry| entry.study.clone().unwrap_or_default())
        .prose("device", |entry| entry.title.clone());
    let mut section = Section::new("devices", "");
    section.push(Block::Table(table.build()));
    section.push(Block::Commands {
        purpose: "Sources and published figures of one".into(),
        statements: vec!["octavo devices show NAME".into()],
    });
    Document::new("Devices", [section])
}

/// The machines, one a line, then where their numbers come from.
pub fn machines(entries: &[MachineEntry]) -> Document {
    let table = Table::with_rows("", entries)
        .label("name", |entry| entry.name.clone())
        .figure("processors", |entry| entry.processors.to_string())
        .figure("W idle", |entry| number(*entry.idle_w))
        .figure("W per busy CPU", |entry| number(*entry.cpu_w))
        .prose("study", |entry| entry.study.clone().unwrap_or_default())
        .prose("machine", |entry| entry.title.clone());
    let mut section = Section::new("machines", "");
    section.push(Block::Table(table.build()));
    let sources: Vec<(&str, Parameter)> = entries
        .iter()
        .flat_map(|entry| {
            let parameters = entry.parameters().into_iter();
            parameters.map(|parameter| (&*entry.name, parameter))
        })
        .collect();
    let sources = Table::with_rows("Where the numbers come from", &sources)
        .label("name", |(name, _)| (*name).to_owned())
        .prose("number", |(_, of)| format!("{} = {}", of.key, of.value))
        .prose("source", |(_, of)| of.source.clone());
    section.push(Block::Table(sources.build()));
    section.push(Block::Commands {
        purpose: "Joules a transaction of a whole machine".into(),
        statements: vec!["octavo predict --device DEVICE --machine NAME".into()],
    });
    Document::new("Machines", [section])
}

/// One device: its parameters with their sources, and the published figures
/// beside those of the model.
pub fn described(entry: &Entry, compared: &[Compared]) -> Document {
    let title = format!("{}: {}", entry.name, entry.title);
    let mut section = Section::new("device", "");
    section.paragraph(&title);
    let parameters = entry.parameters();
    let parameters = Table::with_rows("", &parameters)
        .label("parameter", |of| of.key.clone())
        .prose("value", |of| of.value.clone())
        .prose("source", |of| of.source.clone());
    section.push(Block::Table(parameters.build()));
    if compared.is_empty() {
        return Document::new(title, [section]);
    }
    let errors: Vec<f64> = compared.iter().map(|of| of.error.abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let most = errors.iter().copied().fold(0.0, f64::max);
    let caption = format!(
        "Published figures and the model's: off by {} on average, {} at most",
        percent_fine(mean),
        percent_fine(most)
    );
    let figures = Table::with_rows(caption, compared)
        .prose("figure", |of| what(&of.published))
        .words("published", |of| published(&of.published))
        .figure("model", |of| number(of.simulated))
        .figure("off by", |of| match of.published.relation {
            Relation::AtLeast | Relation::AtMost if of.error == 0.0 => "holds".into(),
            _ => off_by(of.error),
        })
        .prose("source", |of| of.published.source.clone());
    section.push(Block::Table(figures.build()));
    Document::new(title, [section])
}

/// A twin of measured storage: how far it is off at each point.
pub fn twin(fit: &Fit) -> Document {
    let title = format!("{}: {}", fit.entry.name, fit.entry.title);
    let mut section = Section::new("twin", "");
    section.paragraph(&title);
    let mut values = vec![("median error", percent_fine(fit.median_error))];
    if let Some(error) = fit.held_out_median_error {
        values.push(("held-out median error", percent_fine(error)));
    }
    if let Some(apart) = fit.passes_apart {
        values.push((
            "storage's own passes",
            format!("median {} apart", percent(apart)),
        ));
    }
    section.values(values);
    let points = Table::with_rows("", &fit.points)
        .label("point", |point| point.spec.to_string())
        .figure("measured IOPS", |point| number(point.measured_iops.get()))
        .figure("twin IOPS", |point| number(point.twin_iops.get()))
        .figure("off by", |point| off_by(point.error))
        .words("point was", |point| {
            if point.held_out { "held out" } else { "fitted" }
        });
    section.push(Block::Table(points.build()));
    Document::new(title, [section])
}

fn published(published: &Published) -> String {
    let relation = match published.relation {
        Relation::About => "",
        Relation::AtLeast => "at least ",
        Relation::AtMost => "at most ",
    };
    let unit = match (&published.over, published.figure) {
        (Some(_), _) => "times",
        (None, Figure::Iops) => "IOPS",
        (None, Figure::LatencyMs) => "ms",
        (None, Figure::MbPerS) => "MB/s",
    };
    format!("{relation}{} {unit}", number(published.value))
}

fn what(published: &Published) -> String {
    let at = &published.at;
    match (&published.over, &published.over_device) {
        (None, _) => at.to_string(),
        (Some(over), None) => format!("{at} over {over}"),
        (Some(over), Some(device)) => format!("{at} over {over} of {device}"),
    }
}

#[cfg(test)]
mod tests {
    use octavo_device::catalog::{self, machine};

    use super::*;

    fn compared(relation: Relation, error: f64) -> Compared {
        Compared {
            published: Published {
                at: "random read 8K, depth 32, range 16GiB".parse().unwrap(),
                figure: Figure::Iops,
                over: None,
                over_device: None,
                relation,
                value: 10_300.0,
                source: "Lee, Moon, Park 2009, section 3".into(),
            },
            simulated: 10_300.0 * (1.0 + error),
            error,
        }
    }

    #[test]
    fn machines_come_with_their_sources() {
        let entries: Vec<MachineEntry> = machine::names()
            .map(|name| machine::find(name).unwrap())
            .collect();
        let text = machines(&entries).terminal(100, false);
        for said in ["lee-2009", "113.1", "10.95", "server-2021", "assumed"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn figures_stand_beside_published_ones() {
        let entry = catalog::find("instant").unwrap();
        let text = described(&entry, &[compared(Relation::About, -0.02)]).terminal(100, false);
        assert!(text.contains("constant.latency_us"), "{text}");
        assert!(text.contains("10,300 IOPS  10,100"), "{text}");
        assert!(text.contains("-2.0%"), "{text}");
        assert!(text.contains("off by 2.0% on average"), "{text}");
        let text = described(&entry, &[compared(Relation::AtLeast, 0.0)]).terminal(100, false);
        assert!(text.contains("at least 10,300 IOPS"), "{text}");
        assert!(text.contains("holds"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }
}
