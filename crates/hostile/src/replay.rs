//! Records a server's answers and replays them.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use tempfile::TempDir;

/// The bytes that a server sent, for each connection in the order in which
/// they were opened.
#[derive(Clone, Debug, Default)]
pub struct Conversation(Vec<Vec<u8>>);

impl Conversation {
    /// Each connection's length in four bytes, the lowest first, and its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for answers in &self.0 {
            bytes.extend((answers.len() as u32).to_le_bytes());
            bytes.extend(answers);
        }
        bytes
    }

    /// The same, of whatever bytes.
    pub fn of_bytes(mut bytes: &[u8]) -> Self {
        let mut all = Vec::new();
        while let Some((length, rest)) = bytes.split_first_chunk() {
            let length = (u32::from_le_bytes(*length) as usize).min(rest.len());
            let (answers, rest) = rest.split_at(length);
            all.push(answers.to_vec());
            bytes = rest;
        }
        Self(all)
    }
}

/// A socket that forwards everything to a server.
#[derive(Debug)]
pub struct Record {
    socket: PathBuf,
    _directory: TempDir,
    heard: Arc<Mutex<Conversation>>,
    ended: Arc<AtomicBool>,
    accepting: JoinHandle<()>,
}

impl Record {
    /// Listens for clients of the server behind a socket.
    ///
    /// # Errors
    /// When there is no socket to be had.
    pub fn through(server: &Path) -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let socket = directory
            .path()
            .join(server.file_name().unwrap_or_default());
        let listener = UnixListener::bind(&socket)?;
        let heard = Arc::new(Mutex::new(Conversation::default()));
        let ended = Arc::new(AtomicBool::new(false));
        let (kept, is_over, server) = (heard.clone(), ended.clone(), server.to_owned());
        let accepting = thread::spawn(move || {
            let mut both_ways = Vec::new();
            while let Ok((client, _)) = listener.accept() {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let server = UnixStream::connect(&server).expect("the server is there");
                let number = {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.0.push(Vec::new());
                    kept.0.len() - 1
                };
                let clones = (client.try_clone(), server.try_clone());
                let (Ok(asked), Ok(asking)) = clones else {
                    break;
                };
                both_ways.push(thread::spawn(move || hand_on(asked, asking, |_| ())));
                let kept = kept.clone();
                both_ways.push(thread::spawn(move || {
                    hand_on(server, client, |bytes| {
                        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                        kept.0[number].extend(bytes);
                    });
                }));
            }
            for thread in both_ways {
                let _ended = thread.join();
            }
        });
        Ok(Self {
            socket,
            _directory: directory,
            heard,
            ended,
            accepting,
        })
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Waits until all connections are closed, and returns the server's answers.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn end(self) -> io::Result<Conversation> {
        self.ended.store(true, Ordering::SeqCst);
        UnixStream::connect(&self.socket)?;
        let _ended = self.accepting.join();
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(heard.clone())
    }
}

fn hand_on(mut from: UnixStream, mut to: UnixStream, mut keep: impl FnMut(&[u8])) {
    let mut buffer = [0; 65536];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        keep(&buffer[..bytes]);
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _gone = to.shutdown(Shutdown::Write);
}

/// A socket that replays a conversation, whatever the client sends.
#[derive(Debug)]
pub struct Replay {
    socket: PathBuf,
    _directory: TempDir,
    listener: UnixListener,
}

/// Ends the accepting, also when the conversation panics.
struct StopAccepting<'a>(&'a Path, &'a AtomicBool);

impl Drop for StopAccepting<'_> {
    fn drop(&mut self) {
        self.1.store(true, Ordering::SeqCst);
        let _woken = UnixStream::connect(self.0);
    }
}

impl Replay {
    /// Listens at a socket of that name, in a directory of its own.
    ///
    /// # Panics
    /// When there is no socket to be had.
    pub fn new(name: &'static str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join(name);
        let listener = UnixListener::bind(&socket).expect("a socket");
        Self {
            socket,
            _directory: directory,
            listener,
        }
    }

    /// Has `converse` talk to the socket, which says all answers of a connection
    /// at once. One more than was recorded is closed at once.
    pub fn say<T>(&self, said: Conversation, converse: impl FnOnce(&Path) -> T) -> T {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut said = said.0.into_iter();
                while let Ok((client, _)) = self.listener.accept() {
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    let answers = said.next().unwrap_or_default();
                    scope.spawn(move || talk(&client, &answers));
                }
            });
            let _end = StopAccepting(&self.socket, &is_over);
            converse(&self.socket)
        })
    }
}

/// Sends the answers, and reads what is asked until the client goes.
fn talk(client: &UnixStream, answers: &[u8]) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut unheard = [0; 65536];
            let mut asked = client;
            while let Ok(1..) = asked.read(&mut unheard) {}
        });
        let mut answering = client;
        // A client that has given up is gone.
        let _gone = answering.write_all(answers);
        let _gone = client.shutdown(Shutdown::Write);
    });
}
