//! What is known of the parts of a plan, of the hosts that carried them out and of their classes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use schemars::JsonSchema;
use serde::Serialize;

use super::GroupFindings;
use crate::{
    caveats::{self, Caveat},
    lockstep::{Group, HOSTS_MIN, HostRatios},
    part::{Host, PartKind, PartOutcome, StoredPart},
    plan::Level,
    statistics::{Decision, Interval},
    verdict::Verdict,
};

/// The parts of a plan, and what their hosts say.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fleet {
    /// What a part is.
    pub kind: PartKind,
    /// How many parts with anything to do the plan was divided into, as far as that is known: else as many
    /// as there are numbers between the lowest and the highest.
    pub wanted: u32,
    /// How many of these count.
    pub counted: usize,
    /// The numbers of those of which no attempt counts, from 0.
    pub missing: Vec<u32>,
    /// The numbers of those that count though they were cut off, or are still under way, from 0.
    pub cut_off: Vec<u32>,
    /// Attempts that do not count, by host: slow hosts have more of them.
    pub lost: Vec<LostPart>,
    /// Hosts of other classes that have nothing in the first one: each counts once.
    pub other_hosts: usize,
    /// Hosts of the first class that have parts in other classes, too: something of them changed.
    pub changed_hosts: usize,
    /// The classes of hosts, the one that all other figures are of first.
    pub classes: Vec<ClassFindings>,
    /// How many classes have too few hosts to say anything of others, where the first one has enough.
    pub classes_too_small: usize,
    /// The hosts of these whose own answer is another one than that of the first class.
    pub small_against: Vec<String>,
    /// Whether the verdicts of the other classes are the same; `None` of one class, and where that is not
    /// known as a class has no verdict yet.
    pub agree: Option<bool>,
    /// Names of hosts of the first class that were one machine in the same boot, or copies of one that was
    /// running.
    pub one_machine: Vec<Vec<String>>,
}

/// An attempt at a part that does not count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LostPart {
    /// Which part, from 0.
    pub number: u32,
    /// The attempt's id.
    pub id: String,
    /// Where it was.
    pub host: Host,
    /// How it ended; `None` where nobody heard of its end.
    pub outcome: Option<PartOutcome>,
    /// Whether another attempt at the same part counts.
    pub has_another: bool,
}

/// Hosts that are alike.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClassFindings {
    /// What they have in common.
    pub class: String,
    /// The hosts.
    pub hosts: Vec<HostSummary>,
    /// Whether figures are intervals over hosts: with fewer than three they are of the sittings at
    /// hand.
    pub is_over_hosts: bool,
    /// What was found in each group.
    pub groups: Vec<ClassGroup>,
    /// What to know before believing it, the worst first: of the first class it is what all the rest says.
    #[serde(
        serialize_with = "caveats::with_severity",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Vec<caveats::Rated<'_>>")]
    pub caveats: Vec<Caveat>,
}

/// A host of a class.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostSummary {
    /// Which.
    #[serde(flatten)]
    pub host: Host,
    /// The numbers of its parts that count, from 0.
    pub parts: Vec<u32>,
    /// How many of its attempts were cut off and do not count, of those that were of this class.
    pub lost: usize,
    /// Its passes that count, all sittings together: of its cells the fewest.
    pub passes: usize,
}

/// A group of cells on the hosts of a class.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClassGroup {
    /// What sets it apart from other groups.
    pub name: String,
    /// What to do on these hosts.
    pub verdict: Verdict,
    /// Its cells, in the order of the compared list.
    pub cells: Vec<HostFindings>,
}

/// A cell on the hosts of a class.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HostFindings {
    /// Its level of what is compared.
    pub level: String,
    /// Whether others are compared with it.
    pub reference: bool,
    /// Throughput a minute.
    pub throughput: Option<Interval>,
    /// Its throughput over the reference's.
    pub ratio: Option<Interval>,
    /// What the ratio says.
    pub decision: Option<Decision>,
    /// Between what that lies on the next host like these, at 95% for all cells of the group.
    pub next: Option<Interval>,
    /// The standard deviation of the ratio's logarithm between hosts.
    pub deviation: Option<f64>,
    /// How many more hosts would decide it, if they have the same mean and deviate as much; `None` where
    /// it is decided and where that cannot be told.
    pub more_hosts: Option<usize>,
    /// What each host says.
    pub by_host: Vec<HostCell>,
    /// The host that alone keeps it open: the others decide it, and do not expect what this one says.
    pub odd: Option<String>,
    /// The hosts whose own ratio is on the other side of 1 than that of all: where it is decided by more than
    /// the margin, where it is open by however little.
    pub against: Vec<String>,
}

/// What a host says of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostCell {
    /// The host's name.
    pub host: String,
    /// The ratio to the reference, over its sittings.
    pub ratio: Option<f64>,
    /// The throughput a minute.
    pub throughput: Option<f64>,
}

/// Parts that count, by class: hosts with numbers, and which host each sitting was on.
pub(crate) struct ClassParts<'a> {
    pub(crate) class: String,
    pub(crate) parts: Vec<&'a StoredPart>,
    pub(crate) hosts: Vec<Host>,
    /// Attempts of its hosts that were cut off and do not count.
    lost: Vec<&'a StoredPart>,
}

impl<'a> ClassParts<'a> {
    /// The classes of the parts that count, the one with most hosts first, of these the one with
    /// most parts, and of these the first by name. `classes` has the class of each part.
    pub(crate) fn of(parts: &'a [StoredPart], classes: &[String]) -> Vec<Self> {
        let mut by_class: BTreeMap<&String, Vec<&StoredPart>> = BTreeMap::new();
        for (part, class) in parts.iter().zip(classes) {
            if part.counts() {
                by_class.entry(class).or_default().push(part);
            }
        }
        let mut all: Vec<Self> = by_class
            .into_iter()
            .map(|(class, parts)| {
                let hosts: BTreeSet<&Host> = parts.iter().map(|part| &part.host).collect();
                let mut hosts: Vec<Host> = hosts.into_iter().cloned().collect();
                hosts.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
                Self {
                    class: class.clone(),
                    parts,
                    hosts,
                    lost: Vec::new(),
                }
            })
            .collect();
        all.sort_by(|one, other| {
            let order = |of: &Self| (of.hosts.len(), of.parts.len());
            order(other)
                .cmp(&order(one))
                .then(one.class.cmp(&other.class))
        });
        // Each is of the class that its own facts say, if its host has parts there that count, else of
        // the first one in which its host has some: an early end leaves no facts.
        let is_lost = |part: &StoredPart| !part.counts() && part.outcome != Some(PartOutcome::Done);
        for (part, class) in parts.iter().zip(classes).filter(|(part, _)| is_lost(part)) {
            let has_host = |of: &Self| of.hosts.contains(&part.host);
            let own = all.iter().position(|of| of.class == *class && has_host(of));
            if let Some(place) = own.or_else(|| all.iter().position(has_host)) {
                all[place].lost.push(part);
            }
        }
        all
    }

    /// The place of the host of each sitting. What is predicted is the same on all hosts.
    pub(crate) fn host_of(&self) -> BTreeMap<u32, usize> {
        let sittings = self
            .parts
            .iter()
            .filter(|part| part.kind == PartKind::Sitting);
        sittings
            .filter_map(|part| {
                let place = self.hosts.iter().position(|host| *host == part.host)?;
                Some((part.number, place))
            })
            .collect()
    }

    /// What was found on its hosts.
    pub(crate) fn findings(
        &self,
        (groups, found): (&[Group], &[GroupFindings]),
        ratios: &HostRatios,
        margin: f64,
    ) -> ClassFindings {
        let name = |host: &usize| self.hosts.get(*host).map(|host| host.name.clone());
        let hosts = self.hosts.iter().enumerate().map(|(place, host)| {
            let lost = self.lost.iter().filter(|part| part.host == *host);
            HostSummary {
                host: host.clone(),
                parts: self
                    .parts
                    .iter()
                    .filter(|part| part.host == *host)
                    .map(|part| part.number)
                    .collect(),
                lost: lost.count(),
                passes: ratios.passes.get(&place).copied().unwrap_or_default(),
            }
        });
        let cells = |group: &Group, found: &GroupFindings| -> Vec<HostFindings> {
            let comparisons = group.cells.len().saturating_sub(1);
            let cells = group.cells.iter().zip(&found.cells);
            cells
                .map(|(cell, found)| {
                    let of_hosts = ratios.cells.get(cell);
                    let throughputs = ratios.throughputs.get(cell);
                    let by_host = self.hosts.iter().enumerate().map(|(place, host)| HostCell {
                        host: host.name.clone(),
                        ratio: of_hosts
                            .and_then(|of| of.logs.get(&place))
                            .map(|log| log.exp()),
                        throughput: throughputs
                            .and_then(|of| of.get(&place))
                            .map(|log| log.exp()),
                    });
                    let is_open = found.decision == Some(Decision::Open);
                    let against = of_hosts
                        .filter(|_| found.ratio.is_some() && ratios.says_of_hosts())
                        .map(|of| match is_open {
                            true => of.fewer(),
                            false => of.against(margin),
                        })
                        .unwrap_or_default();
                    HostFindings {
                        level: found.level.clone(),
                        reference: found.reference,
                        throughput: found.throughput,
                        ratio: found.ratio,
                        decision: found.decision,
                        next: of_hosts
                            .filter(|of| of.logs.len() >= HOSTS_MIN)
                            .and_then(|of| of.next(comparisons)),
                        deviation: of_hosts.and_then(|of| of.deviation()),
                        more_hosts: of_hosts
                            .filter(|_| is_open && ratios.says_of_hosts())
                            .and_then(|of| of.more(comparisons, margin)),
                        odd: of_hosts
                            .filter(|_| is_open && ratios.says_of_hosts())
                            .and_then(|of| name(&of.odd(comparisons, margin)?)),
                        by_host: by_host.collect(),
                        against: against.iter().filter_map(name).collect(),
                    }
                })
                .collect()
        };
        let of_groups = groups.iter().zip(found).map(|(group, found)| ClassGroup {
            name: found.name.clone(),
            verdict: found.verdict.clone(),
            cells: cells(group, found),
        });
        ClassFindings {
            class: self.class.clone(),
            is_over_hosts: ratios.says_of_hosts(),
            groups: of_groups.collect(),
            hosts: hosts.collect(),
            caveats: Vec::new(),
        }
    }
}

impl Fleet {
    /// Of these parts, and classes that count.
    ///
    /// Shards beyond the plan's groups have nothing to do, and leave nothing.
    pub(crate) fn new(
        parts: &[StoredPart],
        classes: Vec<ClassFindings>,
        groups: usize,
        boots: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let kind = parts.first()?.kind;
        let numbers = numbers(parts, groups);
        let counting = counting(parts);
        let lost = parts.iter().filter(|part| !part.counts());
        let mut lost: Vec<LostPart> = lost
            .map(|part| LostPart {
                number: part.number,
                id: part.id.clone(),
                host: part.host.clone(),
                outcome: part.outcome,
                has_another: counting.contains(&part.number),
            })
            .collect();
        lost.sort_by(|one, other| {
            let order = |of: &LostPart| (of.host.name.clone(), of.number, of.id.clone());
            order(one).cmp(&order(other))
        });
        let is_enough = |class: &ClassFindings| kind == PartKind::Shard || class.is_over_hosts;
        let some_are_enough = classes.iter().any(is_enough);
        let speaking = || {
            classes
                .iter()
                .filter(|class| is_enough(class) || !some_are_enough)
        };
        let all_known =
            speaking().all(|class| class.groups.iter().all(|of| of.verdict.advised().is_some()));
        let contradict = speaking().any(|one| speaking().any(|other| contradicts(one, other)));
        let agree = match (speaking().count() > 1, contradict, all_known) {
            (false, ..) => None,
            (true, true, _) => Some(false),
            (true, false, true) => Some(true),
            (true, false, false) => None,
        };
        // Where some are enough, the first one is. Hosts differ within a class, too: what one of its own might
        // say is no other answer.
        let small = classes
            .iter()
            .filter(|class| some_are_enough && !is_enough(class));
        let small_against = small.clone().filter(|class| {
            let first = &classes[0];
            contradicts(first, class) && is_unlike(class, first)
        });
        let small_against = small_against
            .flat_map(|class| &class.hosts)
            .map(|of| of.host.name.clone());
        let (first, others) = match classes.split_first() {
            Some((first, others)) => (names_of([first]), names_of(others)),
            None => Default::default(),
        };
        Some(Self {
            kind,
            other_hosts: others.difference(&first).count(),
            changed_hosts: others.intersection(&first).count(),
            wanted: numbers.end.saturating_sub(numbers.start),
            counted: counting.len(),
            missing: missing_parts(parts, groups),
            cut_off: parts
                .iter()
                .filter(|part| part.counts() && part.outcome != Some(PartOutcome::Done))
                .map(|part| part.number)
                .collect(),
            lost,
            agree,
            classes_too_small: small.count(),
            small_against: small_against.collect(),
            one_machine: one_machine(parts, boots, classes.first()),
            classes,
        })
    }

    /// How many hosts there are in the class that all other figures are of.
    pub fn hosts(&self) -> usize {
        self.classes.first().map_or(0, |class| class.hosts.len())
    }

    /// How many of these gave any figure.
    pub fn hosts_with_figures(&self) -> usize {
        let places = 0..self.hosts();
        let has_some = |place: &usize| {
            let groups = self
                .classes
                .first()
                .into_iter()
                .flat_map(|class| &class.groups);
            let mut cells = groups.flat_map(|group| &group.cells);
            cells.any(|cell| {
                cell.by_host
                    .get(*place)
                    .is_some_and(|of| of.throughput.is_some())
            })
        };
        places.filter(has_some).count()
    }
}

/// Whether what hosts of one class are told to use is not as good for those of another one.
fn contradicts(one: &ClassFindings, other: &ClassFindings) -> bool {
    let mut groups = one.groups.iter().zip(&other.groups);
    groups.any(|(one, other)| {
        let (Some(advised), others) = (one.verdict.advised(), other.verdict.advised()) else {
            return false;
        };
        let is_slower = |of: &HostFindings| {
            of.level == advised.to_string() && of.decision == Some(Decision::Worse)
        };
        let is_used = matches!(one.verdict, Verdict::Use { .. });
        let is_other = others.is_some_and(|of| of != advised);
        let is_tie = ties(&other.verdict).any(|of| of == advised);
        is_other && !is_tie || is_used && other.cells.iter().any(is_slower)
    })
}

/// The levels that are as good as what a verdict advises.
fn ties(verdict: &Verdict) -> impl Iterator<Item = &Level> {
    let ties: &[Level] = match verdict {
        Verdict::Use { ties, .. } => ties,
        Verdict::Keep { equivalent, .. } => equivalent,
        _ => &[],
    };
    ties.iter()
}

/// Whether a host says of a level what is not to be expected of one more host of the class `first`.
fn is_unlike(class: &ClassFindings, first: &ClassFindings) -> bool {
    let groups = class.groups.iter().zip(&first.groups);
    let mut cells = groups.flat_map(|(own, first)| own.cells.iter().zip(&first.cells));
    cells.any(|(own, first)| {
        let Some(next) = first.next else { return false };
        let mut ratios = own.by_host.iter().filter_map(|of| of.ratio);
        ratios.any(|ratio| !(next.low..=next.high).contains(&ratio))
    })
}

/// The hosts of classes, each once.
fn names_of<'a>(classes: impl IntoIterator<Item = &'a ClassFindings>) -> BTreeSet<Host> {
    let hosts = classes.into_iter().flat_map(|class| &class.hosts);
    hosts.map(|of| of.host.clone()).collect()
}

/// The numbers that parts have, as far as it is known how many there are. Shards beyond the plan's groups have
/// nothing to do, and leave nothing.
fn numbers(parts: &[StoredPart], groups: usize) -> Range<u32> {
    let known = parts.iter().filter_map(|part| part.parts).max();
    let highest = parts.iter().map(|part| part.number.saturating_add(1)).max();
    let wanted = known.max(highest).unwrap_or_default();
    // Where nobody said how many there are, whoever numbers them from another begin is not to
    // blame.
    let lowest = parts.iter().map(|part| part.number).min();
    let first = match known {
        Some(_) => 0,
        None => lowest.unwrap_or_default(),
    };
    match parts.first().map(|part| part.kind) {
        Some(PartKind::Shard) => first..wanted.min(u32::try_from(groups).unwrap_or(u32::MAX)),
        _ => first..wanted,
    }
}

/// The numbers of parts of which an attempt counts.
fn counting(parts: &[StoredPart]) -> BTreeSet<u32> {
    let counting = parts.iter().filter(|part| part.counts());
    counting.map(|part| part.number).collect()
}

/// The numbers of parts of which no attempt counts, of a plan with so many groups.
pub(crate) fn missing_parts(parts: &[StoredPart], groups: usize) -> Vec<u32> {
    let counting = counting(parts);
    let numbers = numbers(parts, groups);
    numbers
        .filter(|number| !counting.contains(number))
        .collect()
}

/// Names of hosts of a class whose parts that count were carried out in the same boot of a machine.
fn one_machine(
    parts: &[StoredPart],
    boots: &BTreeMap<String, String>,
    class: Option<&ClassFindings>,
) -> Vec<Vec<String>> {
    let mut names: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    let is_own = |part: &&StoredPart| {
        let mut hosts = class.into_iter().flat_map(|class| &class.hosts);
        hosts.any(|of| of.host == part.host)
    };
    let sittings = parts
        .iter()
        .filter(|part| part.counts() && part.kind == PartKind::Sitting)
        .filter(is_own);
    for part in sittings {
        if let Some(boot) = boots.get(&part.id) {
            names.entry(boot).or_default().insert(&part.host.name);
        }
    }
    let several = names.into_values().filter(|names| names.len() > 1);
    let mut all: Vec<Vec<String>> = several
        .map(|names| names.into_iter().cloned().collect())
        .collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use octavo_units::PageSize;

    use super::*;

    fn level(kib: u32) -> Level {
        Level::PageSize(PageSize::kib(kib))
    }

    /// A class that is told to use a level, as good as which others may be, and for which this one is slower.
    fn class(used: u32, ties: &[u32], slower: Option<u32>) -> ClassFindings {
        let one = Interval {
            estimate: 1.1,
            low: 1.08,
            high: 1.12,
            batches: 6,
        };
        let slower = slower.map(|kib| HostFindings {
            level: level(kib).to_string(),
            reference: false,
            throughput: None,
            ratio: None,
            decision: Some(Decision::Worse),
            next: None,
            deviation: None,
            more_hosts: None,
            odd: None,
            by_host: Vec::new(),
            against: Vec::new(),
        });
        ClassFindings {
            class: "8 x Xeon".into(),
            hosts: Vec::new(),
            is_over_hosts: true,
            groups: vec![ClassGroup {
                name: String::new(),
                verdict: Verdict::Use {
                    level: level(used),
                    ratio: one,
                    ties: ties.iter().map(|kib| level(*kib)).collect(),
                    open: Vec::new(),
                },
                cells: slower.into_iter().collect(),
            }],
            caveats: Vec::new(),
        }
    }

    #[test]
    fn classes_that_favor_one_of_two_equal_levels_do_not_contradict() {
        let [eight, sixteen] = [8, 16].map(|kib| class(kib, &[], None));
        assert!(!contradicts(&eight, &class(8, &[], None)));
        assert!(contradicts(&eight, &sixteen));
        assert!(!contradicts(&class(8, &[16], None), &class(16, &[8], None)));
        // It is as good there; what is used there is not as good here.
        let either = class(16, &[8, 4], None);
        assert!(!contradicts(&eight, &either));
        assert!(contradicts(&either, &eight));
        assert!(contradicts(&class(8, &[32], None), &class(16, &[4], None)));
        // What is slower in one is no tie there, whatever is one in the other.
        let slower = class(8, &[16], Some(16));
        assert!(contradicts(&class(16, &[8], None), &slower));
    }
}
