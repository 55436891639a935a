//! A private server plays the user's.

use std::{fs, ops::ControlFlow, os::unix::fs::PermissionsExt};

use octavo_units::Seed;
use octavo_workload::{Pgbench, Tpcc, Ycsb};
use tempfile::TempDir;

use super::super::{
    arguments::Purpose,
    instance::{Instance, initialise},
    layout::{Layout, SOCKET},
    programs::Programs,
};
use super::*;
use crate::{Progress, connect, contents, expected_contents, server::account::Account};

/// A server, and the account that may do everything.
struct TestServer {
    instance: Option<Instance>,
    url: Url,
    _directory: TempDir,
}

impl TestServer {
    fn start() -> Self {
        let directory = crate::scratch::directory();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let programs = Programs::find(Flavour::Mariadb, None)
            .expect("MariaDB is needed by this test: ./test installs it");
        let layout = Layout::resolve(directory.path()).unwrap();
        let account = Account::of_servers().unwrap();
        let account = account.as_ref();
        let page_size = PageSize::new(4096).unwrap();
        initialise(&programs, &layout, page_size, account, &mut || false).unwrap();
        let purpose = Purpose::Load {
            buffer: ByteCount::mib(32),
            redo: ByteCount::mib(32),
        };
        let (instance, _) =
            Instance::start(&programs, &layout, page_size, &purpose, account).unwrap();
        let socket = layout.data.join(SOCKET);
        let url = format!("mysql://root@/?socket={}", socket.display());
        Self {
            instance: Some(instance),
            url: url.parse().unwrap(),
            _directory: directory,
        }
    }

    fn session(&self) -> Session {
        open(&self.url, None, &[]).unwrap()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _stopped = self.instance.take().map(Instance::stop);
    }
}

fn load(server: &dyn ExternalServer, workload: &dyn Workload) -> Result<LoadReport, DatabaseError> {
    let on: &mut Progress<'_> = &mut |_| ControlFlow::Continue(());
    server.load(workload, &|loaded| format!("it's \\ {}", loaded.rows), on)
}

#[test]
fn rows_are_loaded_in_both_ways_marked_used_and_removed() {
    let server = TestServer::start();
    let ycsb = Ycsb::new(700, Seed::new(1)).unwrap();
    let tpcc = Tpcc::new(1, Seed::new(1)).unwrap();
    let pgbench = Pgbench::new(1, Seed::new(1)).unwrap();
    for (files, workload) in [
        (1, &ycsb as &dyn Workload),
        (0, &ycsb),
        (0, &tpcc),
        (0, &pgbench),
    ] {
        server
            .session()
            .simple(&format!("SET GLOBAL local_infile={files}"))
            .unwrap();
        let external = connect(&server.url).unwrap();
        let external = external.as_ref();
        assert_eq!(external.name(), "mariadb");
        assert_eq!(external.found().unwrap(), None);
        assert!(!external.remove().unwrap());
        let loaded = load(external, workload).unwrap();
        let note = format!("it's \\ {}", loaded.rows);
        assert_eq!(external.found().unwrap(), Some(note));
        let mut inspection = external.inspect(workload).unwrap();
        let found = contents(inspection.as_mut(), workload).unwrap();
        assert!(found == expected_contents(workload), "{files}");
        let checks = workload.check(inspection.as_mut()).unwrap();
        assert!(checks.iter().all(|check| check.violations == 0));
        drop(inspection);
        let error = load(external, workload).unwrap_err().to_string();
        assert!(error.contains("remove them first"), "{error}");
        let error = connect(&server.url).err().unwrap().to_string();
        assert!(error.contains("another octavo"), "{error}");
        external.set_note("used").unwrap();
        assert_eq!(external.found().unwrap().as_deref(), Some("used"));
        let running = external.start(None, workload).unwrap();
        drop(running.connect(0).unwrap());
        running.stop().unwrap();
        assert!(external.remove().unwrap());
    }
}

#[test]
fn a_stopped_load_counts_as_none_and_is_replaced() {
    let server = TestServer::start();
    let workload = Ycsb::new(700, Seed::new(1)).unwrap();
    let external = connect(&server.url).unwrap();
    let external = external.as_ref();
    let mut calls = 0;
    let stopped = external.load(&workload, &|_| String::new(), &mut |_| {
        calls += 1;
        match calls {
            1 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    assert!(matches!(stopped, Err(DatabaseError::Stopped)));
    assert_eq!(external.found().unwrap(), None);
    assert_eq!(load(external, &workload).unwrap().rows, 700);

    // What somebody else put there, or made from it, is in the way, and
    // nothing is dropped.
    let mut owner = server.session();
    owner.simple("CREATE DATABASE other").unwrap();
    let child = "(k VARCHAR(255) CHARACTER SET latin1 COLLATE latin1_bin, \
         FOREIGN KEY (k) REFERENCES octavo.usertable (ycsb_key)) ENGINE=InnoDB";
    for (what, name) in [
        ("TABLE", "octavo.mine (a INT PRIMARY KEY)"),
        ("VIEW", "octavo.mine AS SELECT 1 AS a"),
        ("VIEW", "octavo.pgbench_tellers AS SELECT 1 AS a"),
        ("VIEW", "other.mine AS SELECT * FROM octavo.usertable"),
        ("SEQUENCE", "octavo.mine"),
        ("PROCEDURE", "octavo.mine() SELECT 1"),
        ("EVENT", "octavo.mine ON SCHEDULE EVERY 1 DAY DO SELECT 1"),
        (
            "TRIGGER",
            "octavo.mine BEFORE DELETE ON usertable FOR EACH ROW SET @a = 1",
        ),
        ("TABLE", &format!("other.mine {child}")),
    ] {
        owner.simple("USE octavo").unwrap();
        owner.simple(&format!("CREATE {what} {name}")).unwrap();
        let error = external.remove().unwrap_err().to_string();
        let (name, _) = name.split_once([' ', '(']).unwrap_or((name, ""));
        let short = name.trim_start_matches("octavo.");
        assert!(error.contains(short), "{what} {name}: {error}");
        assert!(error.contains("drop it first"), "{error}");
        let rows = owner.texts("SELECT COUNT(*) FROM octavo.usertable");
        assert_eq!(rows.unwrap(), [[Some("700".into())]], "{what} {name}");
        assert_eq!(external.found().unwrap().as_deref(), Some("it's \\ 700"));
        owner.simple(&format!("DROP {what} {name}")).unwrap();
    }
    assert!(external.remove().unwrap());
}

#[test]
fn hidden_foreign_keys_stop_the_removal() {
    let server = TestServer::start();
    let workload = Ycsb::new(700, Seed::new(1)).unwrap();
    let mut owner = server.session();
    for sql in [
        "CREATE USER bench@localhost IDENTIFIED BY 'x'",
        "GRANT ALL ON octavo.* TO bench@localhost",
        "CREATE DATABASE other",
    ] {
        owner.simple(sql).unwrap();
    }
    let url = server.url.to_string().replacen("root@", "bench:x@", 1);
    let external = connect(&url.parse().unwrap()).unwrap();
    load(external.as_ref(), &workload).unwrap();
    let child = "CREATE TABLE other.mine (k VARCHAR(255) CHARACTER SET latin1 \
         COLLATE latin1_bin, FOREIGN KEY (k) REFERENCES octavo.usertable (ycsb_key)) \
         ENGINE=InnoDB";
    owner.simple(child).unwrap();
    let error = external.remove().unwrap_err().to_string();
    assert!(error.contains("a foreign key to usertable"), "{error}");
    // The rows and their mark are as they were.
    assert_eq!(external.found().unwrap().as_deref(), Some("it's \\ 700"));
    owner.simple("DROP TABLE other.mine").unwrap();
    assert!(external.remove().unwrap());
}

#[test]
fn an_empty_database_is_loaded_and_not_removed() {
    let server = TestServer::start();
    let workload = Ycsb::new(700, Seed::new(1)).unwrap();
    let external = connect(&server.url).unwrap();
    let external = external.as_ref();
    let mut owner = server.session();
    owner.simple("CREATE DATABASE octavo").unwrap();
    assert_eq!(external.found().unwrap(), None);
    let error = external.remove().unwrap_err().to_string();
    assert!(error.contains("is empty"), "{error}");
    // Only where it is empty indeed.
    for (what, name) in [
        ("EVENT", " ON SCHEDULE EVERY 1 DAY DO DO 1"),
        ("PROCEDURE", "() DO 1"),
    ] {
        let made = format!("CREATE {what} octavo.mine{name}");
        owner.simple(&made).unwrap();
        let error = load(external, &workload).unwrap_err().to_string();
        assert!(error.contains("not marked as Octavo's"), "{error}");
        owner.simple(&format!("DROP {what} octavo.mine")).unwrap();
    }
    assert_eq!(load(external, &workload).unwrap().rows, 700);
    assert!(external.remove().unwrap());

    // Killed when the mark's table was made and not filled.
    owner.simple("CREATE DATABASE octavo").unwrap();
    let table = "CREATE TABLE octavo.octavo_mark (mark TEXT NOT NULL) ENGINE=InnoDB";
    owner.simple(table).unwrap();
    let error = load(external, &workload).unwrap_err().to_string();
    assert!(error.contains("not marked as Octavo's"), "{error}");
    let comment = "ALTER TABLE octavo.octavo_mark COMMENT='octavo: loading'";
    owner.simple(comment).unwrap();
    assert_eq!(external.found().unwrap(), None);
    assert_eq!(load(external, &workload).unwrap().rows, 700);
    assert!(external.remove().unwrap());
}

#[test]
fn a_database_of_somebody_else_is_left_alone() {
    let server = TestServer::start();
    let mut owner = server.session();
    owner.simple("CREATE DATABASE octavo").unwrap();
    let workload = Ycsb::new(700, Seed::new(1)).unwrap();
    let external = connect(&server.url).unwrap();
    let external = external.as_ref();
    for made in [
        "CREATE TABLE octavo.usertable (a INT PRIMARY KEY)",
        "CREATE TABLE octavo.octavo_mark AS SELECT 'mine' AS mark",
    ] {
        owner.simple(made).unwrap();
        for error in [
            external.found().unwrap_err(),
            load(external, &workload).unwrap_err(),
            external.remove().unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains("not marked as Octavo's"), "{error}");
        }
    }
    let tables = owner.texts("SHOW TABLES IN octavo").unwrap();
    assert_eq!(tables.len(), 2);
}

#[test]
fn tables_have_keys_where_the_server_takes_none_without() {
    let server = TestServer::start();
    let tpcc = Tpcc::new(1, Seed::new(1)).unwrap();
    let mut owner = server.session();
    let before = connect(&server.url).unwrap();
    load(before.as_ref(), &tpcc).unwrap();
    before.rehearse(&tpcc).unwrap();
    owner
        .simple("SET GLOBAL innodb_force_primary_key=ON")
        .unwrap();
    // It asked before: its next load would fail, and is not begun.
    let error = before.rehearse(&tpcc).unwrap_err();
    assert!(format!("{error:?}").contains("primary key"), "{error:?}");
    assert!(before.found().unwrap().is_some());
    let rows = owner.texts("SELECT COUNT(*) FROM octavo.warehouse");
    assert_eq!(rows.unwrap(), [[Some("1".into())]]);
    assert!(before.remove().unwrap());
    drop(before);

    for files in [1, 0] {
        owner
            .simple(&format!("SET GLOBAL local_infile={files}"))
            .unwrap();
        let external = connect(&server.url).unwrap();
        let external = external.as_ref();
        load(external, &tpcc).unwrap();
        external.rehearse(&tpcc).unwrap();
        let mut inspection = external.inspect(&tpcc).unwrap();
        let found = contents(inspection.as_mut(), &tpcc).unwrap();
        assert!(found == expected_contents(&tpcc), "{files}");
        drop(inspection);
        let running = external.start(None, &tpcc).unwrap();
        let conditions = running.conditions();
        let keys = conditions.iter().find(|(name, _)| *name == "added_keys");
        assert!(
            keys.unwrap().1.starts_with("history by octavo_row"),
            "{keys:?}"
        );
        let mut clients = octavo_workload::Workload::clients(&tpcc, Seed::new(2), 1);
        let mut connection = running.connect(0).unwrap();
        for _ in 0..30 {
            clients[0].draw();
            clients[0].run(connection.as_mut()).unwrap();
        }
        drop(connection);
        running.stop().unwrap();
        assert!(external.remove().unwrap());
    }
}

#[test]
fn a_database_that_cannot_be_marked_is_not_left() {
    let server = TestServer::start();
    let ycsb = Ycsb::new(700, Seed::new(1)).unwrap();
    let mut owner = server.session();
    for sql in [
        "CREATE USER bench@localhost IDENTIFIED BY 'x'",
        "GRANT CREATE, DROP, SELECT ON octavo.* TO bench@localhost",
    ] {
        owner.simple(sql).unwrap();
    }
    let url = server.url.to_string().replacen("root@", "bench:x@", 1);
    let external = connect(&url.parse().unwrap()).unwrap();
    let external = external.as_ref();
    // It may make the table of the mark, and not fill it.
    load(external, &ycsb).unwrap_err();
    assert!(!external.remove().unwrap());
    let found = owner.texts("SHOW DATABASES LIKE 'octavo'").unwrap();
    assert_eq!(found.len(), 0, "{found:?}");
}

#[test]
fn isolation_that_refuses_changed_rows_is_told() {
    let server = TestServer::start();
    let ycsb = Ycsb::new(700, Seed::new(1)).unwrap();
    let mut owner = server.session();
    let conditions = |owner: &mut Session, value: &str| {
        let set = format!("SET GLOBAL innodb_snapshot_isolation={value}");
        owner.simple(&set).unwrap();
        let external = connect(&server.url).unwrap();
        if external.found().unwrap().is_none() {
            load(external.as_ref(), &ycsb).unwrap();
        }
        let conditions = external.start(None, &ycsb).unwrap().conditions();
        let found = conditions
            .into_iter()
            .find(|(name, _)| *name == SNAPSHOT_ISOLATION);
        found.unwrap().1
    };
    assert_eq!(conditions(&mut owner, "OFF"), "off");
    let on = conditions(&mut owner, "ON");
    assert!(on.contains("serialization failures"), "{on}");
}
