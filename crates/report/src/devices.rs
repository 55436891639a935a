//! The catalogue of devices for a terminal.

use octavo_device::{
    catalog::{Compared, Entry, Figure, Published, Relation},
    fit::Fit,
};

use crate::page::wrapped;

/// The devices, one a line.
pub fn devices(entries: &[Entry], width: usize) -> String {
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            vec![
                entry.name.clone(),
                entry.model().name().to_owned(),
                entry.study.clone().unwrap_or_default(),
                entry.title.clone(),
            ]
        })
        .collect();
    format!(
        "{}\noctavo devices show NAME tells where its numbers come from and what they lead to\n",
        wrapped(&["name", "model", "study", "what it is"], &rows, width)
    )
}

/// One device: its parameters with their sources, and the published figures
/// beside those of the model.
pub fn described(entry: &Entry, compared: &[Compared], width: usize) -> String {
    let parameters: Vec<Vec<String>> = entry
        .parameters()
        .into_iter()
        .map(|parameter| vec![parameter.key, parameter.value, parameter.source])
        .collect();
    let mut text = format!(
        "{}: {}\n\n{}",
        entry.name,
        entry.title,
        wrapped(&["parameter", "value", "source"], &parameters, width)
    );
    if compared.is_empty() {
        return text;
    }
    text.push_str("\nPublished figures, and what the model makes of them:\n");
    let rows: Vec<Vec<String>> = compared.iter().map(row).collect();
    text.push_str(&wrapped(
        &["figure", "published", "model", "off by", "source"],
        &rows,
        width,
    ));
    let errors: Vec<f64> = compared.iter().map(|one| one.error.abs()).collect();
    text.push_str(&format!(
        "off by {:.1} % on average, by {:.1} % at most\n",
        errors.iter().sum::<f64>() / errors.len() as f64 * 100.0,
        errors.iter().copied().fold(0.0, f64::max) * 100.0
    ));
    text
}

/// A twin of measured storage: how far it is off at each point.
pub fn twin(fit: &Fit, width: usize) -> String {
    let rows: Vec<Vec<String>> = fit
        .points
        .iter()
        .map(|point| {
            vec![
                point.spec.to_string(),
                figure(point.measured_iops.get()),
                figure(point.twin_iops.get()),
                format!("{:+.1} %", point.error * 100.0),
                if point.held_out { "held out" } else { "fitted" }.into(),
            ]
        })
        .collect();
    let held_out = match fit.held_out_median_error {
        Some(error) => format!(
            ", {:.1} % at points that the fit did not see",
            error * 100.0
        ),
        None => String::new(),
    };
    let apart = match fit.passes_apart {
        Some(apart) => format!(
            "; the storage's own passes lie {:.0} % apart at half of the points",
            apart * 100.0
        ),
        None => String::new(),
    };
    format!(
        "{}: {}\n\n{}\nhalf of the points are off by at most {:.1} %{held_out}{apart}\n",
        fit.entry.name,
        fit.entry.title,
        wrapped(
            &["point", "measured IOPS", "twin IOPS", "off by", ""],
            &rows,
            width
        ),
        fit.median_error * 100.0
    )
}

fn row(compared: &Compared) -> Vec<String> {
    let Compared {
        published,
        simulated,
        error,
    } = compared;
    vec![
        what(published),
        format!(
            "{}{} {}",
            match published.relation {
                Relation::About => "",
                Relation::AtLeast => "at least ",
                Relation::AtMost => "at most ",
            },
            figure(published.value),
            unit(published)
        ),
        figure(*simulated),
        match published.relation {
            Relation::AtLeast | Relation::AtMost if *error == 0.0 => "holds".into(),
            _ => format!("{:+.1} %", error * 100.0),
        },
        published.source.clone(),
    ]
}

fn what(published: &Published) -> String {
    let at = &published.at;
    match (&published.over, &published.over_device) {
        (None, _) => at.to_string(),
        (Some(over), None) => format!("{at} over {over}"),
        (Some(over), Some(device)) => format!("{at} over {over} of {device}"),
    }
}

fn unit(published: &Published) -> &'static str {
    match (&published.over, published.figure) {
        (Some(_), _) => "times",
        (None, Figure::Iops) => "IOPS",
        (None, Figure::LatencyMs) => "ms",
        (None, Figure::MbPerS) => "MB/s",
    }
}

/// Three to four digits.
fn figure(value: f64) -> String {
    match value.abs() {
        0.0..10.0 => format!("{value:.3}"),
        10.0..1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use octavo_device::catalog;

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
    fn figures_stand_beside_published_ones() {
        let entry = catalog::find("instant").unwrap();
        let text = described(&entry, &[compared(Relation::About, -0.02)], 100);
        assert!(text.contains("constant.latency_us"), "{text}");
        assert!(text.contains("10300 IOPS  10094"), "{text}");
        assert!(text.contains("-2.0 %"), "{text}");
        assert!(text.contains("off by 2.0 % on average"), "{text}");
        let text = described(&entry, &[compared(Relation::AtLeast, 0.0)], 100);
        assert!(text.contains("at least 10300 IOPS"), "{text}");
        assert!(text.contains("holds"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }
}
