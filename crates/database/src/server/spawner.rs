//! The thread that starts all programs.
//!
//! The signal that the kernel sends a program when Octavo dies
//! (`PR_SET_PDEATHSIG`) is sent when the *thread* that started it ends, not
//! the process (prctl(2)). A worker thread that starts a server and ends would
//! take the server along. So one thread starts all of them, and lives until
//! Octavo ends.

use std::{
    io,
    process::{Child, Command},
    sync::{
        LazyLock,
        mpsc::{self, Sender},
    },
    thread,
};

/// A program to start and where to send the outcome.
struct Order {
    command: Command,
    reply: Sender<io::Result<Child>>,
}

/// The thread, started with the first program. `None` when the system has no
/// thread left to give.
static SPAWNER: LazyLock<Option<Sender<Order>>> = LazyLock::new(|| {
    let (orders, inbox) = mpsc::channel::<Order>();
    thread::Builder::new()
        .name("octavo-spawner".into())
        .spawn(move || {
            for mut order in inbox {
                // Whoever asked waits for the reply, so it is received.
                let _received = order.reply.send(order.command.spawn());
            }
        })
        .ok()
        .map(|_thread| orders)
});

/// Starts a program on the thread that lives until Octavo ends.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    let gone = || io::Error::other("there is no thread to start programs on");
    let (reply, answer) = mpsc::channel();
    let orders = SPAWNER.as_ref().ok_or_else(gone)?;
    orders.send(Order { command, reply }).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}
