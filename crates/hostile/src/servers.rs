//! Answers of servers: a recorded conversation, replayed with damage.

use std::{
    cell::OnceCell,
    error::Error,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use octavo_database::{Url, connect};
use octavo_units::Seed;
use octavo_workload::{Tpcc, Workload, schema::Table};

use crate::{
    reader::{Reader, refuse},
    replay::{Conversation, Record, Replay},
};

pub(crate) const POSTGRES: Reader = Reader {
    name: "postgres",
    sound: || vec![fs::read(recorded("postgres")).expect("a recorded conversation")],
    read: |bytes| {
        thread_local!(static SOCKET: OnceCell<Replay> = const { OnceCell::new() });
        SOCKET.with(|socket| answers(socket, ".s.PGSQL.5432", bytes))
    },
    cost: 2,
};

pub(crate) const MARIADB: Reader = Reader {
    name: "mariadb",
    sound: || vec![fs::read(recorded("mariadb")).expect("a recorded conversation")],
    read: |bytes| {
        thread_local!(static SOCKET: OnceCell<Replay> = const { OnceCell::new() });
        SOCKET.with(|socket| answers(socket, "socket", bytes))
    },
    cost: 2,
};

/// Talks to a socket of that name, which says the bytes of a conversation.
fn answers(socket: &OnceCell<Replay>, name: &'static str, bytes: &[u8]) -> bool {
    let replay = socket.get_or_init(|| Replay::new(name));
    replay.say(Conversation::of_bytes(bytes), |socket| {
        match converse(socket) {
            Ok(()) => true,
            Err(error) => refuse(error.as_ref()),
        }
    })
}

/// Where the conversation with a server is kept.
fn recorded(server: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("conversations")
        .join(server)
}

/// A server's socket as a URL, by the name that the socket has.
fn url(socket: &Path) -> Url {
    let text = match socket.extension() {
        Some(port) => format!(
            "postgres://postgres@:{}/postgres?host={}",
            port.display(),
            socket.parent().unwrap_or(socket).display()
        ),
        None => format!("mysql://root@/?socket={}", socket.display()),
    };
    text.parse().expect("a URL")
}

fn workload() -> Tpcc {
    Tpcc::new(1, Seed::new(1)).expect("one warehouse")
}

/// Drives and checks a server: all requests that Octavo sends to one.
fn converse(socket: &Path) -> Result<(), Box<dyn Error>> {
    let workload = workload();
    let server = connect(&url(socket))?;
    server.found()?;
    let running = server.start(None, &workload)?;
    let mut connection = running.connect(0)?;
    let mut clients = workload.clients(Seed::new(2), 1);
    for _ in 0..30 {
        clients[0].draw();
        clients[0].run(connection.as_mut())?;
        running.counters();
    }
    drop(connection);
    running.stop()?;
    let mut inspection = server.inspect(&workload)?;
    // The checks of a workload would be megabytes.
    let is_small = |table: &&Table| ["warehouse", "district"].contains(&table.name);
    for table in workload.tables().iter().filter(is_small) {
        inspection.scan(table, &mut |_| {})?;
    }
    Ok(())
}

/// Records a conversation with the server behind `socket`, whose rows it loads
/// first, as the sound input of its reader.
///
/// # Errors
/// When the server refuses anything, or the file cannot be written.
pub fn record(socket: &Path) -> Result<(), Box<dyn Error>> {
    let on = &mut |_| ControlFlow::Continue(());
    let server = connect(&url(socket))?;
    server.load(&workload(), &|_| "rows".into(), on)?;
    drop(server);
    let record = Record::through(socket)?;
    converse(record.socket())?;
    let server = match socket.extension() {
        Some(_) => "postgres",
        None => "mariadb",
    };
    Ok(fs::write(recorded(server), record.end()?.to_bytes())?)
}
