//! One sitting a host: two at the same time would measure each other.

use std::{
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    thread,
    time::Duration,
};

/// What holds others off, in the kernel's abstract namespace of sockets (unix(7)): no file is left,
/// and it ends with the process. Containers with networks of their own do not see each other's.
const NAME: &str = "octavo sitting";

/// How often it is looked whether the other one has ended.
const PATIENCE: Duration = Duration::from_millis(200);

/// This host's turn, as long as this lives.
#[derive(Debug)]
pub struct Alone {
    _held: UnixListener,
}

impl Alone {
    /// Waits until no other sitting is at work on this host; `None` where `is_interrupted` says so
    /// first. `tell` is called once, if there is one.
    ///
    /// # Errors
    /// When the system has no such sockets.
    pub fn wait(is_interrupted: &dyn Fn() -> bool, tell: &dyn Fn()) -> io::Result<Option<Self>> {
        Self::wait_as(NAME, is_interrupted, tell)
    }

    fn wait_as(
        name: &str,
        is_interrupted: &dyn Fn() -> bool,
        tell: &dyn Fn(),
    ) -> io::Result<Option<Self>> {
        let address = SocketAddr::from_abstract_name(name)?;
        let mut is_told = false;
        loop {
            match UnixListener::bind_addr(&address) {
                Ok(held) => return Ok(Some(Self { _held: held })),
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Err(error),
                Err(_) if is_interrupted() => return Ok(None),
                Err(_) => {}
            }
            if !is_told {
                tell();
                is_told = true;
            }
            thread::sleep(PATIENCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn one_is_at_work_and_the_others_wait_until_it_ends_or_they_are_told_to() {
        let name = format!("octavo test {}", std::process::id());
        let first = Alone::wait_as(&name, &|| false, &|| panic!("nobody is there"));
        let first = Cell::new(first.unwrap());
        let told = Cell::new(0);
        let tell = || told.set(told.get() + 1);
        assert!(Alone::wait_as(&name, &|| true, &tell).unwrap().is_none());
        // Asked for the third time, the first one ends.
        let asked = Cell::new(0);
        let end = || {
            asked.set(asked.get() + 1);
            if asked.get() == 3 {
                drop(first.take());
            }
            false
        };
        assert!(Alone::wait_as(&name, &end, &tell).unwrap().is_some());
        assert_eq!((asked.get(), told.get()), (3, 1));
    }
}
