//! Recording which pages a server's statements refer to, and what they log.
//!
//! A server says nothing of a page that it finds in its buffer. So one runs with a buffer of a few
//! pages, and the reads of the process or thread that serves the session are seen as system calls.
//! What such a buffer keeps is referred to again so soon that any larger one keeps it too: a stream
//! of pages that one buffer lacked stands for the whole where larger buffers are asked (A. J. Smith,
//! Two methods for the efficient analysis of memory address trace data, IEEE TSE 3(1), 1977). Pages
//! that change, and how many bytes of the log that takes, are in the log.
//!
//! | file | what |
//! |---|---|
//! | page_numbers | pages of many files, numbered |
//! | watching | a session whose pages are seen |
//! | seen | what was seen, put together |
//! | processor | what transactions take of a processor |

mod page_numbers;
pub(crate) mod processor;
mod seen;
mod watching;

pub(crate) use page_numbers::PageNumbers;
pub(crate) use seen::{Event, LoggedRecord, PartSeen, Seen};
pub(crate) use watching::{Marks, PageFiles, Watched, Watching, follow};
