//! The reads and writes of files that one process of a server makes, by its system calls
//! (ptrace(2)).
//!
//! The process stops at each system call and goes on when whoever watches it has seen the call.
//! So what it read for a statement was seen before it answers. A thread of its own watches:
//! the kernel takes orders for a process from the thread that follows it alone. That thread begins
//! with [`ready`], before a caller is held to its directories: one that is held may not follow a
//! process that is not.

#![expect(unsafe_code, reason = "the kernel tells of a system call in a union")]

use std::{
    io,
    sync::{
        LazyLock,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use nix::{
    errno::Errno,
    libc,
    sys::{
        ptrace,
        signal::Signal,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

/// What a process did to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileCall {
    pub(crate) action: FileAction,
    /// The number that the process has for the file.
    pub(crate) file: i32,
    /// Where in the file, in bytes.
    pub(crate) offset: u64,
    /// Bytes that were read or written.
    pub(crate) bytes: u64,
}

/// What is done to a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAction {
    Read,
    Write,
    /// Room is made (fallocate(2)).
    Allocate,
}

/// Is told of each call while the process waits for that.
pub(crate) type Watch = Box<dyn FnMut(&FileCall) + Send>;

/// A process to follow.
struct Order {
    pid: Pid,
    watch: Watch,
    /// Whether it is followed.
    begun: Sender<io::Result<()>>,
    /// Goes away when the process has ended.
    ended: Sender<()>,
}

/// The thread that follows processes, one after the other. `None` when the system has no thread
/// left to give.
static FOLLOWER: LazyLock<Option<Sender<Order>>> = LazyLock::new(|| {
    let (orders, inbox) = mpsc::channel();
    thread::Builder::new()
        .name("octavo-follower".into())
        .spawn(move || follow_all(inbox))
        .ok()
        .map(|_thread| orders)
});

/// Begins the thread.
pub(crate) fn ready() {
    LazyLock::force(&FOLLOWER);
}

/// A process that is followed until it ends.
pub(crate) struct Followed {
    ended: Receiver<()>,
}

impl Followed {
    /// Follows a process that only waits for its client.
    ///
    /// # Errors
    /// When the kernel refuses that (EPERM: it takes the same user or CAP_SYS_PTRACE), or is older
    /// than Linux 5.3.
    pub(crate) fn begin(pid: i32, watch: Watch) -> io::Result<Self> {
        let gone = || io::Error::other("there is no thread to follow processes");
        let orders = FOLLOWER.as_ref().ok_or_else(gone)?;
        let (begun, is_begun) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        let order = Order {
            pid: Pid::from_raw(pid),
            watch,
            begun,
            ended,
        };
        orders.send(order).map_err(|_| gone())?;
        is_begun.recv().map_err(|_| gone())??;
        Ok(Self { ended: has_ended })
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(self) {
        // Nothing is sent: the other side goes away.
        let _gone = self.ended.recv();
    }
}

fn follow_all(inbox: Receiver<Order>) {
    for order in inbox {
        let Order {
            pid,
            mut watch,
            begun,
            ended,
        } = order;
        let stopped = stop(pid);
        let is_stopped = stopped.is_ok();
        // Whoever asked waits for the reply.
        let _received = begun.send(stopped.map_err(io::Error::from));
        if is_stopped {
            // It ends when the process is gone, however that went.
            let _gone = follow(pid, &mut watch);
        }
        // What it notes is nobody's any more when that is said.
        drop(watch);
        drop(ended);
    }
}

/// Has a process stop at its system calls from now on.
fn stop(pid: Pid) -> Result<(), Errno> {
    ptrace::seize(pid, ptrace::Options::PTRACE_O_TRACESYSGOOD)?;
    ptrace::interrupt(pid)?;
    waitpid(pid, Some(WaitPidFlag::__WALL))?;
    // A kernel that cannot tell of calls says so now, and the process goes on.
    if let Err(error) = told(pid) {
        ptrace::detach(pid, None)?;
        return Err(error);
    }
    ptrace::syscall(pid, None)
}

/// Passes on what a process does until it is gone.
fn follow(pid: Pid, watch: &mut Watch) -> Result<(), Errno> {
    let mut begun = None;
    loop {
        let signal = match waitpid(pid, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::PtraceSyscall(_)) => {
                match told(pid)? {
                    Told::Begins(call) => begun = call,
                    Told::Ends { answer } => {
                        if let Some(call) = begun.take().and_then(|call: Call| call.done(answer)) {
                            watch(&call);
                        }
                    }
                    Told::Nothing => {}
                }
                None
            }
            Ok(WaitStatus::Stopped(_, signal)) => Some(signal),
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => return Ok(()),
            Ok(_) | Err(Errno::EINTR) => None,
            Err(error) => return Err(error),
        };
        match ptrace::syscall(pid, signal.filter(is_passed_on)) {
            // It was killed meanwhile, which the next wait says.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Signals that a process gets, but those by which the kernel says that it was stopped.
fn is_passed_on(signal: &Signal) -> bool {
    *signal != Signal::SIGTRAP
}

/// A system call that has begun.
struct Call {
    action: FileAction,
    file: i32,
    offset: u64,
    /// Of a call whose answer does not say how many there are.
    bytes: Option<u64>,
}

impl Call {
    fn new(number: u64, arguments: [u64; 6]) -> Option<Self> {
        let of = |action, offset: usize| {
            Some(Self {
                action,
                file: arguments[0] as u32 as i32,
                offset: arguments[offset],
                bytes: None,
            })
        };
        match i64::try_from(number).ok()? {
            libc::SYS_pread64 | libc::SYS_preadv | libc::SYS_preadv2 => of(FileAction::Read, 3),
            libc::SYS_pwrite64 | libc::SYS_pwritev | libc::SYS_pwritev2 => of(FileAction::Write, 3),
            libc::SYS_fallocate => Some(Self {
                bytes: Some(arguments[3]),
                ..of(FileAction::Allocate, 2)?
            }),
            _ => None,
        }
    }

    /// The same when it has ended; `None` if it failed or moved nothing.
    fn done(self, answer: i64) -> Option<FileCall> {
        let bytes = match (u64::try_from(answer).ok()?, self.bytes) {
            (0, Some(bytes)) => bytes,
            (_, Some(_)) => return None,
            (bytes, None) => bytes,
        };
        (bytes > 0).then_some(FileCall {
            action: self.action,
            file: self.file,
            offset: self.offset,
            bytes,
        })
    }
}

/// What a stop is for.
enum Told {
    Begins(Option<Call>),
    Ends { answer: i64 },
    Nothing,
}

#[cfg(target_env = "gnu")]
fn told(pid: Pid) -> Result<Told, Errno> {
    let about = ptrace::syscall_info(pid)?;
    Ok(match about.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY => {
            // SAFETY: this is what a stop at the begin of a call has.
            let entry = unsafe { about.u.entry };
            Told::Begins(Call::new(entry.nr, entry.args))
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            // SAFETY: this is what a stop at the end of a call has.
            let exit = unsafe { about.u.exit };
            Told::Ends { answer: exit.sval }
        }
        _ => Told::Nothing,
    })
}

/// Other libraries of C have no such call yet.
#[cfg(not(target_env = "gnu"))]
fn told(_: Pid) -> Result<Told, Errno> {
    Err(Errno::ENOSYS)
}

#[cfg(test)]
mod tests {
    use std::{
        env,
        fs::{self, File},
        io::{Read as _, Write as _},
        os::unix::fs::FileExt as _,
        path::PathBuf,
        process::{Command, Stdio},
        sync::{Arc, Mutex},
        time::Duration,
    };

    use super::*;

    /// Names a directory for the process that is followed.
    const DIRECTORY: &str = "OCTAVO_TEST_FOLLOWED";

    /// What the process that is followed does: nothing among other tests.
    #[test]
    fn a_process_reads_and_writes() {
        let Some(directory) = env::var_os(DIRECTORY).map(PathBuf::from) else {
            return;
        };
        let file = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(directory.join("file"))
            .unwrap();
        // Tests run in threads of their own.
        let own = rustix::thread::gettid().as_raw_nonzero().to_string();
        fs::write(directory.join("begun"), own).unwrap();
        fs::rename(directory.join("begun"), directory.join("thread")).unwrap();
        std::io::stdin().read_exact(&mut [0]).unwrap();
        let mut page = [0; 100];
        file.write_all_at(&page, 300).unwrap();
        file.read_exact_at(&mut page, 200).unwrap();
        assert_eq!(file.read_at(&mut page, 350).unwrap(), 50);
    }

    #[test]
    fn what_a_process_does_to_a_file_is_seen_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let name = "server::file_calls::tests::a_process_reads_and_writes";
        let mut process = Command::new(env::current_exe().unwrap())
            .args([name, "--exact"])
            .env(DIRECTORY, directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let thread = loop {
            match fs::read_to_string(directory.path().join("thread")) {
                Ok(thread) => break thread.parse().unwrap(),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        };
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        let watch = Box::new(move |call: &FileCall| {
            let call = (call.action, call.offset, call.bytes);
            noted.lock().unwrap().push(call);
        });
        let followed = Followed::begin(thread, watch);
        process.stdin.take().unwrap().write_all(b"1").unwrap();
        let is_followed = followed.is_ok();
        match followed {
            Ok(followed) => followed.wait(),
            Err(error) => eprintln!("skipped: processes cannot be followed here: {error}"),
        }
        assert!(process.wait().unwrap().success());
        let calls = seen.lock().unwrap();
        let wanted = [
            (FileAction::Write, 300, 100),
            (FileAction::Read, 200, 100),
            (FileAction::Read, 350, 50),
        ];
        assert!(!is_followed || *calls == wanted, "{calls:?}");
    }

    #[test]
    fn calls_have_their_bytes() {
        let call = |number: i64, arguments: [u64; 4], answer: i64| {
            let [a, b, c, d] = arguments;
            Call::new(number as u64, [a, b, c, d, 0, 0]).and_then(|call| call.done(answer))
        };
        let seen = |action, offset, bytes| {
            Some(FileCall {
                action,
                file: 7,
                offset,
                bytes,
            })
        };
        let place = [7, 0x1000, 8192, 16384];
        let read = call(libc::SYS_pread64, place, 8192);
        assert_eq!(read, seen(FileAction::Read, 16384, 8192));
        let short = call(libc::SYS_pread64, place, 100);
        assert_eq!(short, seen(FileAction::Read, 16384, 100));
        let write = call(libc::SYS_pwrite64, place, 8192);
        assert_eq!(write, seen(FileAction::Write, 16384, 8192));
        let room = call(libc::SYS_fallocate, [7, 0, 8192, 65536], 0);
        assert_eq!(room, seen(FileAction::Allocate, 8192, 65536));
        assert_eq!(call(libc::SYS_pread64, place, 0), None, "the file's end");
        assert_eq!(call(libc::SYS_pread64, place, -5), None, "an error");
        assert_eq!(call(libc::SYS_fallocate, [7, 0, 8192, 65536], -95), None);
        assert_eq!(call(libc::SYS_getpid, place, 100), None);
    }
}
