//! Small traces with what becomes of each reference, worked by hand.

use crate::{
    policy::{Evicted, Frames, Outcome, Policy},
    trace::{Access, Page, Reference},
};

/// What becomes of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Hit,
    /// A miss that takes a free frame.
    Free,
    /// A miss that takes the frame of a page that was not changed.
    Evicts(u32),
    /// A miss that takes that of a changed page.
    Writes(u32),
}

/// Has a policy with so many frames see references to pages, which are changed where
/// their number is negative.
pub(crate) fn check<P: Policy>(
    make: impl FnOnce(u32, Frames) -> P,
    frames: u32,
    steps: &[(i32, Step)],
) {
    let pages = steps.iter().map(|(page, _)| page.unsigned_abs()).max();
    let mut policy = make(
        pages.expect("there are steps") + 1,
        Frames::new(frames).expect("at least one"),
    );
    for (place, &(page, expected)) in steps.iter().enumerate() {
        assert_eq!(
            step(&mut policy, page),
            expected,
            "page {page}, step {place}"
        );
    }
}

/// Has a policy see one reference.
pub(crate) fn step(policy: &mut impl Policy, page: i32) -> Step {
    match policy.access(reference(page)) {
        Outcome::Hit => Step::Hit,
        Outcome::Miss(None) => Step::Free,
        Outcome::Miss(Some(Evicted { page, is_dirty })) => match is_dirty {
            true => Step::Writes(page.number()),
            false => Step::Evicts(page.number()),
        },
    }
}

/// A reference to a page, which is changed where the number is negative.
pub(crate) fn reference(page: i32) -> Reference {
    let access = match page < 0 {
        true => Access::Change,
        false => Access::Read,
    };
    Reference::new(Page::new(page.unsigned_abs()), access)
}
