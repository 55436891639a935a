//! Whether the load that was generated is the one that was asked for.

use octavo_workload::{Audit, AuditDistribution, AuditLine, AuditRule};
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, Normal};

/// A generator that follows its specification fails one of this many
/// comparisons by chance: with some twenty of them in a run, one run in 5,000.
const CHANCE: f64 = 1e-5;

/// Fewer expected occurrences than this say nothing.
const EXPECTED_MIN: f64 = 10.0;

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// Within what chance allows.
    Pass,
    /// Outside of it: the generated load is not the specified one.
    Fail,
    /// Too little was drawn to tell.
    TooFew,
}

/// One property of the generated load, compared.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AuditFinding {
    /// What was counted.
    pub name: String,
    /// What was found: a share, 0 to 1, or Pearson's chi-square.
    pub found: Figure,
    /// Out of how many.
    pub draws: u64,
    /// Whether it agrees.
    pub agreement: Agreement,
}

/// A figure and what it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "figure")]
pub enum Figure {
    /// A share.
    Share {
        /// Found, 0 to 1.
        share: f64,
        /// Wanted, 0 to 1.
        wanted: f64,
        /// Whether less than the wanted share is as good.
        at_most: bool,
    },
    /// The distribution of draws.
    ChiSquare {
        /// Pearson's statistic.
        statistic: f64,
        /// About as large as it is when draws follow the specification.
        degrees_of_freedom: usize,
        /// The chance of a statistic as large or larger, if they do.
        p_value: f64,
    },
}

/// Compares all that an audit counted.
pub fn compare(audit: &Audit) -> Vec<AuditFinding> {
    let lines = audit.lines.iter().map(line);
    lines
        .chain(audit.distributions.iter().map(distribution))
        .collect()
}

fn line(line: &AuditLine) -> AuditFinding {
    let total = line.total as f64;
    let expected = total * line.wanted;
    let at_most = line.rule == AuditRule::AtMost;
    let agreement = if line.total == 0 {
        Agreement::TooFew
    } else if line.wanted <= 0.0 || line.wanted >= 1.0 {
        // Never, or always: no chance in it.
        pass(line.count as f64 == expected)
    } else if at_most {
        // What is allowed needs no proof; what is not may be chance.
        pass(tails(line).1 >= CHANCE)
    } else if expected.min(total - expected) < EXPECTED_MIN {
        Agreement::TooFew
    } else if let AuditRule::Dispersed(times) = line.rule {
        // A sum of many draws each: normal by now.
        let deviation = (expected * (1.0 - line.wanted) * times).sqrt();
        let excess = (line.count as f64 - expected).abs();
        pass(2.0 * Normal::standard().sf(excess / deviation) >= CHANCE)
    } else {
        let (low, high) = tails(line);
        pass(2.0 * low.min(high) >= CHANCE)
    };
    AuditFinding {
        name: line.name.clone(),
        found: Figure::Share {
            share: if line.total == 0 {
                0.0
            } else {
                line.count as f64 / total
            },
            wanted: line.wanted,
            at_most,
        },
        draws: line.total,
        agreement,
    }
}

fn distribution(drawn: &AuditDistribution) -> AuditFinding {
    let draws: u64 = drawn.counts.iter().sum();
    let possible = drawn.wanted.iter().filter(|share| **share > 0.0);
    let rarest = possible.clone().copied().fold(1.0, f64::min);
    let degrees_of_freedom = possible.count().saturating_sub(1);
    let statistic = drawn.chi_square();
    // Without a second range there is nothing to compare.
    let p_value = ChiSquared::new(degrees_of_freedom as f64)
        .map_or(1.0, |distribution| distribution.sf(statistic));
    let impossible = drawn
        .counts
        .iter()
        .zip(&drawn.wanted)
        .any(|(count, share)| *count > 0 && *share <= 0.0);
    let agreement = if impossible {
        Agreement::Fail
    } else if (draws as f64) * rarest < EXPECTED_MIN {
        Agreement::TooFew
    } else {
        pass(p_value >= CHANCE)
    };
    AuditFinding {
        name: drawn.name.clone(),
        found: Figure::ChiSquare {
            statistic,
            degrees_of_freedom,
            p_value,
        },
        draws,
        agreement,
    }
}

fn pass(agrees: bool) -> Agreement {
    if agrees {
        Agreement::Pass
    } else {
        Agreement::Fail
    }
}

/// The chances of a count as low or lower, and as high or higher, when each of
/// the total falls on it independently with the wanted share.
fn tails(line: &AuditLine) -> (f64, f64) {
    // The share is within 0 and 1.
    let Ok(binomial) = Binomial::new(line.wanted, line.total) else {
        return (1.0, 1.0);
    };
    let high = match line.count.checked_sub(1) {
        Some(below) => binomial.sf(below),
        None => 1.0,
    };
    (binomial.cdf(line.count), high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(count: u64, total: u64, wanted: f64, rule: AuditRule) -> Agreement {
        line(&AuditLine {
            name: "x".into(),
            count,
            total,
            wanted,
            rule,
        })
        .agreement
    }

    #[test]
    fn shares_pass_within_chance() {
        // 1,000 of 10,000: the standard deviation is 30, about 4.42 of it 132.
        let independent = |count| share(count, 10_000, 0.1, AuditRule::Independent);
        assert_eq!(independent(1130), Agreement::Pass);
        assert_eq!(independent(1140), Agreement::Fail);
        assert_eq!(independent(860), Agreement::Fail);
        // 10 of 1,000 are far from normal: 24 or more come once in 11,000.
        let rare = |count| share(count, 1000, 0.01, AuditRule::Independent);
        assert_eq!(rare(25), Agreement::Pass);
        assert_eq!(rare(30), Agreement::Fail);
        // And a day of them is still exact enough.
        let many = |count| share(count, 10_000_000_000, 0.1, AuditRule::Independent);
        assert_eq!(many(1_000_100_000), Agreement::Pass);
        assert_eq!(many(1_000_200_000), Agreement::Fail);
        let lumpy = |count| share(count, 10_000, 0.1, AuditRule::Dispersed(4.0));
        assert_eq!(lumpy(1260), Agreement::Pass);
        assert_eq!(lumpy(1270), Agreement::Fail);
    }

    #[test]
    fn little_says_nothing_and_never_means_never() {
        assert_eq!(share(0, 0, 0.5, AuditRule::Independent), Agreement::TooFew);
        assert_eq!(share(3, 50, 0.1, AuditRule::Independent), Agreement::TooFew);
        assert_eq!(share(0, 50, 0.0, AuditRule::Independent), Agreement::Pass);
        assert_eq!(share(1, 50, 0.0, AuditRule::Independent), Agreement::Fail);
        assert_eq!(share(50, 50, 1.0, AuditRule::Independent), Agreement::Pass);
    }

    #[test]
    fn at_most_forgives_less() {
        let at_most = |count| share(count, 10_000, 0.01, AuditRule::AtMost);
        assert_eq!(at_most(0), Agreement::Pass);
        assert_eq!(at_most(120), Agreement::Pass);
        assert_eq!(at_most(200), Agreement::Fail);
    }

    #[test]
    fn distributions_pass_by_their_chi_square() {
        let agreement = |counts: &[u64], wanted: &[f64]| {
            distribution(&AuditDistribution {
                name: "x".into(),
                counts: counts.to_vec(),
                wanted: wanted.to_vec(),
            })
            .agreement
        };
        let even = [0.25; 4];
        assert_eq!(agreement(&[250, 260, 240, 250], &even), Agreement::Pass);
        assert_eq!(agreement(&[350, 160, 240, 250], &even), Agreement::Fail);
        assert_eq!(agreement(&[2, 3, 2, 4], &even), Agreement::TooFew);
        // A range that nothing should fall into.
        assert_eq!(agreement(&[100, 1], &[1.0, 0.0]), Agreement::Fail);
        assert_eq!(agreement(&[100, 0], &[1.0, 0.0]), Agreement::Pass);
    }
}
