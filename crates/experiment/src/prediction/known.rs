//! How well is known what a prediction is made from.

use octavo_database::Missing;
use octavo_predict::Sensitivity;

use super::{PredictedDevice, Prediction};
use crate::{
    inputs::{Input, InputName, Uncertainty},
    plan::Cell,
};

/// How well is known what a cell is predicted from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct InputAccuracy {
    processor: Uncertainty,
    reads: Uncertainty,
    writes: Uncertainty,
}

/// The processor's time of a transaction that was measured on this machine. Chosen: fits of
/// one and of eight clients agree in two of six cases only (docs/predictions.md).
const PROCESSOR_MEASURED: f64 = 0.1;
/// One of the catalog, of another machine: these differ by a factor of 1.6 easily. Chosen.
const PROCESSOR_CATALOG: f64 = 0.5;
/// What a page size changes of it beyond the bytes that it moves: the root mean square of
/// what servers took at 24 other page sizes than the default; half of them differ by less
/// than 0.09 (bench/runs/2026-11-23-predict-servers, on a machine of which the host took a
/// part).
const PROCESSOR_SIZE: f64 = 0.16;

/// What the user's statements took while others used the processors: six timings of one statement, while
/// others used 50 to 90% of two, have 0.43 as the deviation of their logarithms. Chosen above it.
const PROCESSOR_SHARED: f64 = 0.5;

/// From one short calibration of storage to the next: reads of a size over those of 4 KiB,
/// and writes at depth 1 (docs/predictions.md).
const PROFILE_READS: f64 = 0.058;
const PROFILE_WRITES: f64 = 0.087;
/// All points of it together.
const PROFILE_ALL: f64 = 0.116;

/// The entries of drives with TLC have the figures of their data sheets within 20%, which
/// is taken for two standard deviations, and for all. Another drive of the class is further
/// off (docs/devices.md).
const ENTRY: f64 = 0.1;

impl Prediction {
    /// How well is known what a cell is predicted from. Of the user's own statements,
    /// `is_timed_alone` says whether they had the processors for themselves.
    pub(crate) fn known(&self, cell: &Cell, is_timed_alone: Option<bool>) -> InputAccuracy {
        // What the user's statements take of the processor is timed for each page size by itself,
        // minutes apart, the present one too. Of processes of a server three recordings of the same
        // statements on a busy machine gave 94, 116 and 245 us. Connections of SQLite are in this
        // process: the ratio of two page sizes was 0.899 to 0.903 on a quiet machine. A busy one made
        // 1.20 of it where a measurement gave 0.93.
        let is_server = cell.database.kind().is_ok_and(|kind| kind.is_server);
        let is_timed_apart = is_timed_alone.is_some() && is_server;
        let is_default = cell.page_size == cell.database.default_page_size;
        // What was made right at the default page size has no error of its own there.
        let own = |is_fitted: bool, own: f64| if is_fitted && is_default { 0.0 } else { own };
        let cpu = self.cpu.as_ref().map(|cpu| cpu.of(cell));
        let is_measured = cpu.is_none_or(|cpu| cpu.is_measured);
        let device = self.devices.of(&cell.storage);
        let (reads, writes) = match device {
            PredictedDevice::Profile(_) => (
                Uncertainty {
                    shared: PROFILE_ALL,
                    own: own(true, PROFILE_READS),
                },
                Uncertainty {
                    shared: PROFILE_ALL,
                    own: own(true, PROFILE_WRITES),
                },
            ),
            PredictedDevice::Entry(_) => {
                let entry = Uncertainty {
                    shared: ENTRY,
                    own: ENTRY,
                };
                (entry, entry)
            }
        };
        // Misses that are too few are reads that take too little time.
        let is_calibrated = matches!(device, PredictedDevice::Profile(_));
        let model = cell.database.modeled();
        let [of_all, of_size] = model.map_or([0.0; 2], |model| model.misses_off);
        let reads = Uncertainty {
            shared: reads.shared.hypot(of_all),
            own: reads.own.hypot(own(is_calibrated, of_size)),
        };
        InputAccuracy {
            processor: Uncertainty {
                shared: match is_measured {
                    true => PROCESSOR_MEASURED,
                    false => PROCESSOR_CATALOG,
                },
                own: match is_timed_alone {
                    Some(false) => PROCESSOR_SHARED,
                    _ => own(is_measured && !is_timed_apart, PROCESSOR_SIZE),
                },
            },
            reads,
            writes,
        }
    }
}

impl InputAccuracy {
    /// What is known where this could not be recorded.
    pub(crate) fn without(mut self, missing: &Missing) -> Self {
        self.reads.shared = self.reads.shared.hypot(missing.misses_off);
        self
    }

    /// With how far a cell's time follows each.
    pub(crate) fn inputs(&self, follows: &Sensitivity) -> Vec<Input> {
        let input = |name, follows, uncertainty| Input {
            name,
            follows,
            uncertainty,
        };
        vec![
            input(InputName::Processor, follows.processor, self.processor),
            input(InputName::Reads, follows.reads, self.reads),
            input(InputName::Writes, follows.writes, self.writes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_known_less_well_where_something_was_not_recorded() {
        let reads = Uncertainty {
            shared: 0.08,
            own: 0.1,
        };
        let known = InputAccuracy {
            reads,
            ..InputAccuracy::default()
        };
        let missing = Missing {
            what: "pins",
            misses_off: 0.15,
        };
        let without = known.without(&missing);
        assert!((without.reads.shared - 0.17).abs() < 1e-12);
        assert_eq!(without.reads.own, reads.own);
        assert_eq!(without.writes, known.writes);
    }
}
