//! A load in slices that has to end.

use super::*;
use crate::slices::{SliceSettings, SlicedLoad};

#[test]
fn what_fails_because_it_was_ended_is_no_failure() {
    let slice = |is_ended: bool| {
        let failure = ConnectionError::other("run a statement", "planted");
        let mut database = Nothing::failing([failure]);
        // The failure comes long after the load was told to end.
        let behaviour = Arc::get_mut(&mut database.behaviour).unwrap();
        behaviour.commit = Duration::from_secs(2);
        let settings = SliceSettings {
            workload: &Turns,
            seed: Seed::new(1),
            connections: 1,
            retries: RETRIES,
        };
        let mut load = SlicedLoad::open(&database, settings).unwrap();
        load.slice(1, &|| is_ended).unwrap_err()
    };
    assert!(matches!(slice(true), DriverError::Stopped));
    assert!(matches!(slice(false), DriverError::Transaction { .. }));
}
