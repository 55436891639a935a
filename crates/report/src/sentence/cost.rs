//! What the change of the user's own database takes: what to type in which order, and the time,
//! space and log that copies took here.

use std::collections::BTreeSet;

use octavo_database::DatabaseKind;
use octavo_experiment::{
    findings::{Findings, GroupFindings},
    plan::Cell,
    store::StoredSnapshot,
};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::user::CopyOf;

use super::limits::wanted;
use crate::{
    document::Block,
    naming,
    number::{counted, seconds},
};

/// What to type for another page size of the user's own database, in its order.
pub(super) fn steps(
    kind: &DatabaseKind,
    cell: &Cell,
    copy: &CopyOf,
    page_size: PageSize,
) -> Option<Block> {
    let known = cell.database.options.iter();
    let known = known.filter(|(name, _)| kind.option(name).is_some());
    let options = kind.read(&known.cloned().collect::<Vec<_>>()).ok()?;
    let rebuild = kind.advice.rebuild?;
    Some(Block::Commands {
        purpose: format!("In a shell, in this order, for {page_size} pages"),
        statements: rebuild.lines(page_size.bytes(), &quoted(&copy.name), &options),
    })
}

/// A name as a word of a shell.
fn quoted(name: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "._-".contains(character);
    match !name.starts_with('-') && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

/// What the change that a group's answer is takes: how it was measured, and the values by what they
/// are called.
pub(crate) fn cost(findings: &Findings, group: &GroupFindings) -> Vec<Block> {
    let own = findings.plan.own.as_ref();
    if let Some(sample) = own.and_then(|own| own.copy.sample)
        && wanted(group).is_some()
    {
        let left_out = format!(
            "Time, space and log of the change are not known: {} of your rows were copied, and what \
             that took does not grow in step with rows.",
            sample.share
        );
        return vec![Block::Paragraph(left_out)];
    }
    let Some((copying, values)) = values(findings, group) else {
        return Vec::new();
    };
    vec![
        Block::Heading(format!(
            "What the change took here ({copying}){}",
            naming::in_group(group)
        )),
        Block::Values(values),
    ]
}

/// Names with values.
type Values = Vec<(String, String)>;

fn values(findings: &Findings, group: &GroupFindings) -> Option<(&'static str, Values)> {
    let own = findings.plan.own.as_ref()?;
    let page_size = wanted(group)?;
    let cell = &group.cells.first()?.cell;
    let kind = cell.database.kind().ok()?;
    let rebuild = kind.advice.rebuild?;
    let key = Cell {
        page_size,
        ..cell.clone()
    }
    .snapshot();
    let snapshots = findings.snapshots.iter();
    let copies: Vec<&StoredSnapshot> = snapshots
        .filter(|of| of.key == key || of.key.is_related(&key))
        .collect();
    let new = copies.iter().find(|of| of.key == key)?;
    // The dump: files are copied without one.
    let dump = copies.iter().find_map(|of| of.origin);
    let dump = dump.filter(|_| kind.is_server);
    let loaded = seconds(new.elapsed_s);
    let before = dump.map_or(String::new(), |dump| {
        format!("dump {}, then ", seconds(dump.elapsed_s))
    });
    let page_sizes: BTreeSet<PageSize> = copies.iter().map(|of| of.key.page_size).collect();
    let of_size = copies.iter().filter(|of| of.key.page_size == page_size);
    let times = match of_size.count() {
        1 => "measured once".to_owned(),
        2 => "one of two".to_owned(),
        more => format!("one of {more}"),
    };
    let range = match copies.len() {
        1 => times,
        _ => {
            let told = times;
            let times = || copies.iter().map(|of| of.elapsed_s);
            let least = times().fold(f64::INFINITY, f64::min);
            let most = times().fold(0.0, f64::max);
            format!(
                "{told}; {} to {} over {}",
                seconds(least),
                seconds(most),
                counted(page_sizes.len(), "page size")
            )
        }
    };
    let all = new.elapsed_s + dump.map_or(0.0, |dump| dump.elapsed_s);
    let old = copies
        .iter()
        .find(|of| of.key.page_size == own.copy.page_size);
    let mut values = vec![
        (
            "time",
            format!("{before}{loaded} to {page_size} pages ({range})"),
        ),
        (
            "who waits",
            format!("{}: {} here", rebuild.waiting, seconds(all)),
        ),
        (
            "space",
            space(&own.copy, new, old.copied(), dump.map(|dump| dump.size)),
        ),
        (
            "log",
            match new.log {
                Some(log) => format!("{log} written while loading"),
                None => rebuild.log.to_owned(),
            },
        ),
    ];
    values.retain(|(_, value)| !value.is_empty());
    let values = values.into_iter();
    let values = values.map(|(name, value)| (name.to_owned(), value));
    Some((rebuild.copying, values.collect()))
}

/// What has to fit beside the database until the last step.
fn space(
    own: &CopyOf,
    new: &StoredSnapshot,
    old: Option<&StoredSnapshot>,
    dump: Option<ByteCount>,
) -> String {
    let dump = dump.map_or(String::new(), |dump| format!(", {dump} of dump"));
    let like = match old.filter(|old| old.key != new.key) {
        Some(old) => format!(" (copied: {})", old.size),
        None => String::new(),
    };
    format!(
        "{} with {} pages{dump}, beside {} now{like}",
        new.size, new.key.page_size, own.size
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octavo_experiment::{plan::Level, store::SnapshotOrigin, verdict::Verdict};
    use octavo_units::Seed;
    use octavo_workload::user::{Own, Sample, Share};

    use super::*;
    use crate::fixture;

    fn own() -> Own {
        Own::new(
            CopyOf {
                state: 1,
                ..CopyOf::whole(
                    "my shop.db",
                    ByteCount::mib(320),
                    PageSize::kib(4),
                    "my shop.db",
                )
            },
            Vec::new(),
        )
    }

    #[test]
    fn costs_are_those_of_the_copies() {
        let mut findings = fixture::findings();
        findings.plan.own = Some(Arc::new(own()));
        for (place, snapshot) in findings.snapshots.iter_mut().enumerate() {
            snapshot.elapsed_s = 10.0 + place as f64;
            snapshot.log = Some(ByteCount::mib(77));
            snapshot.origin = Some(SnapshotOrigin {
                size: ByteCount::mib(200),
                elapsed_s: 5.0,
            });
        }
        let group = &mut findings.groups[0];
        let cells = group.cells.iter();
        let ratio = cells
            .filter(|cell| !cell.reference)
            .find_map(|cell| cell.ratio);
        group.verdict = Verdict::Use {
            level: Level::PageSize(PageSize::kib(8)),
            ratio: ratio.unwrap(),
            ties: Vec::new(),
            open: Vec::new(),
        };
        let (_, values) = values(&findings, &findings.groups[0]).unwrap();
        let of = |name: &str| {
            let mut values = values.iter();
            values.find(|(other, _)| other == name).unwrap().1.clone()
        };
        let time = of("time");
        assert!(
            time.starts_with("12 s to 8 KiB pages (measured once; 10 s to 14 s over 5 page sizes)"),
            "{time}"
        );
        assert!(of("who waits").ends_with(": 12 s here"));
        let space = of("space");
        assert!(space.contains("beside 320 MiB now"), "{space}");
        assert_eq!(of("log"), "77 MiB written while loading");
        // Those of a sample say nothing of all.
        let mut sampled = own();
        sampled.copy.sample = Some(Sample {
            share: Share::try_from(0.1).unwrap(),
            seed: Seed::new(1),
            of: ByteCount::mib(3000),
        });
        findings.plan.own = Some(Arc::new(sampled));
        let told = cost(&findings, &findings.groups[0]);
        assert!(
            matches!(told.as_slice(), [Block::Paragraph(text)] if text.contains("10% of your rows"))
        );
        // Nothing is to be changed.
        findings.groups[0].verdict = Verdict::Alone {
            level: Level::PageSize(PageSize::kib(8)),
        };
        assert!(cost(&findings, &findings.groups[0]).is_empty());
    }

    #[test]
    fn steps_name_their_case_where_another_has_another_answer() {
        let mut findings = fixture::findings();
        findings.plan.own = Some(Arc::new(own()));
        let first = |findings: &Findings| {
            let commands = super::super::commands(findings, naming::groups(findings)[0]);
            match commands.into_iter().next() {
                Some(Block::Commands { purpose, .. }) => purpose,
                other => panic!("no command: {other:?}"),
            }
        };
        let steps = "n a shell, in this order, for 8 KiB pages";
        let case = "With 32 MiB of memory: ";
        assert_eq!(first(&findings), format!("{case}i{steps}"));
        let verdict = naming::groups(&findings)[0].verdict.clone();
        for group in &mut findings.groups {
            group.verdict = verdict.clone();
        }
        assert_eq!(first(&findings), format!("I{steps}"));
    }

    #[test]
    fn names_are_words_of_a_shell() {
        for (name, wanted) in [
            ("my.db", "my.db"),
            ("my shop.db", "'my shop.db'"),
            ("it's", r"'it'\''s'"),
            ("-rf", "'-rf'"),
        ] {
            assert_eq!(quoted(name), wanted);
        }
    }
}
