//! The replacement policy of a modeled buffer, where it is not the database's own.

use std::sync::{Arc, Mutex, PoisonError};

use octavo_buffer::{Frames, NamedPolicy, Opt, Outcome, Page, Policy, Reference, Trace};

/// A buffer behind the boundary of policies.
pub(crate) type Buffer = Box<dyn Policy + Send>;

/// The replacement policy of a modeled buffer.
#[derive(Clone, Debug, Default)]
pub(crate) enum Replacement {
    /// The database's own.
    #[default]
    Own,
    /// Another one.
    Named(NamedPolicy),
    /// OPT, to which these references are the future.
    Foreseeing(Arc<Trace>),
    /// LRU, whose references are recorded.
    Recorded(Recording),
}

/// References that a buffer has seen so far.
pub(crate) type Recording = Arc<Mutex<Vec<Reference>>>;

impl Replacement {
    /// An empty buffer for the pages below `pages`; `None` where it is the database's own, and
    /// of OPT without a future.
    pub(crate) fn open(&self, pages: u32, frames: Frames) -> Option<Buffer> {
        match self {
            Self::Own => None,
            Self::Named(policy) => policy.open(pages, frames),
            Self::Foreseeing(future) => {
                let mut buffer = Opt::new(future.clone(), frames);
                buffer.extend(pages);
                Some(Box::new(buffer))
            }
            Self::Recorded(recording) => Some(Box::new(Recorder {
                buffer: NamedPolicy::Lru.open(pages, frames)?,
                recording: recording.clone(),
            })),
        }
    }
}

/// A buffer whose references are recorded.
struct Recorder {
    buffer: Buffer,
    recording: Recording,
}

impl Policy for Recorder {
    fn access(&mut self, reference: Reference) -> Outcome {
        let mut references = self
            .recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        references.push(reference);
        self.buffer.access(reference)
    }

    fn clean(&mut self, page: Page) -> bool {
        self.buffer.clean(page)
    }

    fn change_resident(&mut self, page: Page) -> bool {
        self.buffer.change_resident(page)
    }

    fn forget(&mut self, page: Page) {
        self.buffer.forget(page);
    }

    fn extend(&mut self, pages: u32) {
        self.buffer.extend(pages);
    }
}
