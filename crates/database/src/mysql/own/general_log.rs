//! Entries of the general log.

/// An entry of the general log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry<'l> {
    pub(super) session: &'l str,
    pub(super) command: &'l str,
    pub(super) argument: &'l [u8],
}

/// An entry's first line: a time or nothing, a tab, the session's number, a command, a tab, and
/// its argument.
pub(super) fn entry(line: &[u8]) -> Option<Entry<'_>> {
    // `sql/sql_parse.cc` of both has them: `command_name`, and `Command_names` of MySQL 8.
    const COMMANDS: [&str; 38] = [
        "Binlog Dump",
        "Binlog Dump GTID",
        "Bulk_execute",
        "Change user",
        "Close stmt",
        "Connect",
        "Connect Out",
        "Create DB",
        "Daemon",
        "Debug",
        "Delayed insert",
        "Drop DB",
        "Error",
        "Execute",
        "Fetch",
        "Field List",
        "Init DB",
        "Kill",
        "Long Data",
        "Ping",
        "Prepare",
        "Processlist",
        "Query",
        "Quit",
        "Refresh",
        "Register Replica",
        "Register Slave",
        "Reset Connection",
        "Reset connection",
        "Reset stmt",
        "Set option",
        "Shutdown",
        "Sleep",
        "Slave_worker",
        "Statistics",
        "Stmt fetch",
        "Table Dump",
        "Time",
    ];
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let is_time = |byte: &u8| byte.is_ascii_digit() || b"-:.TZ+ ".contains(byte);
    if !line[..tab].iter().all(is_time) {
        return None;
    }
    let behind = line[tab..].trim_ascii_start();
    let digits = behind.iter().take_while(|byte| byte.is_ascii_digit());
    let (number, behind) = behind.split_at(digits.count());
    let behind = behind.strip_prefix(b" ")?;
    let end = behind.iter().position(|byte| *byte == b'\t');
    let (command, argument) = match end {
        Some(end) => (&behind[..end], &behind[end + 1..]),
        None => (behind, &b""[..]),
    };
    let command = std::str::from_utf8(command).ok()?.trim_end();
    let session = std::str::from_utf8(number).ok()?;
    (!session.is_empty() && COMMANDS.contains(&command)).then_some(Entry {
        session,
        command,
        argument,
    })
}
