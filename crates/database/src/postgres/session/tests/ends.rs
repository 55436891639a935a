//! How sessions begin, and how they end before their time.

use std::{
    io::Write,
    os::unix::net::UnixStream,
    thread,
    time::{Duration, Instant},
};

use octavo_workload::{
    ConnectionError,
    connection::{Access, Batch, Connection},
    population::RowBatch,
    schema::TableId,
};
use rustix::process::{Pid, Signal, kill_process};

use super::server::TestServer;
use super::{
    super::super::copy::CopyIn, GET, INTEGER, PAIR, SET, SMALLER, Session, again, integer, one,
    reason, session, shared,
};
use crate::wire::Stream;

#[test]
fn logins_use_the_methods_of_the_server() {
    let server = shared();
    let limit = Duration::from_secs(20);
    let open = |stream, user, password, database| {
        Session::open(stream, user, password, database, &[], limit)
    };
    let tcp = || Stream::tcp("127.0.0.1", server.port(), limit).unwrap();
    let unix = || server.stream().unwrap();
    for (user, password) in [
        ("octavo_plain", "plain"),
        ("octavo_md5", "md5 word"),
        ("octavo_scram", "scram wörd"),
    ] {
        let mut session = open(unix(), user, Some(password), "postgres").unwrap();
        assert_eq!(
            session.texts("SELECT current_user").unwrap(),
            [[Some(user.to_owned())]]
        );
        let error = open(unix(), user, Some("wrong"), "postgres").err().unwrap();
        assert!(reason(&error).contains("28P01"), "{error:?}");
        assert!(matches!(error, ConnectionError::Other { .. }));
        let error = open(unix(), user, None, "postgres").err().unwrap();
        assert!(reason(&error).contains("none was given"), "{error:?}");
    }
    let mut session = open(tcp(), "octavo_scram", Some("scram wörd"), "postgres").unwrap();
    session.prepare_all(&[]).unwrap();
    session.begin(Access::Read).unwrap();
    session.commit().unwrap();
    let error = open(unix(), "octavo", None, "nowhere").err().unwrap();
    assert!(error.to_string().contains("'nowhere'"), "{error}");
    assert!(reason(&error).contains("3D000"), "{error:?}");
    let error = open(unix(), "o\0", None, "postgres").err().unwrap();
    assert!(matches!(error, ConnectionError::Other { .. }), "{error:?}");

    let options = [
        ("application_name", "octavo test".to_owned()),
        ("default_transaction_isolation", "serializable".to_owned()),
    ];
    let mut session = server.try_session(&options).unwrap();
    for (name, value) in &options {
        let shown = session.texts(&format!("SHOW {name}")).unwrap();
        assert_eq!(shown, [[Some(value.clone())]]);
    }
}

/// A server that never says a word, and one that says nonsense.
#[test]
fn a_silent_login_times_out() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let limit = Duration::from_millis(30);
    let error = Session::open(Stream::Unix(ours), "u", None, "d", &[], limit)
        .err()
        .unwrap();
    assert!(matches!(error, ConnectionError::Lost(_)), "{error:?}");
    for nonsense in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"R\0\0\0\x08\0\0\0\x0bZ",
        b"R\0\0\0\x04",
        b"R\0\0\0\x08\0\0\0\x07",
        b"R\0\0\0\x0a\0\0\0\x0aX\0",
        b"Z\0\0\0\x05I",
    ] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(nonsense).unwrap();
        let opened = Session::open(Stream::Unix(ours), "u", Some("p"), "d", &[], limit);
        assert!(opened.is_err(), "{nonsense:?}");
    }
}

#[test]
fn a_pooler_without_a_connection_left_is_told() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs
        .write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")
        .unwrap();
    let limit = Duration::from_millis(30);
    let opened = Session::open(Stream::Unix(ours), "u", None, "d", &[], limit);
    let error = opened.err().unwrap();
    // Whoever waits for a server waits for this too.
    assert!(matches!(error, ConnectionError::Lost(_)), "{error:?}");
    assert!(reason(&error).contains("default_pool_size"), "{error:?}");
}

fn is_lost<T: std::fmt::Debug>(result: Result<T, ConnectionError>) -> String {
    match result {
        Err(error @ ConnectionError::Lost(_)) => reason(&error),
        other => panic!("{other:?}"),
    }
}

const COPY: &str = "COPY pair FROM STDIN (FORMAT binary)";

fn all_calls_say_lost(session: &mut Session) {
    is_lost(session.begin(Access::Write));
    is_lost(session.rollback());
    is_lost(session.commit());
    is_lost(session.execute(SET, &[integer(1), integer(1)]));
    is_lost(session.query(GET, &[integer(1)], &mut |_| {}));
    is_lost(session.run_batch(&Batch::default(), &mut |_, _| {}, &mut Vec::new()));
    is_lost(session.simple("SELECT 1"));
    is_lost(session.scan("SELECT 1", &[INTEGER], &mut |_| {}));
    is_lost(CopyIn::start(session, COPY, &[INTEGER; 2]).map(drop));
    is_lost(session.prepare_all(&PAIR));
}

#[test]
fn an_ended_session_is_lost() {
    // Ended while idle, then found out at the next statement.
    let mut session = session("ended");
    let pid = session.texts("SELECT pg_backend_pid()").unwrap()[0][0]
        .take()
        .unwrap();
    again("ended")
        .simple(&format!(
            "SELECT pg_terminate_backend({pid}); SELECT pg_sleep(0.2)"
        ))
        .unwrap();
    session.begin(Access::Write).unwrap();
    let why = is_lost(session.execute(SET, &[integer(1), integer(1)]));
    assert!(why.contains("57P01"), "{why}");
    all_calls_say_lost(&mut session);
    let why = is_lost(session.commit());
    assert!(
        why.contains("earlier error") && why.contains("57P01"),
        "{why}"
    );

    // In the middle of a COPY.
    let mut session = again("ended");
    let pid = session.texts("SELECT pg_backend_pid()").unwrap()[0][0]
        .take()
        .unwrap();
    let mut copy = CopyIn::start(&mut session, COPY, &[INTEGER, SMALLER]).unwrap();
    again("ended")
        .simple(&format!("SELECT pg_terminate_backend({pid})"))
        .unwrap();
    let mut batch = RowBatch::new();
    batch.reset(TableId(0), 2);
    for key in 1000..1512 {
        batch.push_integer(key);
        batch.push_integer(0);
    }
    let result = (0..10_000).try_for_each(|_| copy.batch(&batch));
    is_lost(result);
    drop(copy);
    all_calls_say_lost(&mut session);
}

#[test]
fn a_killed_server_is_lost() {
    let mut server = TestServer::start();
    let table =
        "CREATE TABLE pair (k bigint PRIMARY KEY, v integer); INSERT INTO pair VALUES (1, 0)";
    let mut victim = server.session();
    victim.simple(table).unwrap();
    victim.prepare_all(&PAIR).unwrap();
    let mut bystander = server.session();
    bystander.prepare_all(&PAIR).unwrap();
    bystander.begin(Access::Write).unwrap();
    bystander.execute(SET, &[integer(1), integer(1)]).unwrap();

    // A backend that dies takes the others along.
    let pid = victim.texts("SELECT pg_backend_pid()").unwrap()[0][0]
        .take()
        .unwrap();
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    thread::scope(|scope| {
        for session in [&mut victim, &mut bystander] {
            scope.spawn(move || {
                is_lost(session.simple("SELECT pg_sleep(60)"));
            });
        }
        thread::sleep(Duration::from_millis(200));
        kill_process(pid, Signal::KILL).unwrap();
    });
    all_calls_say_lost(&mut victim);
    all_calls_say_lost(&mut bystander);

    // The server itself, once it has recovered.
    let started = Instant::now();
    let mut session = loop {
        match server.try_session(&[]) {
            Ok(session) => break session,
            Err(error) => {
                assert!(matches!(error, ConnectionError::Lost(_)), "{error:?}");
                assert!(started.elapsed() < Duration::from_secs(60), "{error:?}");
                thread::sleep(Duration::from_millis(20));
            }
        }
    };
    session.prepare_all(&PAIR).unwrap();
    assert_eq!(one(&mut session, GET, &[integer(1)]), Some(0));
    server.kill();
    is_lost(session.query(GET, &[integer(1)], &mut |_| {}));
    all_calls_say_lost(&mut session);
    assert!(!server.directory().exists());
}
