//! A part of the rows of a database in which all foreign keys hold.
//!
//! Small tables are kept whole. Of the others each either draws its rows by a hash of their keys, or
//! *follows* one table that it refers to: its rows are those whose parents are kept. So a row's kept
//! children are all its children, along one foreign key of each table. This part can be said as a
//! condition of SQL, which the server's own programs then read rows by.
//!
//! A table whose rows nearly all belong to few parents would have none of its rows, or nearly all, when
//! it follows. So what each rule keeps is [counted](Sampling::count) first, and such a table draws.
//!
//! What kept rows refer to by other foreign keys is *required*: [`close`] asks for these rows by
//! their keys, for what they refer to themselves, and so on, until nothing is missing. Cycles and
//! self references end there like all else, because a table has no more rows than it has.

use std::{cmp::Reverse, collections::BTreeSet, iter, mem};

use octavo_units::{ByteCount, Seed};
use octavo_workload::user::{SampledTable, Share};

use crate::Result;

/// Tables with at most so many rows are kept whole. Chosen: with rows of 100 bytes, 1 MB a table.
pub(crate) const WHOLE_MAX: u64 = 10_000;

/// Larger tables are not, however few rows they have. Chosen: what rows of 400 bytes take.
pub(crate) const WHOLE_BYTES_MAX: u64 = 4 << 20;

/// Fewer rows than these, of those that are kept or should be, tell nothing of a rule: with this many
/// drawn ones, chance makes it half as many once in 200 times. Chosen.
const ROWS_MIN: f64 = 20.0;

/// The share of all bytes from which on a table of few rows is told of as well. Chosen.
const LARGE: f64 = 0.01;

/// Bytes that the keys of required rows may take, as they are counted here.
const KEYS_MAX: usize = 512 << 20;

/// What a key takes beside its text, about.
const KEY_BYTES: usize = 48;

/// Keys that are asked for at once.
const BATCH: usize = 2000;

/// What stands for a table's alias in what is hashed. No name has it, on any server.
pub(crate) const ALIAS: &str = "\0";

/// A table, as far as a sample needs to know it. Names are as in SQL.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// What the user calls it.
    pub(crate) name: String,
    /// As it stands behind FROM.
    pub(crate) from: String,
    /// Of its rows and indexes.
    pub(crate) bytes: u64,
    /// Whether it is kept whole.
    pub(crate) is_whole: bool,
    /// What is hashed to draw a row, with [`ALIAS`] where the table's alias stands: not NULL.
    pub(crate) drawn_by: Vec<String>,
    /// The columns of its primary key.
    pub(crate) key: Vec<String>,
    /// What stands in for `from` and `drawn_by` where that draws nearly all rows or none: many are
    /// the same in all that can be hashed, and are told apart by a number.
    pub(crate) numbered: Option<(String, Vec<String>)>,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    /// The table that refers.
    pub(crate) child: usize,
    /// The one that it refers to.
    pub(crate) parent: usize,
    pub(crate) columns: Vec<Pair>,
    /// Whether none of its columns can be NULL.
    pub(crate) is_required: bool,
    /// Whether every row that refers to a parent is sure to have it. Servers can be told not to check.
    pub(crate) is_checked: bool,
}

/// A column of a child and the one of the parent that it is like.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) child: String,
    pub(crate) parent: String,
    /// What compares them.
    pub(crate) equals: String,
}

impl Reference {
    /// The condition that rows with these names belong together.
    fn matches(&self, child: &str, parent: &str) -> String {
        let pairs = self.columns.iter();
        let pairs = pairs.map(|pair| {
            format!(
                "{parent}.{} {} {child}.{}",
                pair.parent, pair.equals, pair.child
            )
        });
        pairs.collect::<Vec<_>>().join(" AND ")
    }
}

/// Which rows of a table are kept before any is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Whole,
    Drawn,
    /// By a foreign key.
    Follows(usize),
}

/// Tables and how they are sampled.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    tables: Vec<Table>,
    references: Vec<Reference>,
    rules: Vec<Rule>,
    /// By table, once they are counted; none of whole tables.
    counts: Vec<Counts>,
    share: Share,
    seed: Seed,
    hashed: fn(&str) -> String,
}

/// Rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    rows: u64,
    /// By the table's rule.
    kept: u64,
}

/// How large a sample is.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    /// About how many bytes it has.
    pub(crate) bytes: ByteCount,
    /// Tables that keep far more or fewer rows than were asked for.
    pub(crate) uneven: Vec<SampledTable>,
}

/// Whose required rows are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of<'k> {
    /// All that are kept by their rules.
    Kept,
    /// Those with these keys.
    Keys(&'k [Box<str>]),
}

impl Sampling {
    /// Decides how each table is sampled. Where several foreign keys could be followed, it is the
    /// one that a row's primary key has, else one that cannot be NULL, else the one to the largest
    /// table; never one that would lead back. `hashed` is the server's SQL for a text's hash in
    /// hexadecimal digits.
    pub(crate) fn new(
        tables: Vec<Table>,
        references: Vec<Reference>,
        share: Share,
        seed: Seed,
        hashed: fn(&str) -> String,
    ) -> Self {
        let mut rules: Vec<Rule> = tables
            .iter()
            .map(|table| {
                if table.is_whole {
                    Rule::Whole
                } else {
                    Rule::Drawn
                }
            })
            .collect();
        let mut candidates: Vec<usize> = (0..references.len())
            .filter(|&place| {
                let Reference { child, parent, .. } = references[place];
                child != parent && rules[child] == Rule::Drawn && rules[parent] == Rule::Drawn
            })
            .collect();
        candidates.sort_by_cached_key(|&place| {
            let reference = &references[place];
            let (child, parent) = (&tables[reference.child], &tables[reference.parent]);
            let columns = reference.columns.iter();
            let columns: Vec<String> = columns.map(|pair| pair.child.clone()).collect();
            let is_in_key = columns.iter().all(|column| child.key.contains(column));
            // Names give an order that the server's answers do not change.
            let names = (child.from.clone(), parent.from.clone(), columns);
            (
                !is_in_key,
                !reference.is_required,
                Reverse(parent.bytes),
                names,
            )
        });
        for place in candidates {
            let Reference { child, parent, .. } = references[place];
            if rules[child] == Rule::Drawn && !leads_to(&rules, &references, parent, child) {
                rules[child] = Rule::Follows(place);
            }
        }
        Self {
            counts: vec![Counts::default(); tables.len()],
            tables,
            references,
            rules,
            share,
            seed,
            hashed,
        }
    }

    /// Counts rows by `ask`, which answers a query for one number. A table of which following keeps
    /// far from the share draws its rows from then on, and requires their parents.
    pub(crate) fn count(&mut self, ask: &mut dyn FnMut(&str) -> Result<u64>) -> Result<()> {
        for table in self.parents_first() {
            if self.is_whole(table) {
                continue;
            }
            let rows = ask(&self.count_of(table, "TRUE"))?;
            let mut kept = ask(&self.count_of(table, &self.kept(table, "t")))?;
            let follows = matches!(self.rules[table], Rule::Follows(_));
            if follows && self.is_far(kept, rows) {
                self.rules[table] = Rule::Drawn;
                kept = ask(&self.count_of(table, &self.kept(table, "t")))?;
            }
            if self.is_far(kept, rows)
                && let Some((from, drawn_by)) = self.tables[table].numbered.take()
            {
                self.tables[table].from = from;
                self.tables[table].drawn_by = drawn_by;
                kept = ask(&self.count_of(table, &self.kept(table, "t")))?;
            }
            self.counts[table] = Counts { rows, kept };
        }
        Ok(())
    }

    fn count_of(&self, table: usize, condition: &str) -> String {
        let from = &self.tables[table].from;
        format!("SELECT COUNT(*) FROM {from} AS t WHERE {condition}")
    }

    /// All tables, each behind the one that it follows.
    fn parents_first(&self) -> Vec<usize> {
        let depth = |table: usize| {
            let parent = |table: &usize| match self.rules[*table] {
                Rule::Follows(place) => Some(self.references[place].parent),
                Rule::Whole | Rule::Drawn => None,
            };
            iter::successors(Some(table), parent).count()
        };
        let mut tables: Vec<usize> = (0..self.tables.len()).collect();
        tables.sort_by_key(|&table| depth(table));
        tables
    }

    /// Whether these rows are less than half of what is asked for, or more than twice as many, or
    /// leave out less than half of what is to be left out.
    fn is_off(&self, kept: u64, rows: u64) -> bool {
        let share = self.share.get();
        let (kept, rows) = (kept as f64, rows as f64);
        let most = f64::min(2.0 * share, f64::midpoint(1.0, share));
        kept < rows * share / 2.0 || kept > rows * most
    }

    /// … where this is more than chance.
    fn is_far(&self, kept: u64, rows: u64) -> bool {
        let most = (kept as f64).max(rows as f64 * self.share.get());
        most >= ROWS_MIN && self.is_off(kept, rows)
    }

    /// What a table's rows are selected from.
    pub(crate) fn from(&self, table: usize) -> &str {
        &self.tables[table].from
    }

    /// Whether a table is copied as a whole.
    pub(crate) fn is_whole(&self, table: usize) -> bool {
        self.rules[table] == Rule::Whole
    }

    /// How large the sample is with what is required. Rows are to be counted before.
    pub(crate) fn size(&self, required: &Required) -> Size {
        let all: u64 = self.tables.iter().map(|table| table.bytes).sum();
        let mut bytes = 0.0;
        let mut uneven = Vec::new();
        for (place, table) in self.tables.iter().enumerate() {
            let Counts { rows, kept } = self.counts[place];
            let kept = kept + required.keys[place].len() as u64;
            let part = match self.is_whole(place) {
                true => 1.0,
                false => kept as f64 / rows.max(1) as f64,
            };
            bytes += table.bytes as f64 * part.min(1.0);
            // By chance too, a large table of few rows may be there nearly as a whole, or not at all.
            let is_large = table.bytes as f64 >= all as f64 * LARGE;
            let is_uneven = self.is_far(kept, rows) || is_large && self.is_off(kept, rows);
            if !self.is_whole(place) && is_uneven {
                uneven.push(SampledTable {
                    table: table.name.clone(),
                    kept,
                    of: rows,
                });
            }
        }
        Size {
            bytes: ByteCount::new(bytes as u64),
            uneven,
        }
    }

    /// The condition that a row of a table with this name is kept by its rule: TRUE or FALSE, never
    /// NULL.
    pub(crate) fn kept(&self, table: usize, alias: &str) -> String {
        match self.rules[table] {
            Rule::Whole => "TRUE".into(),
            Rule::Drawn => self.drawn(table, alias),
            Rule::Follows(place) => {
                let reference = &self.references[place];
                let parent = format!("{alias}p");
                let has = format!(
                    "EXISTS (SELECT 1 FROM {} AS {parent} WHERE {}",
                    self.tables[reference.parent].from,
                    reference.matches(alias, &parent)
                );
                let kept = format!("{has} AND {})", self.kept(reference.parent, &parent));
                match reference.is_required && reference.is_checked {
                    true => kept,
                    // A row without a parent is drawn by itself: it refers to nothing, or to a row
                    // that is not there. Of few rows this has to be looked up.
                    false => format!("({kept} OR {} AND NOT {has}))", self.drawn(table, alias)),
                }
            }
        }
    }

    /// The first eight digits of a hash are below a share of all.
    fn drawn(&self, table: usize, alias: &str) -> String {
        let of = self.tables[table].drawn_by.iter();
        let of: Vec<String> = of.map(|column| column.replace(ALIAS, alias)).collect();
        let end = (self.share.get() * f64::from(u32::MAX)).round() as u32;
        let text = format!("CONCAT_WS(':', '{}', {})", self.seed, of.join(", "));
        format!("LEFT({}, 8) < '{end:08x}'", (self.hashed)(&text))
    }

    /// The rows that rows of a child require by a foreign key beside those that are kept anyway, as
    /// what stands behind FROM: the parent is `p`. `by_key` has the condition that a row with a name
    /// has one of these keys.
    pub(crate) fn required(
        &self,
        reference: usize,
        of: Of<'_>,
        by_key: &dyn Fn(&str, &[Box<str>]) -> String,
    ) -> String {
        let Reference { child, parent, .. } = self.references[reference];
        let matches = self.references[reference].matches("c", "p");
        let (child_from, parent_from) = (&self.tables[child].from, &self.tables[parent].from);
        let kept = self.kept(parent, "p");
        match of {
            Of::Kept => format!(
                "{parent_from} AS p WHERE NOT ({kept}) AND EXISTS \
                 (SELECT 1 FROM {child_from} AS c WHERE {matches} AND {})",
                self.kept(child, "c")
            ),
            Of::Keys(keys) => format!(
                "{child_from} AS c JOIN {parent_from} AS p ON {matches} \
                 WHERE {} AND NOT ({kept})",
                by_key("c", keys)
            ),
        }
    }

    /// The keys of all required rows, by table. `ask` hands over the keys of rows that a reference
    /// requires.
    pub(crate) fn close(&self, ask: &mut Ask<'_>) -> Result<Required> {
        let mut required = Required {
            keys: vec![BTreeSet::new(); self.tables.len()],
            bytes: 0,
        };
        let mut pending: Vec<Vec<Box<str>>> = vec![Vec::new(); self.tables.len()];
        let is_cut = |reference: &Reference| self.rules[reference.parent] != Rule::Whole;
        for (place, reference) in self.references.iter().enumerate() {
            // Whoever follows has its parents.
            if is_cut(reference) && self.rules[reference.child] != Rule::Follows(place) {
                let pending = &mut pending[reference.parent];
                ask(place, Of::Kept, &mut |key| {
                    required.add(reference.parent, key, pending)
                })?;
            }
        }
        while let Some(child) = pending.iter().position(|keys| !keys.is_empty()) {
            let keys = mem::take(&mut pending[child]);
            for (place, reference) in self.references.iter().enumerate() {
                if reference.child != child || !is_cut(reference) {
                    continue;
                }
                let pending = &mut pending[reference.parent];
                for batch in keys.chunks(BATCH) {
                    ask(place, Of::Keys(batch), &mut |key| {
                        required.add(reference.parent, key, pending)
                    })?;
                }
            }
        }
        Ok(required)
    }
}

/// Asks for the rows that a reference requires. It hands over their keys until there is no room.
pub(crate) type Ask<'a> =
    dyn FnMut(usize, Of<'_>, &mut dyn FnMut(&str) -> Result<(), Full>) -> Result<()> + 'a;

/// There are too many required rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Full {
    /// What to tell whoever asked for the sample.
    pub(crate) const REASON: &'static str = "has too many rows outside the sample that foreign \
        keys of the sample refer to, more than 512 MiB of keys: give another --sample";
}

/// Keys of rows that are copied beside those that their rules keep.
#[derive(Debug)]
pub(crate) struct Required {
    keys: Vec<BTreeSet<Box<str>>>,
    bytes: usize,
}

impl Required {
    fn add(&mut self, table: usize, key: &str, pending: &mut Vec<Box<str>>) -> Result<(), Full> {
        if self.keys[table].contains(key) {
            return Ok(());
        }
        // Once in the set and once among those whose own are to be asked for.
        self.bytes += 2 * (key.len() + KEY_BYTES);
        if self.bytes > KEYS_MAX {
            return Err(Full);
        }
        self.keys[table].insert(key.into());
        pending.push(key.into());
        Ok(())
    }

    /// Whether any row of a table is required.
    pub(crate) fn has(&self, table: usize) -> bool {
        !self.keys[table].is_empty()
    }

    /// Those of a table, in batches, in their order.
    pub(crate) fn batches(&self, table: usize) -> impl Iterator<Item = Vec<Box<str>>> + '_ {
        let mut keys = self.keys[table].iter().cloned();
        iter::from_fn(move || {
            let batch: Vec<_> = keys.by_ref().take(BATCH).collect();
            (!batch.is_empty()).then_some(batch)
        })
    }
}

/// Whether following leads from a table to another.
fn leads_to(rules: &[Rule], references: &[Reference], from: usize, to: usize) -> bool {
    let mut at = from;
    loop {
        if at == to {
            return true;
        }
        match rules[at] {
            // Those that were accepted before have no cycle.
            Rule::Follows(place) => at = references[place].parent,
            _ => return false,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
