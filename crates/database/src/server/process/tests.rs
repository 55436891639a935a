//! Shells as servers.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use tempfile::TempDir;

use super::*;

/// Says to the test program, started again, that it is to be killed.
const VICTIM: &str = "OCTAVO_TEST_VICTIM";

fn shell<'a>(directory: &'a Path, log: &'a Path, script: &str) -> Launch<'a> {
    Launch {
        program: Path::new("/bin/sh"),
        arguments: vec!["-c".into(), script.into()],
        directory,
        log,
        account: None,
        group: None,
        on_death: Signal::KILL,
        input: None,
        environment: vec![("OCTAVO_WORD".into(), "besides".into())],
    }
}

fn place() -> (TempDir, PathBuf) {
    let directory = crate::scratch::directory();
    let log = directory.path().join("log");
    (directory, log)
}

fn is_gone(pid: i32) -> bool {
    (0..6000).any(|_| {
        let gone = descendants::stat(pid).is_none_or(|stat| stat.zombie);
        if !gone {
            thread::sleep(Duration::from_millis(10));
        }
        gone
    })
}

/// Waits for a file with a number.
fn number_in(path: &Path) -> i32 {
    for _ in 0..1000 {
        if let Ok(text) = fs::read_to_string(path)
            && let Ok(number) = text.trim().parse()
        {
            return number;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{} never came", path.display());
}

#[test]
fn a_program_ends_and_leaves_its_last_words() {
    let (directory, log) = place();
    fs::write(&log, "of an earlier start\n").unwrap();
    let script = "echo $HOME $TZ $LANG $OCTAVO_WORD $CARGO; echo; echo oh dear >&2; exit 3";
    let server = Server::launch(&shell(directory.path(), &log, script)).unwrap();
    let status = server
        .wait(Duration::from_secs(20), &mut || false)
        .expect("a shell ends");
    assert_eq!(status.code(), Some(3));
    assert_eq!(server.ended(), Some(status), "it is remembered");
    let home = directory.path().display();
    let words = format!("{home} UTC C besides\noh dear");
    assert_eq!(server.last_words(), words);
    assert_eq!(server.stop(Signal::TERM, Duration::ZERO).unwrap(), status);
}

#[test]
fn a_session_is_lost_for_want_of_space_where_the_server_says_so() {
    let lost = || DatabaseError::Connection(ConnectionError::Lost("it ended".into()));
    let is_full = |said: &str| {
        let (directory, log) = place();
        let script = format!("echo 'PANIC: could not write to file: {said}'");
        let server = Server::launch(&shell(directory.path(), &log, &script)).unwrap();
        let ended = server.wait(Duration::from_secs(20), &mut || false);
        ended.expect("a shell ends");
        server.or_out_of_space(lost()).is_full()
    };
    assert!(is_full("No space left on device"));
    assert!(!is_full("Permission denied"));
}

#[test]
fn a_log_is_readable_by_its_owner_alone() {
    let (directory, log) = place();
    let account = Account::of_servers().unwrap();
    let mut launch = shell(
        directory.path(),
        &log,
        "id -u; id -G; cut -d' ' -f5,6 /proc/$$/stat",
    );
    launch.account = account.as_ref();
    let tool = Server::launch(&launch).unwrap();
    let pid = tool.pid();
    tool.wait(Duration::from_secs(20), &mut || false).unwrap();
    let about = fs::metadata(&log).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    if let Some(account) = account {
        assert_eq!((about.uid(), about.gid()), (account.uid, account.gid));
        let expected = format!("{}\n{}\n{pid} {pid}", account.uid, account.gid);
        assert_eq!(tool.last_words(), expected);
    }
}

#[test]
fn a_server_that_does_not_stop_is_killed() {
    let (directory, log) = place();
    let script = "trap 'echo deaf' TERM; setsid sleep 600 & echo $! > child; \
                  while :; do sleep 0.02; done";
    let server = Server::launch(&shell(directory.path(), &log, script)).unwrap();
    let child = number_in(&directory.path().join("child"));
    let error = server
        .stop(Signal::TERM, Duration::from_millis(300))
        .unwrap_err()
        .to_string();
    assert!(error.contains("0.3 s after SIGTERM"), "{error}");
    assert!(error.ends_with("deaf"), "{error}");
    assert!(server.ended().is_some());
    assert!(is_gone(child), "what left its process group goes too");
}

#[test]
fn a_tool_tells_why_it_failed_and_can_be_stopped() {
    let (directory, log) = place();
    let run = |script: &str, limit: u64, stopped: bool| {
        run_tool(
            "build it",
            &shell(directory.path(), &log, script),
            Duration::from_millis(limit),
            &mut || stopped,
        )
    };
    run("true", 60_000, false).unwrap();
    let error = run("echo no space; exit 2", 60_000, false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "build it with /bin/sh: exit status: 2: no space"
    );
    let error = run("sleep 600", 50, false).unwrap_err().to_string();
    assert!(error.contains("after 0.05 s"), "{error}");
    let error = run("sleep 600", 60_000, true).unwrap_err();
    assert!(matches!(error, DatabaseError::Stopped), "{error}");
}

#[test]
fn a_missing_program_or_directory_is_named() {
    let (directory, log) = place();
    let mut launch = shell(directory.path(), &log, "true");
    launch.program = Path::new("/absent/octavo/program");
    let error = Server::launch(&launch).err().unwrap().to_string();
    assert!(error.contains("/absent/octavo/program"), "{error}");
    let absent = directory.path().join("no-directory");
    let mut launch = shell(&absent, &log, "true");
    launch.program = Path::new("/bin/sh");
    let error = Server::launch(&launch).err().unwrap().to_string();
    assert!(error.contains("no-directory"), "{error}");
}

#[test]
fn a_server_outlives_the_thread_that_asked_for_it() {
    let (directory, log) = place();
    let server = thread::scope(|scope| {
        let launch = || Server::launch(&shell(directory.path(), &log, "sleep 600")).unwrap();
        scope.spawn(launch).join().unwrap()
    });
    thread::sleep(Duration::from_millis(50));
    assert_eq!(server.ended(), None);
    let pid = server.pid();
    drop(server);
    assert!(is_gone(pid));
}

#[test]
fn a_server_does_not_outlive_octavo() {
    if let Some(directory) = env::var_os(VICTIM) {
        let directory = PathBuf::from(directory);
        let log = directory.join("log");
        let server = Server::launch(&shell(&directory, &log, "sleep 600")).unwrap();
        fs::write(directory.join("pid"), server.pid().to_string()).unwrap();
        thread::sleep(Duration::from_secs(60));
        return;
    }
    let (directory, _) = place();
    let mut octavo = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "server::process::tests::a_server_does_not_outlive_octavo",
        ])
        .env(VICTIM, directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = number_in(&directory.path().join("pid"));
    assert!(descendants::stat(pid).is_some());
    octavo.kill().unwrap();
    octavo.wait().unwrap();
    assert!(is_gone(pid));
}

#[test]
fn last_lines_are_short_and_printable() {
    assert_eq!(last_lines("1\n2\n\n3\n4\n5\n6\n7\n\n"), "2\n3\n4\n5\n6\n7");
    let dump = "error: failed\ndetail: Command was: COPY a (secret) TO stdout;\n";
    assert_eq!(last_lines(dump), "error: failed");
    assert_eq!(last_lines("a\u{1b}[31mb"), "a\u{fffd}[31mb");
    let long = last_lines(&"ä".repeat(5000));
    assert_eq!(long.chars().count(), WORDS_CHARACTERS);
    assert_eq!(last_lines(""), "");
}
