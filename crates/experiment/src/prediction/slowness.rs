//! How much slower storage was under a database than its calibration says.

use std::time::Duration;

use octavo_database::Counters;
use octavo_device::{Device, DeviceError, Request, Tag};
use octavo_predict::{Model, Purpose, Slowness};
use octavo_units::{ByteCount, Moment, mix};

/// How many times as long as on a device requests took that were counted, each kind by its
/// mean size. `waited` is what transactions waited in all.
///
/// PostgreSQL hands its log to the page cache, and its flushes write that: both together are
/// compared. InnoDB has no times of its own: all that transactions waited is.
pub(super) fn slowness(
    model: &Model,
    device: &mut dyn Device,
    counters: &Counters,
    waited: Duration,
) -> Result<Slowness, DeviceError> {
    let sector = device.geometry().sector.get();
    let size = |bytes: ByteCount, requests: u64| {
        let mean = bytes.get() / requests.max(1);
        u32::try_from(mean.next_multiple_of(sector).max(sector)).unwrap_or(u32::MAX)
    };
    let ns = |time: Duration, requests: u64| time.as_nanos() as f64 / requests.max(1) as f64;
    let page = size(counters.read_bytes, counters.reads);
    let log = size(counters.log_written_bytes, counters.log_writes);
    // Reads and checkpoints go anywhere; the log goes on, and is flushed each time.
    let anywhere = |number: u64| mix(number) % (1 << 20) * u64::from(page);
    let read = wait(device, |number| Request::read(anywhere(number), page))?;
    // Each commit begins with the block in which the one before it ended.
    let mut end = sector;
    let mut append = |number: u64| {
        if number % 2 == 1 {
            return Request::FLUSH;
        }
        let begin = end - sector;
        end = begin + u64::from(log);
        Request::write(begin, log)
    };
    let [log_write, flush] = waits(device, &mut append)?;
    let write = wait(device, |number| Request::write(anywhere(number), page))?;
    let ratio = |measured: f64, modeled: f64| match measured > 0.0 && modeled > 0.0 {
        true => measured / modeled,
        false => 1.0,
    };
    // A checkpoint writes pages and flushes once.
    let checkpoints = counters.checkpoints;
    let pages = counters.data_writes as f64 / checkpoints.max(1) as f64;
    let log_syncs = counters.syncs.saturating_sub(checkpoints);
    let mut slowness = Slowness::default();
    let mut set = |purpose: Purpose, ratio| slowness.0[purpose as usize] = ratio;
    set(
        Purpose::Read,
        ratio(ns(counters.read_time, counters.reads), read),
    );
    match model {
        Model::Sqlite => {
            let written = ns(counters.log_write_time, counters.log_writes);
            set(Purpose::LogWrite, ratio(written, log_write));
            set(
                Purpose::LogSync,
                ratio(ns(counters.log_sync_time, log_syncs), flush),
            );
            let checkpoint = ns(counters.checkpoint_time, checkpoints);
            set(
                Purpose::Checkpoint,
                ratio(checkpoint, pages * write + flush),
            );
        }
        Model::Innodb { .. } => {
            let reads = counters.reads as f64 * read;
            let modeled = reads + counters.log_writes as f64 * (log_write + flush);
            let all = ratio(waited.as_nanos() as f64, modeled);
            for purpose in [Purpose::Read, Purpose::LogWrite, Purpose::LogSync] {
                set(purpose, all);
            }
        }
        // Pages are written besides.
        _ => {
            let both = counters.log_write_time + counters.log_sync_time;
            let both = ratio(ns(both, counters.syncs), log_write + flush);
            set(Purpose::LogWrite, both);
            set(Purpose::LogSync, both);
        }
    }
    Ok(slowness)
}

/// Requests that a mean is taken of.
const ASKED: u64 = 2000;

/// The mean wait for one request after another, in nanoseconds.
fn wait(device: &mut dyn Device, request: impl Fn(u64) -> Request) -> Result<f64, DeviceError> {
    let [even, odd] = waits(device, &mut |number| request(number))?;
    Ok((even + odd) / 2.0)
}

/// The mean waits for every first and every second of requests one after another.
fn waits(
    device: &mut dyn Device,
    request: &mut dyn FnMut(u64) -> Request,
) -> Result<[f64; 2], DeviceError> {
    let mut sums = [0.0; 2];
    for number in 0..2 * ASKED {
        let now = device.now();
        device.submit(now, Tag(0), request(number))?;
        let end = device.next(Moment::NEVER)?;
        sums[number as usize % 2] += end.map_or(0, |done| done.at.since(now)) as f64;
    }
    Ok(sums.map(|sum| sum / ASKED as f64))
}
