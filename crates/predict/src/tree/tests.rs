//! Trees beside what a hand finds, and beside a sorted list.

use super::*;
use crate::pages::Step;

/// Ten rows a leaf, which are full, and ten children an inner page.
fn shape() -> Shape {
    Shape {
        rows: 1000,
        rows_a_leaf: 10.0,
        row: 100.0,
        leaf: 1000,
        slacks: vec![0],
        fan_out: 10.0,
        overflow: 0.0,
        overflow_references: 1.0,
        growth: Growth::Share { appends: false },
    }
}

fn tree(shape: Shape) -> (Tree, Pages) {
    let mut pages = Pages::default();
    let tree = Tree::new(shape, &mut pages);
    (tree, pages)
}

/// The pages of steps by their numbers, changed ones negative, new ones from
/// 10,000 on.
fn numbers(steps: &Steps) -> Vec<i64> {
    let number = |page: Page| i64::from(page.number());
    let one = |step: &Step| match step {
        Step::Refer(reference) | Step::Held(reference) => match reference.is_change() {
            true => -number(reference.page()),
            false => number(reference.page()),
        },
        Step::Fill(page) => number(*page) + 10_000,
    };
    steps.as_slice().iter().map(one).collect()
}

fn read(tree: &Tree, first: u64, rows: u32) -> Vec<i64> {
    let mut steps = Steps::default();
    tree.read(Place::initial(first), rows, &mut steps);
    numbers(&steps)
}

#[test]
fn rows_lie_one_after_the_other_by_hand() {
    let (tree, pages) = tree(shape());
    // Leaves 0 to 99, then ten parents, then the root.
    assert_eq!(
        (tree.pages(), tree.inner_pages(), pages.count()),
        (111, 11, 111)
    );
    assert_eq!(read(&tree, 0, 1), [110, 100, 0]);
    assert_eq!(read(&tree, 999, 1), [110, 109, 99]);
    // Into the next leaf, which is of the next parent.
    assert_eq!(read(&tree, 98, 4), [110, 100, 9, 101, 10]);
}

#[test]
fn a_full_leaf_shares_with_its_neighbors_by_hand() {
    let (mut tree, mut pages) = tree(shape());
    let mut steps = Steps::default();
    tree.insert(Place::behind(455, 0), &mut pages, &mut steps);
    // 31 rows of three leaves go to four: 10, 10, 10 and 1, and then from the right
    // 10, 10, 6 and 5, then 10, 8, 8 and 5, then 9, 9, 8 and 5.
    assert_eq!(
        numbers(&steps),
        [110, 104, 45, -45, -44, -45, -46, 10_111, -104]
    );
    let begins: Vec<Place> = tree.changed.keys().copied().collect();
    assert_eq!(
        begins,
        [440, 449, 457, 465].map(Place::initial),
        "where the four begin"
    );
    // One more finds room.
    steps.clear();
    tree.insert(Place::behind(455, 1), &mut pages, &mut steps);
    assert_eq!(numbers(&steps), [110, 104, 45, -45]);
}

#[test]
fn rows_behind_the_last_get_leaves_of_their_own_by_hand() {
    let (mut tree, mut pages) = tree(Shape {
        growth: Growth::Share { appends: true },
        ..shape()
    });
    let mut steps = Steps::default();
    for number in 0..11 {
        steps.clear();
        tree.insert(Place::behind(999, number), &mut pages, &mut steps);
        let wanted: &[i64] = match number {
            0 => &[110, 109, 99, 10_111, -109],
            10 => &[110, 109, 111, 10_112, -109],
            _ => &[110, 109, 111, -111],
        };
        assert_eq!(numbers(&steps), wanted, "row {number}");
    }
}

#[test]
fn every_leaf_has_a_row() {
    // A hair more than one row a leaf: the last row of 1000 is in leaf 998, and a leaf
    // 999 would begin behind it.
    for (rows, rows_a_leaf) in [(1000, 1.0005), (1000, 1.000_000_1), (3, 1.4), (1, 7.0)] {
        for appends in [true, false] {
            let (mut tree, mut pages) = tree(Shape {
                rows,
                rows_a_leaf,
                row: 900.0,
                growth: Growth::Share { appends },
                ..shape()
            });
            assert!(tree.shape.start(tree.leaves - 1) < rows);
            let mut steps = Steps::default();
            for number in 0..20 {
                let place = Place::behind(rows - 1, number);
                tree.insert(place, &mut pages, &mut steps);
            }
            let found = rows_of(&tree, rows as usize + 20);
            assert_eq!(found.len(), rows as usize + 20);
            assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
        }
    }
}

#[test]
fn a_full_leaf_is_split_by_hand() {
    let growth = Growth::Split {
        last_fill: 0.9,
        splits_behind_sequel: true,
        merge_below: 0.5,
    };
    let (mut tree, mut pages) = tree(Shape { growth, ..shape() });
    let mut steps = Steps::default();
    tree.insert(Place::behind(455, 0), &mut pages, &mut steps);
    // Eleven rows: five stay; the leaf behind, 46, leads back to the new one.
    assert_eq!(numbers(&steps), [110, 104, 45, -45, 10_111, -46, -104]);
    assert_eq!(tree.find(Place::initial(454)).page.number(), 45);
    assert_eq!(tree.find(Place::initial(455)).page.number(), 111);
    // Five more behind it: the leaf has room for four, and the fifth begins behind them.
    for later in 1..5 {
        tree.insert(Place::behind(455, later), &mut pages, &mut steps);
        assert_eq!(pages.count(), 112);
    }
    steps.clear();
    tree.insert(Place::behind(455, 5), &mut pages, &mut steps);
    assert_eq!(pages.count(), 113);
    // Row 455 and its six followers stay, the four before behind them go.
    assert_eq!(tree.find(Place::behind(455, 5)).page.number(), 111);
    assert_eq!(tree.find(Place::initial(456)).page.number(), 112);
    // At the end nine stay of ten.
    tree.insert(Place::behind(999, 0), &mut pages, &mut steps);
    assert_eq!(tree.find(Place::initial(998)).page.number(), 99);
    assert_eq!(tree.find(Place::initial(999)).page.number(), 113);
    // Three of the four are left, and the seven before them have room.
    steps.clear();
    tree.remove(Place::initial(456), &mut pages, &mut steps);
    assert_eq!(tree.find(Place::initial(457)).page.number(), 111);
    assert_eq!(pages.allocate().number(), 112, "it was released");
}

#[test]
fn rows_that_grow_overflow_their_leaf() {
    let (mut tree, mut pages) = tree(Shape {
        leaf: 1005,
        slacks: vec![5],
        ..shape()
    });
    let mut steps = Steps::default();
    tree.update(Place::initial(3), 1, 5, &mut pages, &mut steps);
    // Read, and then changed.
    assert_eq!(numbers(&steps), [110, 100, 0, 0]);
    tree.update(Place::initial(4), 1, 1, &mut pages, &mut steps);
    assert_eq!(pages.count(), 112, "a byte more than the leaf has");
}

#[test]
fn long_rows_continue_on_other_pages_by_hand() {
    let (mut tree, mut pages) = tree(Shape {
        overflow: 1.5,
        overflow_references: 2.0,
        ..shape()
    });
    assert_eq!(tree.pages(), 111 + 1500);
    // Row 1 has the second and third of the pages behind the tree.
    assert_eq!(read(&tree, 1, 1), [110, 100, 0, 112, 112, 113, 113]);
    // Five references to two pages: the second of all has two, the third has three.
    tree.refer_to_overflow(2.5);
    assert_eq!(read(&tree, 1, 1)[3..], [112, 112, 112, 113, 113]);
    let at = |is_in_leaf, pages: &[u32]| Replaced {
        is_in_leaf,
        pages: pages.to_vec(),
    };
    // A short value, one of two pages, and one that begins in the leaf.
    tree.replace_at(Arc::new([
        at(true, &[]),
        at(false, &[1]),
        at(true, &[0, 1]),
    ]));
    let mut changed = |tree: &mut Tree| -> Vec<i64> {
        let mut steps = Steps::default();
        tree.update(Place::initial(1), 1, 0, &mut pages, &mut steps);
        let changed = numbers(&steps).into_iter().filter(|page| *page <= 0);
        changed.collect()
    };
    let mut all: Vec<Vec<i64>> = (0..3).map(|_| changed(&mut tree)).collect();
    all.sort();
    // The leaf is page 0: read, and changed where a value is in it.
    assert_eq!(all, [vec![0, -113], vec![0, 0], vec![0, 0, -112, -113]]);
}

#[test]
fn a_row_with_new_pages_leaves_the_old_ones() {
    let (mut tree, mut pages) = tree(Shape {
        overflow: 2.0,
        ..shape()
    });
    let before = pages.count();
    let mut steps = Steps::default();
    let old = tree.renew(Place::initial(1), &mut pages, &mut steps);
    let old: Vec<u32> = old.into_iter().map(Page::number).collect();
    assert_eq!(old, [113, 114]);
    let new = i64::from(before) + 10_000;
    assert_eq!(numbers(&steps), [0, new, new + 1]);
    let new = i64::from(before);
    assert_eq!(read(&tree, 1, 1), [110, 100, 0, new, new + 1]);
    // Another row keeps its own.
    assert_eq!(read(&tree, 2, 1), [110, 100, 0, 115, 116]);
}

/// Rows of a tree in order, and that no leaf is too full.
fn rows_of(tree: &Tree, count: usize) -> Vec<Place> {
    for (begin, leaf) in &tree.changed {
        assert_eq!(leaf.rows.bytes(), leaf.used, "{begin:?}");
        assert!(
            leaf.used <= tree.shape.leaf || leaf.rows.len() == 1,
            "{begin:?}"
        );
        let is_inside = |place: &Place| place >= begin && leaf.end.is_none_or(|end| *place < end);
        assert!(
            leaf.rows.iter().all(|(place, _)| is_inside(&place)),
            "{begin:?}"
        );
        assert!(leaf.rows.iter().is_sorted(), "{begin:?}");
    }
    tree.read(Place::initial(0), count as u32, &mut Steps::default())
}

#[test]
fn a_tree_has_the_rows_that_a_sorted_list_has() {
    for (seed, shape) in [
        (1, shape()),
        (
            2,
            Shape {
                growth: Growth::Share { appends: true },
                ..shape()
            },
        ),
        (
            4,
            Shape {
                growth: Growth::Split {
                    last_fill: 0.9,
                    splits_behind_sequel: true,
                    merge_below: 0.5,
                },
                ..shape()
            },
        ),
        (
            3,
            Shape {
                rows_a_leaf: 7.3,
                row: 130.4,
                ..shape()
            },
        ),
    ] {
        let (mut tree, mut pages) = tree(shape);
        let mut rows: Vec<Place> = (0..1000).map(Place::initial).collect();
        let mut steps = Steps::default();
        for number in 0..4000u64 {
            let drawn = mix(seed << 32 ^ number);
            // Mostly at ten places, as rows of districts are.
            let initial = match drawn % 4 {
                0 => drawn >> 8 & 511,
                _ => (drawn >> 8) % 10 * 100 + 99,
            };
            if drawn % 5 > 1 {
                let place = Place::behind(initial, number);
                tree.insert(place, &mut pages, &mut steps);
                rows.insert(rows.partition_point(|row| *row < place), place);
            } else if rows.len() > 1 {
                // Row 0 stays, from which all are read.
                let place = rows.remove(1 + (drawn >> 16) as usize % (rows.len() - 1));
                tree.remove(place, &mut pages, &mut steps);
            }
        }
        let found = rows_of(&tree, rows.len());
        assert!(found == rows, "seed {seed}");
    }
}
