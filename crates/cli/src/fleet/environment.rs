//! Which part of the work this process is to do, as a scheduler's environment says it.
//!
//! Schedulers start the same command many times and tell each copy by a variable which one it is.
//! The variables, what their first value is, and where that is documented:
//!
//! | scheduler | index | first | count |
//! |---|---|---|---|
//! | GNU parallel | `PARALLEL_SEQ` | 1 | none |
//! | HyperQueue | `HQ_TASK_ID` | as submitted | none |
//! | Slurm | `SLURM_ARRAY_TASK_ID` | as submitted | `_MIN`, `_MAX` and `_COUNT` of an array without gaps |
//! | PBS Professional, OpenPBS | `PBS_ARRAY_INDEX` | as submitted | none |
//! | TORQUE | `PBS_ARRAYID` | as submitted | none |
//! | LSF | `LSB_JOBINDEX` | 1 | `LSB_JOBINDEX_END`, where `LSB_JOBINDEX_STEP` is 1 |
//! | AWS Batch | `AWS_BATCH_JOB_ARRAY_INDEX` | 0 | `AWS_BATCH_JOB_ARRAY_SIZE` |
//! | Kubernetes, Indexed Job | `JOB_COMPLETION_INDEX` | 0 | none |
//!
//! Sources: the manuals parallel(1) and sbatch(1) ("output environment variables") with
//! slurm.schedmd.com/job_array.html; HyperQueue's docs/jobs/jobs.md and arrays.md; the PBS
//! Professional user's guide (job arrays) and TORQUE's qsub(1B); "Environment variables set for job
//! execution" of IBM Spectrum LSF 10.1, whose indices are positive, with 0 for a job of no array;
//! docs.aws.amazon.com/batch/latest/userguide/job_env_vars.html; and
//! kubernetes.io/docs/concepts/workloads/controllers/job. Tried: those of GNU parallel 20221122, HyperQueue
//! 0.27 and Slurm 22.05 (docs/fleet.md); the others were read.
//!
//! An index that the user chose at submission is taken as it stands. It is not counted from the
//! array's smallest: `sbatch --array=3,7` is how the two tasks that failed are submitted again, and
//! these are parts 3 and 7, not 0 and 4. For the same reason the number of tasks in an array is the number
//! of parts only where the array is 0 to its largest index without a gap.
//!
//! [`PARTS`] is Octavo's own: the scripts of `octavo fleet script` set it, and it
//! beats what schedulers say of the number of parts.
//!
//! Several schedulers are there at once where one runs within another, and variables of the outer
//! one are inherited. [`INNERMOST_FIRST`] is the order in which they are asked.

use std::ffi::OsString;

use anyhow::{anyhow, bail, ensure};

/// The variable that has the number of all parts, whichever of them were submitted.
pub(crate) const PARTS: &str = "OCTAVO_PARTS";

/// What to do where the environment does not say which part.
const REMEDY: &str = "give the number itself instead of auto";

/// A part of the work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Part {
    /// Which part, counted from 0.
    pub(crate) index: u32,
    /// How many parts there are, where the scheduler says so of all of them.
    pub(crate) count: Option<u32>,
    /// The scheduler's name.
    pub(crate) scheduler: &'static str,
}

/// A scheduler by its variables.
#[derive(Clone, Copy, Debug)]
struct Scheduler {
    name: &'static str,
    /// The variable that has the index.
    index: &'static str,
    /// The index of the first part.
    first: u32,
    count: Count,
}

/// Where the number of parts stands.
#[derive(Clone, Copy, Debug)]
enum Count {
    /// Nowhere.
    Unknown,
    /// In a variable.
    Size(&'static str),
    /// The largest index, where all indices are a step of 1 apart.
    Last {
        last: &'static str,
        step: &'static str,
    },
    /// The largest index and 1, where the smallest is 0 and there are as many tasks.
    Array {
        min: &'static str,
        max: &'static str,
        tasks: &'static str,
    },
}

/// All schedulers in the order in which they are asked.
///
/// GNU parallel and HyperQueue run within an allocation of a batch system, seldom the other way
/// round. Batch systems run in containers of AWS Batch and Kubernetes.
const INNERMOST_FIRST: [Scheduler; 8] = [
    Scheduler {
        name: "GNU parallel",
        index: "PARALLEL_SEQ",
        first: 1,
        count: Count::Unknown,
    },
    Scheduler {
        name: "HyperQueue",
        index: "HQ_TASK_ID",
        first: 0,
        count: Count::Unknown,
    },
    Scheduler {
        name: "Slurm",
        index: "SLURM_ARRAY_TASK_ID",
        first: 0,
        count: Count::Array {
            min: "SLURM_ARRAY_TASK_MIN",
            max: "SLURM_ARRAY_TASK_MAX",
            tasks: "SLURM_ARRAY_TASK_COUNT",
        },
    },
    Scheduler {
        name: "PBS",
        index: "PBS_ARRAY_INDEX",
        first: 0,
        count: Count::Unknown,
    },
    Scheduler {
        name: "TORQUE",
        index: "PBS_ARRAYID",
        first: 0,
        count: Count::Unknown,
    },
    Scheduler {
        name: "LSF",
        index: "LSB_JOBINDEX",
        first: 1,
        count: Count::Last {
            last: "LSB_JOBINDEX_END",
            step: "LSB_JOBINDEX_STEP",
        },
    },
    Scheduler {
        name: "AWS Batch",
        index: "AWS_BATCH_JOB_ARRAY_INDEX",
        first: 0,
        count: Count::Size("AWS_BATCH_JOB_ARRAY_SIZE"),
    },
    Scheduler {
        name: "Kubernetes",
        index: "JOB_COMPLETION_INDEX",
        first: 0,
        count: Count::Unknown,
    },
];

/// These two may be within each other either way: a task of HyperQueue may call GNU parallel, and
/// GNU parallel may have started HyperQueue's workers on all hosts.
const UNORDERED: [&str; 2] = ["PARALLEL_SEQ", "HQ_TASK_ID"];

/// Which part this process is to do, by the innermost scheduler that `environment` knows of.
///
/// # Errors
/// When there is no scheduler, when there are two and it is not known which is the inner one, when a
/// variable has no number, and when an index is beyond the number of parts. Each error names the variable
/// and ends with a remedy.
pub(crate) fn part(environment: impl Fn(&str) -> Option<OsString>) -> anyhow::Result<Part> {
    let environment: &dyn Fn(&str) -> Option<OsString> = &environment;
    let [one, other] = UNORDERED;
    ensure!(
        environment(one).is_none() || environment(other).is_none(),
        "{one} and {other} are both set, and either may be the inner scheduler's: unset the one \
         of the scheduler that started the other, or {REMEDY}",
    );
    for scheduler in INNERMOST_FIRST {
        let Some(index) = number(environment, scheduler.index)? else {
            continue;
        };
        if matches!(scheduler.count, Count::Last { .. }) && index == 0 {
            // A job that is no array.
            continue;
        }
        return scheduler.part(environment, index);
    }
    let names: Vec<String> = INNERMOST_FIRST
        .iter()
        .map(|scheduler| format!("{} ({})", scheduler.index, scheduler.name))
        .collect();
    bail!(
        "auto takes the number from a scheduler, and none is here, as none of these is set: {}; \
         {REMEDY}",
        names.join(", "),
    )
}

impl Scheduler {
    /// The part with an index as the scheduler counts.
    fn part(
        &self,
        environment: &dyn Fn(&str) -> Option<OsString>,
        index: u32,
    ) -> anyhow::Result<Part> {
        let Self {
            name,
            index: variable,
            first,
            count,
        } = *self;
        let from_zero = index.checked_sub(first).ok_or_else(|| {
            anyhow!("{variable} is {index}, but {name} counts from {first}: {REMEDY}")
        })?;
        let all = number(environment, PARTS)?;
        let (count, source) = match count {
            _ if all.is_some() => (all, PARTS),
            Count::Unknown => (None, ""),
            Count::Size(size) => (number(environment, size)?, size),
            Count::Last { last, step } => {
                let is_dense = number(environment, step)?.is_none_or(|step| step == 1);
                let all = number(environment, last)?.filter(|last| *last > 0);
                (all.filter(|_| is_dense), last)
            }
            Count::Array { min, max, tasks } => {
                let (least, last) = (number(environment, min)?, number(environment, max)?);
                let all = last.and_then(|last| last.checked_add(1));
                let tasks = number(environment, tasks)?;
                (
                    all.filter(|all| least == Some(0) && tasks == Some(*all)),
                    max,
                )
            }
        };
        if let Some(count) = count {
            ensure!(
                from_zero < count,
                "{variable} is {index}, which is none of the {count} parts that {source} says \
                 there are, counted from {first}: {REMEDY}",
            );
        }
        Ok(Part {
            index: from_zero,
            count,
            scheduler: name,
        })
    }
}

/// The number in a variable, if it is set.
fn number(
    environment: &dyn Fn(&str) -> Option<OsString>,
    variable: &str,
) -> anyhow::Result<Option<u32>> {
    let Some(value) = environment(variable) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    // `parse` would take a sign.
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse().ok()) {
        Some(number) => Ok(Some(number)),
        None => bail!(
            "{variable} is '{}', which is no number from 0 to {}: {REMEDY}",
            value.to_string_lossy(),
            u32::MAX,
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn part_of(variables: &str) -> Result<(u32, Option<u32>, &'static str), String> {
        let part = part(|name| {
            let mut all = variables
                .split_whitespace()
                .filter_map(|pair| pair.split_once('='));
            all.find(|(own, _)| *own == name)
                .map(|(_, value)| value.into())
        });
        let part = part.map_err(|error| error.to_string())?;
        Ok((part.index, part.count, part.scheduler))
    }

    fn slurm(id: u32, min: u32, max: u32, count: u32) -> String {
        format!(
            "SLURM_ARRAY_TASK_ID={id} SLURM_ARRAY_TASK_MIN={min} SLURM_ARRAY_TASK_MAX={max} \
             SLURM_ARRAY_TASK_COUNT={count} SLURM_ARRAY_TASK_STEP=1"
        )
    }

    #[test]
    fn each_scheduler_says_which_part() {
        for (variables, index, count, scheduler) in [
            ("PARALLEL_SEQ=1", 0, None, "GNU parallel"),
            ("PARALLEL_SEQ=12", 11, None, "GNU parallel"),
            (
                "HQ_TASK_ID=0 HQ_JOB_ID=3 HQ_INSTANCE_ID=1",
                0,
                None,
                "HyperQueue",
            ),
            ("HQ_TASK_ID=11", 11, None, "HyperQueue"),
            (&slurm(0, 0, 11, 12), 0, Some(12), "Slurm"),
            (&slurm(11, 0, 11, 12), 11, Some(12), "Slurm"),
            (&slurm(0, 0, 0, 1), 0, Some(1), "Slurm"),
            // Two tasks submitted again keep their numbers, and do not say how many there are.
            (&slurm(7, 3, 7, 2), 7, None, "Slurm"),
            (&slurm(0, 0, 7, 2), 0, None, "Slurm"),
            (&slurm(7, 7, 7, 1), 7, None, "Slurm"),
            // So does an array from 1, and one with a step.
            (&slurm(12, 1, 12, 12), 12, None, "Slurm"),
            (&slurm(10, 0, 10, 6), 10, None, "Slurm"),
            ("SLURM_ARRAY_TASK_ID=4", 4, None, "Slurm"),
            (
                &slurm(4_294_967_295, 0, 4_294_967_295, 1),
                u32::MAX,
                None,
                "Slurm",
            ),
            ("PBS_ARRAY_INDEX=5", 5, None, "PBS"),
            ("PBS_ARRAYID=0", 0, None, "TORQUE"),
            (
                "LSB_JOBINDEX=1 LSB_JOBINDEX_END=12 LSB_JOBINDEX_STEP=1",
                0,
                Some(12),
                "LSF",
            ),
            ("LSB_JOBINDEX=12 LSB_JOBINDEX_END=12", 11, Some(12), "LSF"),
            (
                "LSB_JOBINDEX=3 LSB_JOBINDEX_END=9 LSB_JOBINDEX_STEP=2",
                2,
                None,
                "LSF",
            ),
            ("LSB_JOBINDEX=3", 2, None, "LSF"),
            (
                "AWS_BATCH_JOB_ARRAY_INDEX=9 AWS_BATCH_JOB_ARRAY_SIZE=10",
                9,
                Some(10),
                "AWS Batch",
            ),
            ("AWS_BATCH_JOB_ARRAY_INDEX=2", 2, None, "AWS Batch"),
            ("JOB_COMPLETION_INDEX=0", 0, None, "Kubernetes"),
            // Octavo's own scripts say how many parts there are.
            (
                "JOB_COMPLETION_INDEX=7 OCTAVO_PARTS=8",
                7,
                Some(8),
                "Kubernetes",
            ),
            (
                &format!("{} OCTAVO_PARTS=9", slurm(1, 0, 1, 2)),
                1,
                Some(9),
                "Slurm",
            ),
            ("JOB_COMPLETION_INDEX=007", 7, None, "Kubernetes"),
        ] {
            let expected = Ok((index, count, scheduler));
            assert_eq!(part_of(variables), expected, "{variables}");
        }
    }

    #[test]
    fn the_innermost_scheduler_counts() {
        // Of each two, the one that runs within the other.
        for (outer, inner, scheduler) in [
            (&*slurm(3, 0, 11, 12), "PARALLEL_SEQ=8", "GNU parallel"),
            (&slurm(3, 0, 11, 12), "HQ_TASK_ID=7", "HyperQueue"),
            ("PBS_ARRAY_INDEX=3", "HQ_TASK_ID=7", "HyperQueue"),
            ("JOB_COMPLETION_INDEX=3", "SLURM_ARRAY_TASK_ID=7", "Slurm"),
            ("AWS_BATCH_JOB_ARRAY_INDEX=3", "PBS_ARRAYID=7", "TORQUE"),
            ("PBS_ARRAYID=3", "PBS_ARRAY_INDEX=7", "PBS"),
            // A job of LSF that is no array has index 0.
            (
                "LSB_JOBINDEX=0 LSB_JOBINDEX_END=0",
                "JOB_COMPLETION_INDEX=7",
                "Kubernetes",
            ),
        ] {
            let both = format!("{outer} {inner}");
            assert_eq!(part_of(&both), Ok((7, None, scheduler)), "{both}");
        }
        let all: Vec<&str> = INNERMOST_FIRST
            .iter()
            .map(|scheduler| scheduler.name)
            .collect();
        let order = "GNU parallel, HyperQueue, Slurm, PBS, TORQUE, LSF, AWS Batch, Kubernetes";
        assert_eq!(all.join(", "), order);
    }

    #[test]
    fn what_is_no_part_is_refused_with_its_variable() {
        for (variables, why) in [
            (
                "",
                "none of these is set: PARALLEL_SEQ (GNU parallel), HQ_TASK_ID",
            ),
            ("LSB_JOBINDEX=0", "none of these is set"),
            ("SLURM_JOB_ID=7 SLURM_PROCID=0", "none of these is set"),
            (
                "SLURM_ARRAY_TASK_ID=",
                "SLURM_ARRAY_TASK_ID is '', which is no number",
            ),
            (
                "SLURM_ARRAY_TASK_ID=-1",
                "SLURM_ARRAY_TASK_ID is '-1', which is no number",
            ),
            ("HQ_TASK_ID=+7", "HQ_TASK_ID is '+7', which is no number"),
            ("HQ_TASK_ID=0x7", "HQ_TASK_ID is '0x7', which is no number"),
            (
                "JOB_COMPLETION_INDEX=4294967296",
                "JOB_COMPLETION_INDEX is '4294967296', which is no number from 0 to 4294967295",
            ),
            // A wrong one is not passed over for one further out.
            (
                "PARALLEL_SEQ=x SLURM_ARRAY_TASK_ID=7",
                "PARALLEL_SEQ is 'x'",
            ),
            (
                "PARALLEL_SEQ=0",
                "PARALLEL_SEQ is 0, but GNU parallel counts from 1",
            ),
            (
                "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=many",
                "SLURM_ARRAY_TASK_COUNT is 'many'",
            ),
            (
                &slurm(12, 0, 11, 12),
                "SLURM_ARRAY_TASK_ID is 12, which is none of the 12 parts that SLURM_ARRAY_TASK_MAX \
                 says there are, counted from 0",
            ),
            (
                "AWS_BATCH_JOB_ARRAY_INDEX=10 AWS_BATCH_JOB_ARRAY_SIZE=10",
                "AWS_BATCH_JOB_ARRAY_INDEX is 10, which is none of the 10 parts",
            ),
            (
                "LSB_JOBINDEX=13 LSB_JOBINDEX_END=12 LSB_JOBINDEX_STEP=1",
                "LSB_JOBINDEX is 13, which is none of the 12 parts that LSB_JOBINDEX_END says \
                 there are, counted from 1",
            ),
            (
                "PARALLEL_SEQ=1 HQ_TASK_ID=7",
                "PARALLEL_SEQ and HQ_TASK_ID are both set",
            ),
        ] {
            let error = part_of(variables).unwrap_err();
            assert!(error.contains(why), "{variables}: {error}");
            assert!(error.ends_with(REMEDY), "{variables}: {error}");
        }
        let foreign =
            part(|name| (name == "PBS_ARRAY_INDEX").then(|| OsString::from_vec(b"7\xff".to_vec())));
        let error = foreign.unwrap_err().to_string();
        assert!(
            error.starts_with("PBS_ARRAY_INDEX is '7\u{fffd}'"),
            "{error}"
        );
    }
}
