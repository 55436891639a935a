//! What to type to follow an answer, from the database's own description.

use octavo_database::{Change, ChangePlace, Cost, DatabaseKind, SessionBuffer};
use octavo_experiment::{
    findings::{Findings, GroupFindings},
    plan::{Cell, Factor, MixedSizes},
    verdict::Verdict,
};
use octavo_units::PageSize;

use super::{
    cost::steps,
    limits::wanted as wanted_of,
    memory::{MoreCache, more_cache},
    own_sizes::{mixed_change, wanted_sizes},
};
use crate::{document::Block, naming, number::list};

/// What to type in one group. Empty unless page sizes of a known database are
/// compared, and figures of them are there.
pub(crate) fn commands(findings: &Findings, group: &GroupFindings) -> Vec<Block> {
    let is_compared = group.cells.iter().any(|cell| cell.ratio.is_some());
    let cell = group.cells.first().map(|cell| &cell.cell);
    let Some(cell) = cell.filter(|_| is_compared && findings.plan.compare == Factor::PageSize)
    else {
        return Vec::new();
    };
    let Ok(kind) = cell.database.kind() else {
        return Vec::new();
    };
    let cache = more_cache(findings);
    let is_said = match group.verdict {
        Verdict::Cold { .. } => false,
        // Who does not know yet what to do need not type anything, but for the cache.
        Verdict::Inconclusive { .. } => {
            cache.is_some_and(|(more, small)| more == MoreCache::Helps && cell.memory > small)
        }
        _ => cache.is_none_or(|(more, _)| !matches!(more, MoreCache::Open | MoreCache::MayNotHelp)),
    };
    let wanted = wanted_of(group);
    // A server's buffer serves all its databases, of which one was copied.
    let has_buffer = is_said && (findings.plan.own.is_none() || !kind.is_server);
    let own = findings.plan.own.as_ref().zip(wanted);
    let steps = own.and_then(|(own, page_size)| steps(kind, cell, &own.copy, page_size));
    let wanted = wanted.filter(|_| steps.is_none());
    let wanted = match wanted_sizes(group) {
        Some(sizes) => Wanted::Mixed(sizes),
        None => wanted.map_or(Wanted::Present, Wanted::One),
    };
    let facts = findings.conditions_of(cell);
    let facts: Vec<_> = facts
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let changes = changes(kind, cell, wanted, has_buffer, &facts);
    let mut blocks: Vec<Block> = steps.into_iter().chain(changes).collect();
    // Others name their memory with the cache.
    let mut answers = findings.groups.iter().map(wanted_of);
    if own.is_some() && answers.any(|other| other != wanted_of(group)) {
        blocks.iter_mut().for_each(|block| name_case(block, group));
    }
    blocks
}

/// Says for which group commands are, where another group's answer is another one.
fn name_case(block: &mut Block, group: &GroupFindings) {
    if let Block::Commands { purpose, .. } = block {
        let mut rest = purpose.chars();
        let first = rest.next().map(char::to_lowercase);
        let sentence: String = first.into_iter().flatten().chain(rest).collect();
        *purpose = naming::with(&group.name, &sentence);
    }
}

/// The page sizes that an answer is to use.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// That which it has.
    Present,
    One(PageSize),
    /// Of tables and indexes their own.
    Mixed(&'a MixedSizes),
}

/// The commands for the wanted page sizes and for the buffer of a cell. Changes
/// that go to the same place are one block. Empty if the cell has options that
/// its database does not know.
fn changes(
    kind: &DatabaseKind,
    cell: &Cell,
    wanted: Wanted<'_>,
    has_buffer: bool,
    facts: &[(String, String)],
) -> Vec<Block> {
    let known = cell.database.options.iter();
    let known = known.filter(|(name, _)| kind.option(name).is_some());
    let Ok(options) = kind.read(&known.cloned().collect::<Vec<_>>()) else {
        return Vec::new();
    };
    let page_size = match wanted {
        Wanted::Present => None,
        Wanted::One(size) => {
            let change = &kind.advice.page_size;
            let lines = change.lines(size.bytes(), &options).collect();
            Some((change, lines, format!("{size} pages")))
        }
        Wanted::Mixed(sizes) => mixed_change(kind, sizes)
            .map(|(change, lines)| (change, lines, "mixed pages".to_owned())),
    };
    let size = (kind.advice.buffer_size)(cell.memory, &options, facts);
    let aim = match size == cell.memory {
        true => format!("{size} of cache"),
        false => format!("{size} of the {} of cache", cell.memory),
    };
    let shares = kind.advice.session_buffers;
    let shares = shares.map_or_else(Vec::new, |divide| divide(size, cell.clients));
    let aim = match shares.len() {
        0 | 1 => aim,
        _ => format!("{aim} in all"),
    };
    let change = &kind.advice.buffer;
    let lines: Vec<String> = match &shares[..] {
        [_, _, ..] => {
            let of_share = |share: &SessionBuffer| {
                let lines = change.lines(share.size, &options);
                let lines = std::iter::once(format!("-- {}:", share.whose)).chain(lines);
                lines.collect::<Vec<_>>()
            };
            shares.iter().flat_map(of_share).collect()
        }
        _ => change.lines(size, &options).collect(),
    };
    let buffer = (change, lines, aim);
    let mut parts: Vec<ChangeGroup> = Vec::new();
    for (change, lines, aim) in page_size.into_iter().chain(has_buffer.then_some(buffer)) {
        if lines.is_empty() {
            continue;
        }
        if parts.last().is_none_or(|part| part.place != change.place) {
            parts.push(ChangeGroup::new(change.place));
        }
        if let Some(part) = parts.last_mut() {
            part.statements.extend(lines);
            let (needs, qualified) = costs(change, kind);
            part.aims.push(aim + qualified);
            part.needs.extend(needs);
        }
    }
    parts.into_iter().map(ChangeGroup::block).collect()
}

/// The changes at one place.
struct ChangeGroup {
    place: ChangePlace,
    statements: Vec<String>,
    aims: Vec<String>,
    needs: Vec<String>,
}

impl ChangeGroup {
    fn new(place: ChangePlace) -> Self {
        let section = match place {
            ChangePlace::Configuration { section, .. } => section,
            _ => None,
        };
        Self {
            place,
            statements: section.into_iter().map(str::to_owned).collect(),
            aims: Vec::new(),
            needs: Vec::new(),
        }
    }

    fn block(self) -> Block {
        let place = match self.place {
            ChangePlace::OneSession => "Run once".into(),
            ChangePlace::EverySession => "Run on every connection".into(),
            ChangePlace::Shell => "Run once in a shell".into(),
            ChangePlace::Configuration { file, .. } => format!("In {file}"),
        };
        let needs = match self.needs.as_slice() {
            [] => String::new(),
            needs => format!(" (needs {})", list(needs, "and")),
        };
        Block::Commands {
            purpose: format!("{place}, for {}{needs}", list(&self.aims, "and")),
            statements: self.statements,
        }
    }
}

/// What a change needs, and what qualifies its aim.
fn costs(change: &Change, kind: &DatabaseKind) -> (Vec<String>, &'static str) {
    let mut needs = Vec::new();
    let mut qualified = "";
    for cost in change.costs {
        match cost {
            Cost::ExclusiveAccess => needs.push("all other connections closed".into()),
            Cost::RoomForCopy => needs.push("space for a second copy of the database".into()),
            Cost::RoomForTwoCopies => {
                needs.push("space for two more copies of the database".into());
            }
            // The lines say so where it applies.
            Cost::LeaveWal => {}
            Cost::Build => needs.push(format!("a build of {} for this page size", kind.title)),
            Cost::NewDataDirectory => needs.push("a new data directory".into()),
            Cost::DumpAndRestore => needs.push("moving the data by dump and restore".into()),
            Cost::LittlePageCache => qualified = ", with little page cache beside it",
        }
    }
    (needs, qualified)
}

#[cfg(test)]
mod tests {
    use octavo_database::{Advice, ChangeLine, Registry, buffer_is_all};
    use octavo_units::ByteCount;

    use super::*;
    use crate::fixture;

    /// The blocks as text, for a database that differs from SQLite in its advice.
    fn told(advice: Advice) -> Vec<(String, Vec<String>)> {
        let sqlite = Registry::standard().default_kind();
        let toy = DatabaseKind {
            name: "toy",
            aliases: &[],
            title: "ToyDB",
            is_server: true,
            has_threads: false,
            merges_files: false,
            writes_between_checkpoints: false,
            own_sizes: None,
            options: sqlite.options,
            page_sizes: sqlite.page_sizes,
            defaults: sqlite.defaults,
            advice,
            make: sqlite.make,
        };
        let mut cell = fixture::findings().groups[0].cells[0].cell.clone();
        cell.memory = ByteCount::mib(32);
        let blocks = changes(&toy, &cell, Wanted::One(PageSize::kib(8)), true, &[]);
        let told = |block| match block {
            Block::Commands {
                purpose,
                statements,
            } => (purpose, statements),
            other => panic!("no command: {other:?}"),
        };
        blocks.into_iter().map(told).collect()
    }

    #[test]
    fn made_up_database_gets_commands_from_its_description() {
        let buffer = Change {
            place: ChangePlace::EverySession,
            lines: const { &[ChangeLine::always("CACHE {kib}")] },
            costs: &[],
        };
        let advice = Advice {
            page_size: Change {
                place: ChangePlace::Shell,
                lines: const { &[ChangeLine::always("toy rebuild {bytes}")] },
                costs: &[Cost::Build, Cost::DumpAndRestore],
            },
            buffer,
            buffer_size: buffer_is_all,
            session_buffers: None,
            rebuild: None,
        };
        assert_eq!(
            told(advice),
            [
                (
                    "Run once in a shell, for 8 KiB pages (needs a build of ToyDB for this page \
                     size and moving the data by dump and restore)"
                        .into(),
                    vec!["toy rebuild 8192".into()]
                ),
                (
                    "Run on every connection, for 32 MiB of cache".into(),
                    vec!["CACHE 32768".into()]
                ),
            ]
        );
    }

    /// `PRAGMA cache_size` is one connection's: the whole on each would be 28 MiB here.
    #[test]
    fn sessions_with_buffers_of_their_own_get_what_each_had() {
        let sqlite = Registry::standard().default_kind();
        let mut cell = fixture::findings().groups[0].cells[0].cell.clone();
        (cell.memory, cell.clients) = (ByteCount::mib(8), 4);
        let [
            Block::Commands {
                purpose,
                statements,
            },
        ] = &changes(sqlite, &cell, Wanted::Present, true, &[])[..]
        else {
            panic!("not one block");
        };
        assert_eq!(
            purpose,
            "Run on every connection, for 8 MiB of cache in all"
        );
        assert_eq!(
            statements[..],
            [
                "-- The one that writes:",
                "PRAGMA cache_size = -7168;",
                "-- Each of the 4 that read:",
                "PRAGMA cache_size = -256;",
            ]
        );
    }

    #[test]
    fn changes_of_one_file_are_one_block_with_one_section() {
        let change = |lines| Change {
            place: ChangePlace::Configuration {
                file: "toy.conf",
                section: Some("[toy]"),
            },
            lines,
            costs: &[],
        };
        let advice = Advice {
            page_size: change(const { &[ChangeLine::always("page = {kib}")] }),
            buffer: change(const { &[ChangeLine::always("cache = {bytes}")] }),
            buffer_size: buffer_is_all,
            session_buffers: None,
            rebuild: None,
        };
        assert_eq!(
            told(advice),
            [(
                "In toy.conf, for 8 KiB pages and 32 MiB of cache".into(),
                vec!["[toy]".into(), "page = 8".into(), "cache = 33554432".into()]
            )]
        );
    }

    #[test]
    fn database_without_advice_gets_no_commands() {
        let nothing = Change {
            place: ChangePlace::Shell,
            lines: &[],
            costs: &[],
        };
        let advice = Advice {
            page_size: nothing,
            buffer: nothing,
            buffer_size: buffer_is_all,
            session_buffers: None,
            rebuild: None,
        };
        assert!(told(advice).is_empty());
    }
}
