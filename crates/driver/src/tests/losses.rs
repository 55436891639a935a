//! What is lost is told, wherever in a run it was.

use super::*;

#[test]
fn failures_in_the_warm_up_are_counted_apart() {
    let timeouts = (0..2).map(|_| ConnectionError::Timeout("planted".into()));
    let database = Nothing::failing(timeouts);
    let drive = run(&database, settings(1, transactions(3, 9))).unwrap();
    assert_eq!((drive.warm_up_failed, drive.counts.failed()), (2, 0));
    let failed: u64 = drive.series.iter().map(|sample| sample.failed).sum();
    assert_eq!(failed, 2);
}

#[test]
fn what_was_measured_before_the_database_was_lost_can_be_kept() {
    /// After some time in the measured part it is gone.
    struct Gone<'a>(&'a Nothing);
    impl DriverObserver for Gone<'_> {
        fn edge(&mut self) {
            let behaviour = &self.0.behaviour;
            if !behaviour.is_gone.swap(true, Ordering::Relaxed) {
                let lost = ConnectionError::Lost("planted".into());
                lock(&behaviour.failures).push_back(lost);
            }
        }
    }
    let driven = |keep_interrupted| {
        let database = Nothing::slow(Duration::from_micros(100));
        let settings = DriverSettings {
            keep_interrupted,
            // Edges come each half second, and the last would after ten.
            ..settings(1, milliseconds(10, 10_000))
        };
        drive(&database, settings, &mut Gone(&database), &|| false)
    };
    let kept = driven(true).unwrap();
    let why = kept.lost.as_deref().unwrap();
    assert!(why.contains("could not connect again in 0 s: "), "{why}");
    assert!(kept.transactions() > 0 && !kept.interrupted);
    assert_eq!(kept.counts.failed(), 1);
    let error = driven(false).unwrap_err();
    assert!(matches!(error, DriverError::Reconnect { .. }), "{error}");
}

#[test]
fn what_was_measured_before_the_storage_was_full_can_be_kept() {
    struct Filling<'a>(&'a Nothing);
    impl DriverObserver for Filling<'_> {
        fn edge(&mut self) {
            let full = ConnectionError::Full("planted".into());
            lock(&self.0.behaviour.failures).push_back(full);
        }
    }
    let driven = |keep_interrupted| {
        let database = Nothing::slow(Duration::from_micros(100));
        let settings = DriverSettings {
            keep_interrupted,
            ..settings(1, milliseconds(10, 10_000))
        };
        drive(&database, settings, &mut Filling(&database), &|| false)
    };
    let kept = driven(true).unwrap();
    let why = kept.full.as_deref().unwrap();
    assert_eq!(why.matches("space left").count(), 1, "{why}");
    assert!(!why.contains("planted"), "{why}");
    assert!(kept.transactions() > 0 && kept.lost.is_none());
    assert!(driven(false).unwrap_err().is_full());
}

#[test]
fn a_slow_beginning_with_a_loss_in_it_is_not_left_out() {
    struct Losing<'a>(&'a Nothing);
    impl DriverObserver for Losing<'_> {
        fn begin(&mut self) {
            let lost = ConnectionError::Lost("planted".into());
            lock(&self.0.behaviour.failures).push_back(lost);
        }
    }
    let slow = |since: Duration| match since < Duration::from_millis(500) {
        true => 20.0,
        false => 1.0,
    };
    let database = varying(Duration::from_millis(1), slow);
    let settings = settings(1, milliseconds(50, 2000));
    let drive = drive(&database, settings, &mut Losing(&database), &|| false).unwrap();
    assert_eq!((drive.steadiness.cut_s, drive.counts.failed()), (0.0, 1));
    let measured = drive.series.iter().filter(|sample| sample.measured);
    assert_eq!(measured.map(|sample| sample.failed).sum::<u64>(), 1);
}

#[test]
fn an_outage_in_which_measuring_begins_is_measured() {
    let database = Nothing::slow(Duration::from_millis(1));
    *lock(&database.behaviour.outage) = Some(Outage {
        after: 30,
        length: Duration::from_secs(3),
    });
    // It begins in the warm-up, and ends in the measured part.
    let found = run(&database, settings(1, milliseconds(300, 4000))).unwrap();
    assert!(found.warm_up < Duration::from_millis(1500), "{found:?}");
    let [outage] = found.outages[..] else {
        panic!("{:?}", found.outages)
    };
    assert!(outage.length_s > 1.0, "{outage:?}");
    assert_eq!(outage.length_s, found.stability.longest_stall_s);
    assert!((outage.begin_s - found.warm_up.as_secs_f64()).abs() < 1e-9);
    assert_eq!(found.steadiness.cut_s, 0.0);
}
