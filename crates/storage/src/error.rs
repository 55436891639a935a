//! Why storage could not be measured.

use std::{io, path::PathBuf};

use octavo_device::{point::PointSpec, request::Operation};
use octavo_units::{ByteCount, QueueDepth, RequestSize};

use crate::engine::Engine;

/// Why storage could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// The file would take more than half of the free space.
    #[error(
        "{directory} has {free} free and calibrating needs {needed}, twice the file's size: \
         free some space or ask for a smaller file",
        directory = directory.display()
    )]
    NoSpace {
        /// Where.
        directory: PathBuf,
        /// Free bytes that are needed.
        needed: ByteCount,
        /// Bytes that are free.
        free: ByteCount,
    },
    /// The file could not be made.
    #[error(
        "cannot {action} {directory}: choose a directory that you may write to",
        directory = directory.display()
    )]
    File {
        /// What was tried.
        action: &'static str,
        /// Where.
        directory: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A request failed: the device, or a full disk.
    #[error("{operation} of {length} bytes at offset {offset} of the test file failed")]
    Request {
        /// What was asked.
        operation: Operation,
        /// Where in the file, in bytes.
        offset: u64,
        /// How much, in bytes.
        length: u32,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file could not be synced.
    #[error("the test file cannot be made durable: check the device")]
    Sync {
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The engine could not be set up for a point.
    #[error(
        "{engine} cannot hold {depth} requests of {request_size} in flight: try fewer or the other engine"
    )]
    Engine {
        /// Which engine.
        engine: Engine,
        /// Requests in flight.
        depth: QueueDepth,
        /// Bytes of one request.
        request_size: RequestSize,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A listed point cannot be measured on this file.
    #[error("point '{point}' {reason}")]
    Point {
        /// Which.
        point: PointSpec,
        /// Why, and what would do.
        reason: String,
    },
    /// The progress function stopped it.
    #[error("calibrating was stopped")]
    Stopped,
}
