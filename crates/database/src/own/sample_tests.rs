//! What is true of any sample, whichever server it is of.

use octavo_units::Seed;
use octavo_workload::user::{CopyOf, Copying, Sample, Share};

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
    assert_eq!(kept("SELECT count(*) FROM employees WHERE manager IS NULL"), 1);
    for table in ["employees", "log", "returns"] {
        let (all, kept) = (all(&count(table)), kept(&count(table)));
        assert!(kept * 20 > all && kept * 2 < all, "{table}: {kept} of {all}");
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
