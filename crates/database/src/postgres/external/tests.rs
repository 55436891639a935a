//! A private server plays the user's.

use std::ops::ControlFlow;

use octavo_units::Seed;
use octavo_workload::{Workload, Ycsb, connection::Access};

use super::super::session::tests::server::{TestServer, shared};
use super::*;
use crate::{Progress, connect};

/// A database of its own on the server that all tests share.
fn url(server: &TestServer, user: &str, database: &str) -> Url {
    let mut session = server.session();
    let found = session
        .texts(&format!(
            "SELECT 1 FROM pg_database WHERE datname = '{database}'"
        ))
        .unwrap();
    if found.is_empty() {
        session
            .simple(&format!("CREATE DATABASE {database}"))
            .unwrap();
    }
    let directory = server.directory().display();
    let text = format!(
        "postgres://{user}@:{}/{database}?host={directory}",
        server.port()
    );
    text.parse().unwrap()
}

fn workload() -> Ycsb {
    Ycsb::new(700, Seed::new(1)).unwrap()
}

fn load(server: &dyn ExternalServer) -> Result<LoadReport, DatabaseError> {
    let on: &mut Progress<'_> = &mut |_| ControlFlow::Continue(());
    server.load(&workload(), &|loaded| format!("it's {}", loaded.rows), on)
}

#[test]
fn rows_are_loaded_marked_used_and_removed() {
    let url = url(shared(), "octavo", "external_whole");
    let external = connect(&url).unwrap();
    let external = external.as_ref();
    assert_eq!(external.found().unwrap(), None);
    assert!(!external.remove().unwrap());
    let loaded = load(external).unwrap();
    assert_eq!(loaded.rows, 700);
    assert!(loaded.size > ByteCount::new(700 * 1000));
    assert_eq!(external.found().unwrap().as_deref(), Some("it's 700"));
    let error = load(external).unwrap_err().to_string();
    assert!(error.contains("remove them first"), "{error}");
    external.set_note("used").unwrap();
    assert_eq!(external.found().unwrap().as_deref(), Some("used"));
    // Nobody else may work there meanwhile.
    let error = connect(&url).err().unwrap().to_string();
    assert!(error.contains("another octavo"), "{error}");

    let workload = workload();
    let running = external
        .start(Some(Isolation::Serializable), &workload)
        .unwrap();
    let mut connection = running.connect(0).unwrap();
    connection.begin(Access::Read).unwrap();
    connection.commit().unwrap();
    let conditions = running.conditions();
    assert!(conditions.contains(&("isolation", "serializable".into())));
    drop(connection);
    running.stop().unwrap();
    let mut inspection = external.inspect(&workload).unwrap();
    let rows = inspection.scan(&workload.tables()[0], &mut |_| {}).unwrap();
    assert_eq!(rows, 700);
    assert!(workload.check(inspection.as_mut()).is_ok());
    drop(inspection);

    assert!(external.remove().unwrap());
    assert_eq!(external.found().unwrap(), None);
}

#[test]
fn a_schema_of_somebody_else_is_left_alone() {
    let server = shared();
    let url = url(server, "octavo", "external_foreign");
    let mut owner = open(&url, &[]).unwrap();
    owner
        .simple("CREATE SCHEMA octavo; CREATE TABLE octavo.usertable AS SELECT 7 AS a")
        .unwrap();
    let external = connect(&url).unwrap();
    let external = external.as_ref();
    for error in [
        external.found().unwrap_err(),
        load(external).unwrap_err(),
        external.remove().unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.contains("not marked as Octavo's"), "{error}");
    }
    let rows = owner.texts("SELECT a FROM octavo.usertable").unwrap();
    assert_eq!(rows, [[Some("7".to_owned())]]);
}

#[test]
fn foreign_objects_made_of_the_rows_are_not_dropped() {
    let url = url(shared(), "octavo", "external_entangled");
    let external = connect(&url).unwrap();
    let external = external.as_ref();
    load(external).unwrap();
    let mut owner = open(&url, &[]).unwrap();
    for (made, undone, named) in [
        (
            "CREATE VIEW public.mine AS SELECT * FROM octavo.usertable",
            "DROP VIEW public.mine",
            "view public.mine",
        ),
        (
            "CREATE TABLE octavo.mine (a int)",
            "DROP TABLE octavo.mine",
            "table mine",
        ),
    ] {
        owner.simple(made).unwrap();
        let error = external.remove().unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
        // All or nothing.
        assert_eq!(external.found().unwrap().as_deref(), Some("it's 700"));
        let rows = owner.texts("SELECT count(*) FROM octavo.usertable");
        assert_eq!(rows.unwrap(), [[Some("700".to_owned())]]);
        owner.simple(undone).unwrap();
    }
    assert!(external.remove().unwrap());
}

#[test]
fn a_stopped_load_counts_as_none_and_is_replaced() {
    let url = url(shared(), "octavo", "external_stopped");
    let external = connect(&url).unwrap();
    let external = external.as_ref();
    let mut calls = 0;
    let stopped = external.load(&workload(), &|_| String::new(), &mut |_| {
        calls += 1;
        match calls {
            1 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    assert!(matches!(stopped, Err(DatabaseError::Stopped)));
    assert_eq!(external.found().unwrap(), None);
    assert_eq!(load(external).unwrap().rows, 700);
    assert!(external.remove().unwrap());
    assert!(!external.remove().unwrap());
}

#[test]
fn a_missing_right_is_named_with_its_grant() {
    let url = url(shared(), "octavo_plain:plain", "external_right");
    let external = connect(&url).unwrap();
    let error = load(external.as_ref()).unwrap_err().to_string();
    assert!(
        error.ends_with("GRANT CREATE ON DATABASE external_right TO octavo_plain"),
        "{error}"
    );
    assert_eq!(external.found().unwrap(), None);
}

#[test]
fn a_wrong_password_is_told_and_not_shown() {
    let url = url(shared(), "octavo_plain:s3cret", "external_login");
    let error = connect(&url).err().unwrap();
    let text = format!("{error:?} {error}");
    assert!(text.contains("28P01"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
}

/// A stand-in for a pooler: it lets everybody in, and answers to each question
/// which process it was that answered. Returns its URL and, once it was asked,
/// what two clients sent.
fn pooler(process: fn(client: usize) -> u32) -> (Url, thread::JoinHandle<Vec<Vec<u8>>>) {
    use std::{io::Read, io::Write, net::TcpListener};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("postgres://anna@127.0.0.1:{port}/shop");
    let message = |tag: u8, body: &[u8]| {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[tag], &length[..], body].concat()
    };
    let clients = thread::spawn(move || {
        let client = |number: usize| {
            let mut stream = listener.accept().unwrap().0;
            thread::spawn(move || {
                let mut sent = Vec::new();
                let mut bytes = [0; 1024];
                let ready = message(b'Z', b"I");
                let mut answer = [message(b'R', &[0; 4]), ready.clone()].concat();
                while let Ok(length @ 1..) = stream.read(&mut bytes) {
                    sent.extend_from_slice(&bytes[..length]);
                    stream.write_all(&answer).unwrap();
                    let process = process(number).to_string();
                    let value_length = u32::try_from(process.len()).unwrap().to_be_bytes();
                    let row = [&[0, 1], &value_length[..], process.as_bytes()].concat();
                    answer = [
                        message(b'D', &row),
                        message(b'C', b"SELECT 1\0"),
                        ready.clone(),
                    ]
                    .concat();
                }
                sent
            })
        };
        let clients = [client(0), client(1)];
        clients.map(|client| client.join().unwrap()).into()
    });
    (url.parse().unwrap(), clients)
}

#[test]
fn a_pooler_that_shares_processes_is_refused() {
    let (url, clients) = pooler(|_| 7);
    let error = connect(&url).err().unwrap().to_string();
    assert!(error.contains("is a pooler"), "{error}");
    assert!(error.contains("pool_mode=session"), "{error}");
    for sent in clients.join().unwrap() {
        // No parameters but those that poolers take, and nothing that others
        // would find: neither set nor prepared.
        let text = String::from_utf8_lossy(&sent);
        for taken in ["application_name", "client_encoding", "timezone"] {
            assert!(text.contains(taken), "{text}");
        }
        for never in ["search_path", "timeout", "SET", "BEGIN"] {
            assert!(!text.contains(never), "{never} in {text}");
        }
    }
    let (url, clients) = pooler(|client| [7, 8][client]);
    assert!(!shares_processes(&url).unwrap());
    drop(clients.join().unwrap());
}

#[test]
fn what_the_server_does_not_take_leaves_the_rows() {
    let url = url(shared(), "octavo", "external_rehearsed");
    let external = connect(&url).unwrap();
    let external = external.as_ref();
    // Nothing is there, nothing is tried.
    external.rehearse(&workload()).unwrap();
    load(external).unwrap();
    external.rehearse(&workload()).unwrap();
    let mut owner = open(&url, &[]).unwrap();
    // As a server may forbid tables in its own ways.
    owner
        .simple(
            "CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS \
             'BEGIN RAISE ''no tables today''; END'; \
             CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('CREATE TABLE') \
             EXECUTE FUNCTION public.refuse()",
        )
        .unwrap();
    let error = external.rehearse(&workload()).unwrap_err();
    assert!(
        format!("{error:?}").contains("no tables today"),
        "{error:?}"
    );
    assert_eq!(external.found().unwrap().as_deref(), Some("it's 700"));
    owner.simple("DROP EVENT TRIGGER refuse").unwrap();
    external.rehearse(&workload()).unwrap();
    assert!(external.remove().unwrap());
}
