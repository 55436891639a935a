//! Policies against models that do the same in the plainest way: each keeps one vector of
//! pages and searches it.

use octavo_buffer::{
    Access, Arc, Cflru, Clock, Frames, Lru, MidpointLru, MidpointRule, Outcome, Page, Pcache,
    Policy, Reference, S3Fifo, TouchCount, TouchRule, TwoQ, Usage, Zones,
};
use octavo_units::Moment;
use proptest::prelude::*;

const PAGES: u32 = 120;

/// What a model answers: the page evicted, and whether there was a miss at all.
type Answer = (bool, Option<u32>);

fn answer(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Hit => (false, None),
        Outcome::Miss(evicted) => (true, evicted.map(|evicted| evicted.page.number())),
    }
}

fn frames(count: usize) -> Frames {
    Frames::new(count as u32).expect("at least one")
}

/// Small numbers are more frequent than large ones.
fn pages() -> impl Strategy<Value = Vec<(u32, bool)>> {
    let page = (0..PAGES, 0..PAGES).prop_map(|(one, other)| one.min(other));
    prop::collection::vec((page, prop::bool::weighted(0.3)), 0..800)
}

/// Runs both, and compares each answer.
fn compare(
    references: &[(u32, bool)],
    mut policy: impl Policy,
    mut model: impl FnMut(u32, bool) -> Answer,
) -> Result<(), TestCaseError> {
    for (place, &(page, is_change)) in references.iter().enumerate() {
        let access = if is_change {
            Access::Change
        } else {
            Access::Read
        };
        let outcome = policy.access(Reference::new(Page::new(page), access));
        prop_assert_eq!(
            answer(outcome),
            model(page, is_change),
            "reference {}",
            place
        );
    }
    Ok(())
}

fn take(list: &mut Vec<u32>, page: u32) -> Option<usize> {
    let place = list.iter().position(|&other| other == page)?;
    list.remove(place);
    Some(place)
}

proptest! {
    #[test]
    fn lru(references in pages(), count in 1..60_usize) {
        let mut list = Vec::new();
        compare(&references, Lru::new(PAGES, frames(count)), |page, _| {
            let is_hit = take(&mut list, page).is_some();
            list.insert(0, page);
            (!is_hit, (list.len() > count).then(|| list.pop()).flatten())
        })?;
    }

    /// The frames as a queue: what the hand passes goes to the end.
    #[test]
    fn clock(references in pages(), count in 1..60_usize, first in 0..2_u8) {
        let usage = Usage { first, max: 3 };
        let mut queue: Vec<(u32, u8)> = Vec::new();
        compare(&references, Clock::new(PAGES, frames(count), usage), |page, _| {
            if let Some((_, uses)) = queue.iter_mut().find(|(other, _)| *other == page) {
                *uses = (*uses + 1).min(3);
                return (false, None);
            }
            let mut evicted = None;
            while queue.len() == count {
                let (other, uses) = queue.remove(0);
                match uses {
                    0 => evicted = Some(other),
                    _ => queue.push((other, uses - 1)),
                }
            }
            queue.push((page, first));
            (true, evicted)
        })?;
    }

    /// One list, the last `window` of it searched for a clean page.
    #[test]
    fn cflru(references in pages(), count in 1..60_usize, window in 0..60_usize) {
        let window = window.min(count);
        let mut list: Vec<(u32, bool)> = Vec::new();
        compare(&references, Cflru::new(PAGES, frames(count), window as u32), |page, is_change| {
            let place = list.iter().position(|&(other, _)| other == page);
            let was_dirty = place.is_some_and(|place| list.remove(place).1);
            let evicted = (place.is_none() && list.len() == count).then(|| {
                let tail = count - window..count;
                let clean = tail.rev().find(|&place| !list[place].1);
                list.remove(clean.unwrap_or(count - 1)).0
            });
            list.insert(0, (page, was_dirty || is_change));
            (place.is_none(), evicted)
        })?;
    }

    /// One list with two borders in it.
    #[test]
    fn zones(references in pages(), count in 1..60_usize) {
        let (hot_max, both_max) = (count * 40 / 100, count * 40 / 100 + count * 5 / 100);
        let mut list: Vec<(u32, usize)> = Vec::new();
        // Pages of the hot zone, and of the hot and the buffer zone.
        let (mut hot, mut both, mut added) = (0, 0, 0);
        compare(&references, Zones::new(PAGES, frames(count)), |page, _| {
            let place = list.iter().position(|&(other, _)| other == page);
            let mut evicted = None;
            if let Some(place) = place {
                let is_old = added - list[place].1 >= (both - hot) / 2;
                if place < hot || place < both && !is_old {
                    return (false, None);
                }
                list.remove(place);
                both -= usize::from(place < both);
                list.insert(0, (page, added));
                added += 1;
                (hot, both) = (hot + 1, both + 1);
            } else {
                if list.len() == count {
                    evicted = list.pop().map(|(page, _)| page);
                    (hot, both) = (hot.min(list.len()), both.min(list.len()));
                }
                list.insert(hot, (page, added));
                added += 1;
                both += 1;
            }
            hot = hot.min(hot_max);
            both = both.min(both_max);
            (place.is_none(), evicted)
        })?;
    }

    /// One list with a border in it.
    #[test]
    fn touch_count(references in pages(), count in 1..60_usize) {
        let rule = TouchRule { touch_time: 0, ..TouchRule::ORACLE };
        let mut list: Vec<(u32, u8)> = Vec::new();
        let mut hot = 0;
        compare(&references, TouchCount::new(PAGES, frames(count), rule), |page, _| {
            if let Some((_, touches)) = list.iter_mut().find(|(other, _)| *other == page) {
                *touches = touches.saturating_add(1);
                return (false, None);
            }
            let mut evicted = None;
            while list.len() == count {
                let (other, touches) = list.pop().expect("a full list");
                if touches < 2 {
                    evicted = Some(other);
                } else {
                    hot = (hot + 1).min(list.len() + 1);
                    list.insert(0, (other, 0));
                    if hot > count / 2 {
                        hot -= 1;
                        list[hot].1 = 1;
                    }
                }
            }
            hot = hot.min(list.len());
            list.insert(hot, (page, 1));
            (true, evicted)
        })?;
    }

    /// One list with a pointer to its first old page, moved as `buf0lru.cc` moves it.
    #[test]
    fn midpoint_lru(references in pages(), count in 1..100_usize, old_time in 0..40_u64) {
        let rule = MidpointRule { old_time, length_min: 40, ..MidpointRule::INNODB };
        let mut policy = MidpointLru::new(PAGES, frames(count), rule);
        // Page, evictions when it came, time of its first use.
        let mut list: Vec<(u32, u32, u64)> = Vec::new();
        let mut first_old: Option<usize> = None;
        let mut evictions = 0;
        let quarter = (count * (1024 - 378) / 4096) as u32;
        let settle = |length: usize, first_old: &mut Option<usize>| {
            if length < 40 {
                *first_old = None;
                return;
            }
            let wanted = (length * 378 / 1024).min(length - 25);
            let first = first_old.get_or_insert(0);
            while length - *first + 20 < wanted {
                *first -= 1;
            }
            while length - *first > wanted + 20 {
                *first += 1;
            }
        };
        for (time, &(page, _)) in references.iter().enumerate() {
            let time = time as u64;
            policy.advance(Moment::nanoseconds(time));
            let place = list.iter().position(|&(other, _, _)| other == page);
            let mut evicted = None;
            if place.is_none() {
                if list.len() == count {
                    let (other, _, _) = list.pop().expect("a full list");
                    evicted = Some(other);
                    evictions += 1;
                    first_old = first_old.map(|first| first.min(list.len() - 1));
                    settle(list.len(), &mut first_old);
                }
                match first_old {
                    Some(first) if list.len() >= 40 => list.insert(first + 1, (page, 0, time)),
                    _ => list.insert(0, (page, evictions, time)),
                }
                settle(list.len(), &mut first_old);
            }
            // The page is there now, and referenced.
            let now_at = list.iter().position(|&(other, _, _)| other == page).expect("it is there");
            let (_, came, first_use) = list[now_at];
            let moves = match first_old {
                Some(first) if now_at >= first && old_time > 0 => time - first_use >= old_time,
                _ => evictions - came >= quarter,
            };
            if evictions > 0 && moves {
                list.remove(now_at);
                // The pointer stays at its page, or goes to the one before.
                first_old = first_old.map(|first| if now_at <= first { first - 1 } else { first });
                list.insert(0, (page, evictions, first_use));
                first_old = first_old.map(|first| first + 1);
                settle(list.len(), &mut first_old);
            }
            let access = Reference::new(Page::new(page), Access::Read);
            prop_assert_eq!(answer(policy.access(access)), (place.is_none(), evicted), "reference {}", time);
        }
    }

    /// Two lists: clean pages and those of the open transaction.
    #[test]
    fn pcache(references in pages(), count in 1..60_usize, length in 1..40_usize) {
        let mut policy = Pcache::new(PAGES, frames(count));
        let (mut clean, mut dirty): (Vec<u32>, Vec<u32>) = Default::default();
        let mut spilled = 0;
        for (place, &(page, is_change)) in references.iter().enumerate() {
            if place % length == length - 1 {
                prop_assert_eq!(policy.commit() as usize, dirty.len());
                while !dirty.is_empty() {
                    let page = dirty.remove(0);
                    if clean.len() + dirty.len() < count {
                        clean.insert(0, page);
                    }
                }
            }
            let was_dirty = take(&mut dirty, page).is_some();
            let is_hit = was_dirty || take(&mut clean, page).is_some();
            let mut evicted = None;
            if !is_hit {
                if !dirty.is_empty() && dirty.len() >= count * 9 / 10 && clean.len() + dirty.len() > 1 {
                    spilled += 1;
                    let oldest = dirty.pop().expect("not empty");
                    if clean.len() + dirty.len() < count {
                        clean.insert(0, oldest);
                    }
                }
                if clean.len() + dirty.len() + 1 >= count {
                    evicted = clean.pop();
                }
            }
            if was_dirty || is_change {
                dirty.insert(0, page);
            } else if clean.len() + dirty.len() < count {
                clean.insert(0, page);
            }
            let access = if is_change { Access::Change } else { Access::Read };
            let outcome = policy.access(Reference::new(Page::new(page), access));
            prop_assert_eq!(answer(outcome), (!is_hit, evicted), "reference {}", place);
            prop_assert_eq!(policy.spilled(), spilled);
        }
    }

    /// The paper's three queues.
    #[test]
    fn two_q(references in pages(), count in 1..60_usize) {
        let (in_max, out_max) = ((count / 4).max(1), (count / 2).max(1));
        let (mut once, mut out, mut main) = (Vec::new(), Vec::new(), Vec::new());
        compare(&references, TwoQ::new(PAGES, frames(count)), |page, _| {
            if take(&mut main, page).is_some() {
                main.insert(0, page);
                return (false, None);
            }
            if once.contains(&page) {
                return (false, None);
            }
            let is_known = take(&mut out, page).is_some();
            let mut evicted = None;
            if once.len() + main.len() == count {
                if once.len() > in_max || main.is_empty() {
                    evicted = once.pop();
                    out.insert(0, evicted.expect("not empty"));
                    out.truncate(out_max);
                } else {
                    evicted = main.pop();
                }
            }
            let queue = if is_known { &mut main } else { &mut once };
            queue.insert(0, page);
            (true, evicted)
        })?;
    }

    /// Figure 4 of the paper, line by line.
    #[test]
    fn arc(references in pages(), count in 1..60_usize) {
        #[derive(Default)]
        struct Model { t1: Vec<u32>, t2: Vec<u32>, b1: Vec<u32>, b2: Vec<u32>, p: f64 }
        impl Model {
            fn replace(&mut self, in_b2: bool) -> Option<u32> {
                let t1 = self.t1.len() as f64;
                let (from, to) = match !self.t1.is_empty() && (t1 > self.p || in_b2 && t1 == self.p) {
                    true => (&mut self.t1, &mut self.b1),
                    false => (&mut self.t2, &mut self.b2),
                };
                let page = from.pop()?;
                to.insert(0, page);
                Some(page)
            }
        }
        let mut model = Model::default();
        compare(&references, Arc::new(PAGES, frames(count)), |page, _| {
            if take(&mut model.t1, page).or_else(|| take(&mut model.t2, page)).is_some() {
                model.t2.insert(0, page);
                return (false, None);
            }
            let (b1, b2) = (model.b1.len() as f64, model.b2.len() as f64);
            if model.b1.contains(&page) {
                model.p = (model.p + (b2 / b1).max(1.0)).min(count as f64);
                let evicted = model.replace(false);
                take(&mut model.b1, page);
                model.t2.insert(0, page);
                return (true, evicted);
            }
            if model.b2.contains(&page) {
                model.p = (model.p - (b1 / b2).max(1.0)).max(0.0);
                let evicted = model.replace(true);
                take(&mut model.b2, page);
                model.t2.insert(0, page);
                return (true, evicted);
            }
            let mut evicted = None;
            let all = model.t1.len() + model.t2.len() + model.b1.len() + model.b2.len();
            if model.t1.len() + model.b1.len() == count {
                if model.t1.len() < count {
                    model.b1.pop();
                    evicted = model.replace(false);
                } else {
                    evicted = model.t1.pop();
                }
            } else if all >= count {
                if all == 2 * count {
                    model.b2.pop();
                }
                evicted = model.replace(false);
            }
            model.t1.insert(0, page);
            (true, evicted)
        })?;
    }

    /// Three queues with uses beside the pages.
    #[test]
    fn s3_fifo(references in pages(), count in 1..60_usize) {
        let main_max = count - (count / 10).max(1);
        let mut small: Vec<(u32, u8)> = Vec::new();
        let mut main: Vec<(u32, u8)> = Vec::new();
        let mut ghost = Vec::new();
        compare(&references, S3Fifo::new(PAGES, frames(count)), |page, _| {
            let found = small.iter_mut().chain(&mut main).find(|(other, _)| *other == page);
            if let Some((_, uses)) = found {
                *uses = (*uses + 1).min(3);
                return (false, None);
            }
            let is_known = take(&mut ghost, page).is_some();
            let mut evicted = None;
            while small.len() + main.len() == count && evicted.is_none() {
                if main.len() > main_max || small.is_empty() {
                    let (other, uses) = main.pop().expect("not empty");
                    match uses {
                        0 => evicted = Some(other),
                        _ => main.insert(0, (other, uses - 1)),
                    }
                    continue;
                }
                while let Some((other, uses)) = small.pop() {
                    if uses >= 2 {
                        main.insert(0, (other, 0));
                        continue;
                    }
                    ghost.insert(0, other);
                    ghost.truncate(main_max);
                    evicted = Some(other);
                    break;
                }
            }
            let queue = if is_known { &mut main } else { &mut small };
            queue.insert(0, (page, 0));
            (true, evicted)
        })?;
    }
}
