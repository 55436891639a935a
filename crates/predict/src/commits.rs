//! The log's writes and flushes: those who commit while one is under way share the next.

use std::collections::VecDeque;

use octavo_device::Request;

use crate::io::{Io, Purpose};

/// The longest write that those of several transactions are joined to, in bytes: most
/// disks take no longer requests.
const WRITE_MAX: u64 = 1 << 20;

/// What goes to the log together.
#[derive(Debug)]
struct Batch {
    /// Who waits for it; the first one makes it.
    members: Vec<usize>,
    left: VecDeque<Io>,
}

/// The log's writes and flushes, one batch at a time.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// What is under way.
    batch: Option<Batch>,
    /// Those who come meanwhile.
    waiting: Vec<(usize, Vec<Io>)>,
}

impl Commits {
    /// A client wants this written and made durable.
    pub(crate) fn join(&mut self, client: usize, ios: Vec<Io>) {
        self.waiting.push((client, ios));
    }

    /// Begins a batch if none is under way and somebody waits: its first request.
    pub(crate) fn begin(&mut self) -> Option<Io> {
        if self.batch.is_some() || self.waiting.is_empty() {
            return None;
        }
        let waiting = std::mem::take(&mut self.waiting);
        let members = waiting.iter().map(|(client, _)| *client).collect();
        let left = joined(waiting.into_iter().map(|(_, ios)| ios).collect());
        let batch = self.batch.insert(Batch { members, left });
        batch.left.pop_front()
    }

    /// Who makes the batch that is under way.
    pub(crate) fn maker(&self) -> Option<usize> {
        self.batch.as_ref().map(|batch| batch.members[0])
    }

    /// A request is done: the next one of the batch, or else all who waited for it.
    pub(crate) fn advance(&mut self) -> Result<Io, Vec<usize>> {
        let next = self.batch.as_mut().and_then(|batch| batch.left.pop_front());
        next.ok_or_else(|| {
            self.batch
                .take()
                .map_or_else(Vec::new, |batch| batch.members)
        })
    }
}

/// Requests of several transactions as one batch: writes that touch are one, and all are
/// flushed at the end. Those of one are as they are.
fn joined(mut each: Vec<Vec<Io>>) -> VecDeque<Io> {
    if each.len() == 1 {
        return each.remove(0).into();
    }
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for io in each.iter().flatten().filter(|io| io.request.length > 0) {
        ranges.push((io.request.offset, io.request.end()));
    }
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (begin, end) in ranges {
        match joined.last_mut() {
            Some(last) if begin <= last.1 && end - last.0 <= WRITE_MAX => last.1 = last.1.max(end),
            _ => joined.push((begin, end)),
        }
    }
    let write = |(begin, end): (u64, u64)| Io {
        purpose: Purpose::LogWrite,
        request: Request::write(begin, (end - begin) as u32),
    };
    let flush = Io {
        purpose: Purpose::LogSync,
        request: Request::FLUSH,
    };
    joined.into_iter().map(write).chain([flush]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(begin: u64, length: u32) -> Io {
        Io {
            purpose: Purpose::LogWrite,
            request: Request::write(begin, length),
        }
    }

    const FLUSH: Io = Io {
        purpose: Purpose::LogSync,
        request: Request::FLUSH,
    };

    #[test]
    fn those_who_come_meanwhile_share_the_next_flush() {
        let mut commits = Commits::default();
        commits.join(0, vec![write(0, 8192), FLUSH]);
        assert_eq!(commits.begin(), Some(write(0, 8192)));
        assert_eq!(commits.maker(), Some(0));
        commits.join(2, vec![write(8192, 8192), FLUSH]);
        commits.join(1, vec![write(8192, 16384), FLUSH]);
        assert_eq!(commits.begin(), None);
        assert_eq!(commits.advance(), Ok(FLUSH));
        assert_eq!(commits.advance(), Err(vec![0]));
        assert_eq!(commits.begin(), Some(write(8192, 16384)));
        assert_eq!(commits.maker(), Some(2));
        assert_eq!(commits.advance(), Ok(FLUSH));
        assert_eq!(commits.advance(), Err(vec![2, 1]));
        assert_eq!(commits.begin(), None);
    }

    #[test]
    fn one_transaction_flushes_as_often_as_it_wants() {
        let mut commits = Commits::default();
        let all = [write(0, 512), FLUSH, write(512, 4096), FLUSH];
        commits.join(0, all.to_vec());
        assert_eq!(commits.begin(), Some(all[0]));
        for io in &all[1..] {
            assert_eq!(commits.advance(), Ok(*io));
        }
        assert_eq!(commits.advance(), Err(vec![0]));
    }

    #[test]
    fn writes_are_joined_where_they_touch() {
        let one = vec![write(65536, 4096), write(0, 4096), FLUSH];
        let other = vec![write(4096, 512), FLUSH];
        assert_eq!(
            joined(vec![one, other]),
            [write(0, 4608), write(65536, 4096), FLUSH]
        );
        let long = |begin: u64| vec![write(begin << 20, 1 << 20), FLUSH];
        assert_eq!(joined(vec![long(0), long(1)]).len(), 3);
    }
}
