//! What judging in lockstep says of parts of a real experiment of equal cells:
//! how often it calls a winner, and whether its intervals cover 1.
//!
//! `cargo run --release -p octavo-experiment --example windows -- STORE PASSES`
//! takes the store of an A/A plan that nobody left (`design = "full"`) and cuts
//! it into windows of so many passes that have none in common.

use std::{env, error::Error, path::Path};

use octavo_experiment::{
    lockstep::{Group, Horizon, Rules, Slice, Unseated, judge},
    statistics::Decision,
    store::Store,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(path), Some(passes)) = (arguments.next(), arguments.next()) else {
        return Err("give a store and the passes of a window".into());
    };
    let window: u32 = passes.parse()?;
    let store = Store::open(Path::new(&path))?;
    let plan = store.plan()?.ok_or("no plan in the store")?;
    let groups = plan.groups();
    let cells = plan.cells().len();
    let slices = store.slices()?;
    let windows: Vec<&[Slice]> = slices
        .chunk_by(|a, b| {
            (a.key.sitting, a.key.pass / window) == (b.key.sitting, b.key.pass / window)
        })
        .filter(|slices| slices.len() == window as usize * cells)
        .collect();
    let (mut winners, mut losers, mut judged) = (0, 0, 0);
    let (mut covering, mut intervals) = (0, 0);
    let (mut widths, mut screened) = (Vec::new(), 0);
    for slices in &windows {
        let rules = Rules {
            margin: plan.margin,
            drop: true,
            screen: true,
            grows_older: false,
            horizon: Horizon::Passes { passes: window },
        };
        let judgement = judge(&rules, &groups, cells, slices, &Unseated::new());
        screened += judgement.screened.len();
        for group in &judgement.groups {
            let any = |decision| {
                let mut candidates = group.candidates.iter();
                candidates.any(|candidate| candidate.decision == Some(decision))
            };
            judged += 1;
            winners += usize::from(any(Decision::Better));
            losers += usize::from(any(Decision::Worse));
            let ratios = group
                .candidates
                .iter()
                .filter_map(|candidate| candidate.ratio);
            widths.extend(ratios.map(|ratio| (ratio.high / ratio.low).ln() / 2.0));
        }
        // One look at each pair by itself, at the end.
        for group in &groups {
            for &cell in &group.cells {
                let reference = group.reference_cell();
                if cell == reference {
                    continue;
                }
                let pair = Group {
                    cells: vec![reference, cell],
                    reference: 0,
                };
                let once = Rules {
                    drop: false,
                    screen: true,
                    horizon: Horizon::Passes { passes: 1 },
                    ..rules
                };
                let judgement = judge(&once, &[pair], cells, slices, &Unseated::new());
                if let Some(ratio) = judgement.groups[0].candidates[1].ratio {
                    intervals += 1;
                    covering += usize::from(ratio.low <= 1.0 && 1.0 <= ratio.high);
                }
            }
        }
    }
    widths.sort_by(f64::total_cmp);
    let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    let seconds: f64 = slices.iter().map(|slice| slice.elapsed.as_secs_f64()).sum();
    let passes = slices.len() / cells;
    println!(
        "{} windows of {window} passes, {:.1} s measured each, {screened} passes screened",
        windows.len(),
        seconds / passes as f64 * f64::from(window),
    );
    println!(
        "groups with a false winner: {winners} of {judged} ({:.1}%), with a false loser: {losers} \
         ({:.1}%)",
        percent(winners, judged),
        percent(losers, judged),
    );
    println!(
        "intervals of one look that cover 1: {covering} of {intervals} ({:.1}%)",
        percent(covering, intervals),
    );
    if let Some(middle) = widths.get(widths.len() / 2) {
        println!(
            "median half-width over all rivals and looks: {:.2}%",
            100.0 * middle
        );
    }
    Ok(())
}
