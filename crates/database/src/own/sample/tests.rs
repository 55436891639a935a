//! What is true of any sample, whichever server it is of.

use std::collections::BTreeSet;

use octavo_units::Seed;
use octavo_workload::user::{CopyOf, Copying, Sample, SampledTable, Share};

use crate::Own;

use super::{
    ALIAS, BATCH, Counts, Full, KEYS_MAX, Of, Pair, Reference, Required, Rule, Sampling, Table,
};

/// How samples are asked for here.
pub(crate) const SHARE: f64 = 0.1;

pub(crate) fn copying(seed: u64) -> Copying {
    Copying {
        share: Some(Share::try_from(SHARE).unwrap()),
        seed: Seed::new(seed),
        rate: None,
    }
}

/// Names of tables, as each server writes them.
pub(crate) struct Names {
    pub(crate) customers: &'static str,
    pub(crate) id: &'static str,
    pub(crate) lines: &'static str,
}

/// Numbers that a database answers.
pub(crate) type Ask<'a> = dyn FnMut(&str) -> u64 + 'a;

/// Checks a copy beside the database that it is of. `all` and `kept` ask these for a number;
/// `drawn` is the condition by which customers were drawn, written by hand.
pub(crate) fn check(names: &Names, drawn: &str, all: &mut Ask<'_>, kept: &mut Ask<'_>) {
    let Names {
        customers,
        id,
        lines,
    } = names;
    // Small tables are whole.
    for (table, rows) in [("countries", 200), ("vips", 50)] {
        let count = format!("SELECT count(*) FROM {table}");
        assert_eq!((all(&count), kept(&count)), (rows, rows), "{table}");
    }
    let count = |table: &str| format!("SELECT count(*) FROM {table}");
    // The trigger is there, and did not see the rows.
    assert_eq!(kept(&count("audit")), 0);

    // Customers are those that are drawn, and what others require: vips, and who got a gift or
    // an address.
    let of = format!("SELECT count(*) FROM {customers} AS c WHERE {drawn}");
    let wanted = all(&of);
    assert!((1050..=1350).contains(&wanted), "{wanted} of 12,000");
    assert_eq!(kept(&of), wanted);
    let required = kept(&count(customers)) - wanted;
    let gifts = format!(
        "SELECT count(*) FROM {customers} AS c WHERE NOT ({drawn}) AND (c.{id} IN \
         (SELECT customer FROM vips) OR c.{id} IN (SELECT o.gift_for FROM orders AS o \
         JOIN {customers} AS c ON c.{id} = o.customer WHERE {drawn}))"
    );
    assert_eq!(required, all(&gifts));

    // All that belongs to drawn customers is there, and nothing of others but what is required.
    for table in ["orders", lines] {
        let of = format!(
            "SELECT count(*) FROM {table} AS t JOIN {customers} AS c ON c.{id} = t.customer \
             WHERE {drawn}"
        );
        assert_eq!(kept(&of), all(&of), "{table}");
        assert_eq!(kept(&count(table)), all(&of), "{table}");
    }
    let addresses = format!(
        "SELECT count(*) FROM addresses AS t JOIN {customers} AS c ON c.{id} = t.customer WHERE "
    );
    let of_drawn = format!("{addresses} {drawn}");
    assert_eq!(kept(&of_drawn), all(&of_drawn));
    // Of the others their favorite, which every second has.
    let others = format!("{addresses} NOT ({drawn})");
    let favorites = format!(
        "SELECT count(*) FROM {customers} AS c WHERE NOT ({drawn}) AND favorite IS NOT NULL"
    );
    assert_eq!(kept(&others), kept(&favorites));

    // Products are required by lines: far more than a tenth.
    let products = format!("SELECT count(DISTINCT product) FROM {lines}");
    assert!(kept(&count("products")) >= kept(&products));
    // Managers up to the first.
    assert_eq!(
        kept("SELECT count(*) FROM employees WHERE manager IS NULL"),
        1
    );
    for table in ["employees", "log", "returns"] {
        let (all, kept) = (all(&count(table)), kept(&count(table)));
        assert!(
            kept * 20 > all && kept * 2 < all,
            "{table}: {kept} of {all}"
        );
    }
    // Of returns without an order those that are drawn by themselves.
    let lost = "SELECT count(*) FROM returns WHERE customer IS NULL OR number IS NULL";
    let share = kept(lost) as f64 / all(lost) as f64;
    assert!((0.08..=0.12).contains(&share), "{share}");

    // No row refers to one that is not there.
    let references = [
        (*customers, "country", "countries", "code"),
        (customers, "favorite", "addresses", "id"),
        ("addresses", "customer", customers, id),
        ("orders", "customer", customers, id),
        ("orders", "ship_to", "addresses", "id"),
        ("orders", "gift_for", customers, id),
        (lines, "product", "products", "id"),
        ("employees", "manager", "employees", "id"),
        ("vips", "customer", customers, id),
        (lines, "customer, number", "orders", "customer, number"),
        (
            "returns",
            "customer, number, line",
            lines,
            "customer, number, line",
        ),
    ];
    for (child, columns, parent, referred) in references {
        let set = columns.replace(',', " IS NOT NULL AND") + " IS NOT NULL";
        let lost = format!(
            "SELECT count(*) FROM {child} WHERE {set} AND ({columns}) NOT IN \
             (SELECT {referred} FROM {parent})"
        );
        assert_eq!(kept(&lost), 0, "{child}({columns})");
    }
}

/// Checks a copy of a database whose rows lie at odds with its keys, as [`check`] does.
pub(crate) fn check_odd(own: &Own, all: &mut Ask<'_>, kept: &mut Ask<'_>) {
    let count = |table: &str| format!("SELECT count(*) FROM {table}");
    let share = |all: &mut Ask<'_>, kept: &mut Ask<'_>, table: &str| {
        kept(&count(table)) as f64 / all(&count(table)) as f64
    };
    // All children of three parents of 20,000.
    let hot = share(all, kept, "hot");
    assert!((0.09..0.11).contains(&hot), "{hot}");
    let lost = "SELECT count(*) FROM hot WHERE par NOT IN (SELECT id FROM par)";
    assert_eq!(kept(lost), 0);
    let kept_par = kept("SELECT count(*) FROM par WHERE id <= 3");
    assert_eq!(kept_par, 3);

    // Rows without a parent, though none is without a reference, and rows of a partition without
    // a foreign key.
    for (table, without) in [("orphans", "id % 2 = 0"), ("parts", "half = 2")] {
        for condition in [without.to_owned(), format!("NOT {without}")] {
            let sql = format!("SELECT count(*) FROM {table} WHERE {condition}");
            let share = kept(&sql) as f64 / all(&sql) as f64;
            assert!((0.085..0.115).contains(&share), "{sql}: {share}");
        }
    }

    // Few rows that are long, and rows that are alike.
    for (table, range) in [("long_rows", 0.06..0.14), ("alike", 0.09..0.11)] {
        let share = share(all, kept, table);
        assert!(range.contains(&share), "{table}: {share}");
    }

    // Each row requires the one before, up to the first. The size says so.
    let list = SampledTable {
        table: own.uneven[0].table.clone(),
        kept: kept(&count("list")),
        of: 20_000,
    };
    assert!(list.kept > 19_000, "{list:?}");
    assert_eq!(own.uneven[0], list);
    let sample = own.copy.sample.unwrap();
    assert!(own.copy.size < sample.of);
    let part = own.copy.size.get() as f64 / sample.of.get() as f64;
    assert!((0.15..0.6).contains(&part), "{part}");
    let cache = own.cache.get() as f64 / sample.of.get() as f64;
    assert!((cache - part).abs() < 0.01, "{cache} {part}");
}

/// The copy that another seed would make.
pub(crate) fn with_seed(copy: &CopyOf, seed: u64) -> CopyOf {
    let sample = copy.sample.unwrap();
    CopyOf {
        sample: Some(Sample {
            seed: Seed::new(seed),
            ..sample
        }),
        ..copy.clone()
    }
}

fn table(from: &str, bytes: u64, is_whole: bool, key: &[&str]) -> Table {
    Table {
        name: from.into(),
        from: from.into(),
        bytes,
        is_whole,
        drawn_by: key
            .iter()
            .map(|column| format!("{ALIAS}.{column}"))
            .collect(),
        key: key.iter().map(|column| (*column).to_owned()).collect(),
        numbered: None,
    }
}

fn reference(child: usize, column: &str, parent: usize, is_required: bool) -> Reference {
    Reference {
        child,
        parent,
        columns: vec![Pair {
            child: column.into(),
            parent: "id".into(),
            equals: "=".into(),
        }],
        is_required,
        is_checked: true,
    }
}

fn sampling(tables: Vec<Table>, references: Vec<Reference>) -> Sampling {
    Sampling::new(
        tables,
        references,
        Share::try_from(SHARE).unwrap(),
        Seed::new(7),
        |text| format!("HASH({text})"),
    )
}

#[test]
fn each_table_follows_one_other_at_most() {
    let tables = vec![
        table("small", 10, true, &["id"]),
        table("customer", 100, false, &["id"]),
        table("product", 500, false, &["id"]),
        table("orders", 300, false, &["id"]),
        table("line", 900, false, &["orders", "line"]),
        table("note", 900, false, &["id"]),
    ];
    let references = vec![
        reference(1, "small", 0, true),
        reference(1, "last_order", 3, false),
        reference(3, "product", 2, false),
        reference(3, "customer", 1, true),
        reference(4, "product", 2, true),
        reference(4, "orders", 3, true),
        reference(5, "customer", 1, false),
        reference(5, "product", 2, false),
        reference(5, "note", 5, false),
    ];
    let wanted = [
        Rule::Whole,
        // Not its last order, whose customer it is.
        Rule::Drawn,
        Rule::Drawn,
        // What cannot be NULL.
        Rule::Follows(3),
        // What its key has.
        Rule::Follows(5),
        // The largest.
        Rule::Follows(7),
    ];
    let found = sampling(tables.clone(), references.clone());
    assert_eq!(found.rules, wanted);
    // Whatever the order in which the server tells of them.
    let mut backwards = references;
    backwards.reverse();
    let last = backwards.len() - 1;
    let backwards = sampling(tables, backwards);
    for (rule, wanted) in backwards.rules.iter().zip(wanted) {
        match (rule, wanted) {
            (Rule::Follows(place), Rule::Follows(wanted)) => assert_eq!(last - place, wanted),
            (rule, wanted) => assert_eq!(*rule, wanted),
        }
    }
}

#[test]
fn conditions_lead_to_what_is_drawn() {
    let tables = vec![
        table("a", 1, false, &["id"]),
        table("b", 1, false, &["id"]),
        table("c", 1, false, &["id"]),
    ];
    let references = vec![reference(1, "a", 0, true), reference(2, "b", 1, false)];
    let unchecked = Reference {
        is_checked: false,
        ..reference(0, "b", 1, true)
    };
    let of_unchecked = sampling(tables.clone(), vec![unchecked]);
    assert!(of_unchecked.kept(0, "t").contains(" AND NOT EXISTS "));
    let sampling = sampling(tables, references);
    let drawn =
        |alias: &str| format!("LEFT(HASH(CONCAT_WS(':', '7', {alias}.id)), 8) < '1999999a'");
    assert_eq!(sampling.kept(0, "t"), drawn("t"));
    let of_b = |alias: &str| {
        format!(
            "EXISTS (SELECT 1 FROM a AS {alias}p WHERE {alias}p.id = {alias}.a AND {})",
            drawn(&format!("{alias}p"))
        )
    };
    assert_eq!(sampling.kept(1, "t"), of_b("t"));
    assert_eq!(
        sampling.kept(2, "t"),
        format!(
            "(EXISTS (SELECT 1 FROM b AS tp WHERE tp.id = t.b AND {}) OR {} AND NOT EXISTS (SELECT 1 \
             FROM b AS tp WHERE tp.id = t.b))",
            of_b("tp"),
            drawn("t")
        )
    );
    // All rows but a few in four billions.
    let all = Share::try_from(0.999_999).unwrap();
    let sampling = Sampling::new(
        vec![table("a", 1, false, &["id"])],
        Vec::new(),
        all,
        Seed::new(1),
        str::to_owned,
    );
    assert!(
        sampling.kept(0, "t").ends_with("< 'ffffef38'"),
        "{}",
        sampling.kept(0, "t")
    );
}

#[test]
fn names_are_hashed_as_they_are() {
    let tables = vec![table("a", 1, false, &["\"{}\""])];
    let drawn = sampling(tables, Vec::new()).kept(0, "t");
    assert!(drawn.contains("'7', t.\"{}\")"), "{drawn}");
}

#[test]
fn large_tables_of_few_rows_are_told_of() {
    let tables = vec![
        table("big", 240 << 20, false, &["id"]),
        table("small", 5 << 20, false, &["id"]),
        table("rest", 400 << 20, false, &["id"]),
    ];
    let mut sampling = sampling(tables, Vec::new());
    let counts = [(6, 0), (6, 0), (100_000, 10_000)];
    for (place, (rows, kept)) in counts.into_iter().enumerate() {
        sampling.counts[place] = Counts { rows, kept };
    }
    let required = sampling.close(&mut |_, _, _| Ok(())).unwrap();
    let uneven = sampling.size(&required).uneven;
    let told = SampledTable {
        table: "big".into(),
        kept: 0,
        of: 6,
    };
    assert_eq!(uneven, [told]);
}

/// A condition's rows, by what the query has of it.
fn counting(sampling: &mut Sampling, counts: &[(&str, u64)]) {
    let mut ask = |sql: &str| {
        let found = counts.iter().find(|(begin, _)| sql.contains(begin));
        Ok(found.unwrap_or_else(|| panic!("{sql}")).1)
    };
    sampling.count(&mut ask).unwrap();
}

#[test]
fn tables_that_follow_few_parents_are_drawn() {
    let tables = vec![
        table("par", 100, false, &["id"]),
        table("hot", 1000, false, &["id"]),
        table("of_hot", 1000, false, &["id"]),
        table("small", 30, true, &["id"]),
    ];
    let references = vec![
        reference(1, "par", 0, true),
        reference(2, "hot", 1, true),
        reference(2, "par", 0, true),
    ];
    let mut sampling = sampling(tables, references);
    assert_eq!(sampling.rules[1], Rule::Follows(0));
    counting(
        &mut sampling,
        &[
            ("FROM par AS t WHERE TRUE", 20_000),
            ("FROM par AS t WHERE", 2050),
            ("FROM hot AS t WHERE TRUE", 100_000),
            // None of the three parents was drawn.
            ("FROM hot AS t WHERE (EXISTS", 0),
            ("FROM hot AS t WHERE EXISTS", 0),
            ("FROM hot AS t WHERE LEFT", 9900),
            ("FROM of_hot AS t WHERE TRUE", 100_000),
            ("FROM of_hot AS t WHERE", 12_000),
        ],
    );
    assert_eq!(sampling.rules[1], Rule::Drawn);
    // It follows what is drawn now.
    assert_eq!(sampling.rules[2], Rule::Follows(1));
    let mut required = Required {
        keys: vec![BTreeSet::new(); 4],
        bytes: 0,
    };
    let size = sampling.size(&required);
    assert_eq!(size.bytes.get(), (10.25f64 + 99.0 + 120.0 + 30.0) as u64);
    assert_eq!(size.uneven, []);
    // What is required makes a table larger, at most as large as it is.
    for key in 0..17_950 {
        required.keys[0].insert(key.to_string().into());
    }
    let size = sampling.size(&required);
    assert_eq!(size.bytes.get(), 100 + 99 + 120 + 30);
    let of = 20_000;
    let kept = of;
    let table = "par".into();
    assert_eq!(size.uneven, [SampledTable { table, kept, of }]);
}

#[test]
fn shares_are_far_beyond_chance() {
    let all = |share: f64| {
        let share = Share::try_from(share).unwrap();
        Sampling::new(Vec::new(), Vec::new(), share, Seed::new(1), str::to_owned)
    };
    for (share, kept, rows, wanted) in [
        (0.1, 0, 100_000, true),
        (0.1, 4900, 100_000, true),
        (0.1, 5100, 100_000, false),
        (0.1, 20_100, 100_000, true),
        // Chance alone.
        (0.001, 3, 15_000, false),
        (0.001, 40, 15_000, true),
        (0.001, 0, 0, false),
        // What is left out is nearly nothing.
        (0.8, 95_000, 100_000, true),
        (0.8, 85_000, 100_000, false),
    ] {
        assert_eq!(
            all(share).is_far(kept, rows),
            wanted,
            "{kept} of {rows}, {share}"
        );
    }
}

#[test]
fn what_is_required_requires_more_until_nothing_is_missing() {
    // Each row of `a` refers to the one before, and the last ones to a row of `b`, which is small
    // enough to be whole.
    let tables = vec![table("a", 1, false, &["id"]), table("b", 1, true, &["id"])];
    let references = vec![reference(0, "before", 0, false), reference(0, "b", 1, true)];
    let sampling = sampling(tables, references);
    let kept = |row: u64| row.is_multiple_of(10);
    let rows = 50_000;
    let mut asked = 0;
    let required = sampling
        .close(&mut |reference, of, found| {
            assert_eq!(reference, 0, "whole tables need no rows");
            asked += 1;
            let before = |row: u64| row.checked_sub(7).filter(|row| !kept(*row));
            let rows: Vec<u64> = match of {
                Of::Kept => (0..rows).filter(|row| kept(*row)).collect(),
                Of::Keys(keys) => keys.iter().map(|key| key.parse().unwrap()).collect(),
            };
            for before in rows.into_iter().filter_map(before) {
                found(&before.to_string()).unwrap();
            }
            Ok(())
        })
        .unwrap();
    // A naive closure.
    let mut wanted = vec![false; rows as usize];
    for row in (0..rows).rev() {
        if (kept(row) || wanted[row as usize]) && row >= 7 && !kept(row - 7) {
            wanted[row as usize - 7] = true;
        }
    }
    let wanted = wanted.into_iter().filter(|is| *is).count();
    let found: Vec<Box<str>> = required.batches(0).flatten().collect();
    assert_eq!(found.len(), wanted);
    assert!(required.batches(0).all(|batch| batch.len() <= BATCH));
    assert!(asked > 10, "{asked}");
    assert_eq!(required.batches(1).count(), 0);
}

#[test]
fn keys_have_a_limit() {
    let mut required = Required {
        keys: vec![BTreeSet::new()],
        bytes: KEYS_MAX - 300,
    };
    let mut pending = Vec::new();
    for (key, wanted) in [
        ("a", Ok(())),
        ("a", Ok(())),
        ("b", Ok(())),
        ("c", Ok(())),
        ("d", Err(Full)),
    ] {
        assert_eq!(required.add(0, key, &mut pending), wanted, "{key}");
    }
    assert_eq!(pending.len(), 3);
}
