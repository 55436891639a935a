//! Which sessions can share a client where each transaction has its time.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use crate::recording::{Recording, Transaction, place};

/// When a session was at work, from its first transaction's beginning to its last one's end.
#[derive(Clone, Copy, Debug)]
struct Span {
    begin: Duration,
    end: Duration,
}

impl Recording {
    /// How many sessions were at work at the same time, at most: so many clients send each
    /// transaction at its time, and none waits for another session's. At least 1.
    pub fn sessions_at_once(&self) -> u32 {
        let mut spans = self.spans();
        spans.sort_by_key(|span| span.begin);
        let mut ends: BinaryHeap<Reverse<Duration>> = BinaryHeap::new();
        let mut most = 1;
        for span in spans {
            while ends.peek().is_some_and(|Reverse(end)| *end <= span.begin) {
                ends.pop();
            }
            ends.push(Reverse(span.end));
            most = most.max(ends.len());
        }
        place(most)
    }

    /// The transactions of each of so many clients, by their times. A session's are all of one
    /// client. Sessions that were at work at the same time have different ones, where there are as
    /// many as [`Self::sessions_at_once`].
    pub fn by_client_in_time(&self, clients: u32) -> Vec<Vec<u32>> {
        let spans = self.spans();
        let mut sessions: Vec<usize> = (0..spans.len()).collect();
        sessions.sort_by_key(|session| (spans[*session].begin, *session));
        let mut ends = vec![None; clients.max(1) as usize];
        let mut client_of = vec![0; spans.len()];
        for session in sessions {
            // One that had none so far, or has been free for the longest time.
            let free = (0..ends.len()).min_by_key(|client| ends[*client]);
            let client = free.unwrap_or_default();
            ends[client] = ends[client].max(Some(spans[session].end));
            client_of[session] = client;
        }
        let mut of_clients = vec![Vec::new(); ends.len()];
        let mut order: Vec<usize> = (0..self.transactions.len()).collect();
        // Those of a session keep their order, whatever a clock said that was set back.
        order.sort_by_key(|position| self.transactions[*position].begun);
        for position in order {
            let session = self.transactions[position].session as usize;
            of_clients[client_of[session]].push(place(position));
        }
        of_clients
    }

    /// By session.
    fn spans(&self) -> Vec<Span> {
        let mut spans = vec![None; self.sessions as usize];
        for transaction in &self.transactions {
            let begin = transaction.begun.unwrap_or_default();
            let end = begin.saturating_add(self.length(transaction));
            let span = spans[transaction.session as usize].get_or_insert(Span { begin, end });
            span.begin = span.begin.min(begin);
            span.end = span.end.max(end);
        }
        spans.into_iter().flatten().collect()
    }

    /// How long a transaction took when it was recorded, as far as that is known.
    fn length(&self, transaction: &Transaction) -> Duration {
        let steps = self.steps(transaction).iter();
        let steps: Duration = steps
            .map(|step| step.pause.time() + Duration::from_micros(step.took_us.unwrap_or(0).into()))
            .sum();
        steps + transaction.last_pause.time()
    }
}
