//! Connecting to a server's Unix socket wherever its directory is.

use std::{
    fs::OpenOptions,
    io,
    os::{
        fd::AsRawFd,
        unix::{fs::OpenOptionsExt, net::UnixStream},
    },
    path::Path,
};

/// Connects to the socket `name` in `directory`.
///
/// The path of a socket has 107 bytes at most, which a directory of a user's
/// choice soon passes. A server is given a name relative to its working
/// directory; here the directory is opened and the socket reached through
/// `/proc/self/fd`.
pub(crate) fn connect(directory: &Path, name: &str) -> io::Result<UnixStream> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(directory)?;
    UnixStream::connect(format!("/proc/self/fd/{}/{name}", opened.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::{env, fs, os::unix::net::UnixListener};

    use super::*;

    #[test]
    fn a_socket_is_reached_below_a_long_path() {
        let scratch = crate::scratch::directory();
        let directory = scratch.path().join("d".repeat(120));
        fs::create_dir(&directory).unwrap();
        assert!(UnixListener::bind(directory.join("socket")).is_err());
        let opened = fs::File::open(&directory).unwrap();
        let _listener =
            UnixListener::bind(format!("/proc/self/fd/{}/socket", opened.as_raw_fd())).unwrap();
        connect(&directory, "socket").unwrap();
        assert_eq!(
            connect(&directory, "absent").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert!(connect(&env::temp_dir().join("absent-octavo"), "socket").is_err());
    }
}
