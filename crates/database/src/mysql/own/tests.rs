//! What a user's server has and a fresh one has not.

use std::ops::ControlFlow;

use super::{
    super::{Flavour, layout::Layout, programs::Programs},
    original::Original,
    restore::Dump,
    sample::{
        self,
        tests::{run, server_in, url},
    },
};

#[test]
fn a_copy_knows_names_in_any_letters_and_lacks_views_that_cannot_be_read() {
    let Ok(programs) = Programs::find(Flavour::Mariadb, None) else {
        eprintln!("skipped: MariaDB is not installed");
        return;
    };
    let small_letters = |layout: &Layout| layout.note_small_letters().unwrap();
    let (_home, layout, source, mut all) = server_in(&programs, small_letters);
    run(
        &mut all,
        "CREATE DATABASE Shop;
USE shop;
CREATE TABLE Items(id INT PRIMARY KEY, note VARCHAR(9));
INSERT INTO ITEMS VALUES (1, 'a'), (2, 'b');
CREATE TABLE gone(a INT);
CREATE VIEW lost AS SELECT a FROM gone;
CREATE VIEW `lost too` AS SELECT a FROM lost;
CREATE VIEW there AS SELECT id FROM Items;
DROP TABLE gone",
    );
    run(
        &mut all,
        &format!(
            "CREATE TABLE far(a INT) DATA DIRECTORY='{}';\nINSERT INTO far VALUES (1), (2)",
            layout.temporary.display()
        ),
    );
    let url = url(&layout);
    let open = |url: &str| Original::open(url.as_ref(), &programs);
    run(&mut all, "CREATE TABLE Löst(a INT)");
    let error = open(&url).err().unwrap();
    assert!(error.to_string().contains("nearly the same"), "{error}");
    run(&mut all, "DROP TABLE Löst");
    run(&mut all, "CREATE VIEW Lóst AS SELECT id FROM Items");
    let error = open(&url).err().unwrap();
    assert!(error.to_string().contains("nearly the same"), "{error}");
    run(&mut all, "DROP VIEW Lóst");
    let original = open(&url).unwrap();
    let missing = "views of tables or columns that are gone are missing (lost and 1 more)";
    assert_eq!(original.unlike().last().unwrap(), missing);
    let own = original.examine(url.as_ref()).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let dump = Dump::in_directory(scratch.path()).unwrap();
    sample::dump(&original, &dump, &own.copy, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    let prepare = |layout: &Layout| dump.prepare(layout).unwrap();
    let (_home, layout, target, mut kept) = server_in(&programs, prepare);
    let rows = dump
        .restore(original.tools(), &layout, &mut kept, &mut || false)
        .unwrap();
    assert_eq!(rows, 4);
    for sql in [
        "SELECT COUNT(*) FROM ITEMS",
        "SELECT COUNT(*) FROM Shop.There",
    ] {
        let found = kept.texts(sql).unwrap();
        assert_eq!(found[0][0].as_deref(), Some("2"), "{sql}");
    }
    assert!(kept.texts("SELECT * FROM lost").is_err());
    // No file is where the user's own are.
    assert!(layout.data.join("shop/far.ibd").is_file());
    // Nobody's own data are there.
    let error = open(&url.replace("/shop?", "/MySQL?")).err().unwrap();
    assert!(error.to_string().contains("of the server's own"), "{error}");
    drop((all, kept));
    target.stop().unwrap();
    source.stop().unwrap();
}
