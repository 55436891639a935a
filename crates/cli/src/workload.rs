//! Flags to a workload on the rows that are loaded or wanted.
//!
//! The flags themselves follow from the registry: `--workload`, and one for
//! each parameter that a kind of rows has.

use std::{path::PathBuf, sync::Arc};

use anyhow::{anyhow, bail};
use clap::{
    Arg, ArgMatches, Args, Command, FromArgMatches,
    builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser},
};
use octavo_experiment::{
    advise::DATA_OVER_MEMORY,
    dataset::Manifest,
    plan::file::{PlanFileError, read_shape},
};
use octavo_report::number::join;
use octavo_units::{ByteCount, Seed};
use octavo_workload::{
    DataKind, Family, Parameter, Registry, Unit, Workload, WorkloadError, WorkloadName,
    WorkloadSpec, shape::Shape,
};

use crate::{failure::Failure, shell};

/// What the flags say of the workload and its rows.
#[derive(Debug, Default)]
pub(crate) struct WorkloadFlags {
    name: Option<WorkloadName>,
    /// Tables of keys and values, and the file that they are from.
    shape: Option<(PathBuf, Arc<Shape>)>,
    /// Parameters of the rows by name.
    given: Vec<(&'static str, u64)>,
}

const WORKLOAD: &str = "workload";

const SHAPE: &str = "shape";

/// Adds the flags of these workloads to a command.
fn augment(command: Command, registry: &Registry) -> Command {
    let names = registry.clone();
    let values = registry
        .names()
        .map(|name| PossibleValue::new(name.name()).help(name.help()));
    let default = WorkloadName::default();
    let workload = Arg::new(WORKLOAD)
        .long(WORKLOAD)
        .value_name("NAME")
        .value_parser(PossibleValuesParser::new(values).try_map(move |name| names.find(&name)))
        .help(format!(
            "Workload [default: the first that runs on the loaded rows, else {default}]"
        ));
    let shape = Arg::new(SHAPE)
        .long(SHAPE)
        .value_name("FILE")
        .value_parser(PathBufValueParser::new().try_map(|path| {
            let shape = read_shape(&path)?;
            Ok::<_, PlanFileError>((path, shape))
        }))
        .help("Your own tables of keys and values, as a file says (docs/key-value.md)")
        .hide_short_help(true);
    let flags = parameters(registry).into_iter().map(|(parameter, help)| {
        let flag = Arg::new(parameter.name)
            .long(parameter.name)
            .help(help)
            .hide_short_help(true);
        match parameter.unit {
            Unit::Count | Unit::Fingerprint => {
                flag.value_name("N").value_parser(clap::value_parser!(u64))
            }
            Unit::Bytes => flag
                .value_name("SIZE")
                .value_parser(|text: &str| text.parse().map(ByteCount::get)),
        }
    });
    command.arg(workload).arg(shape).args(flags)
}

/// Each parameter once, with the help of all kinds of rows that have it.
fn parameters(registry: &Registry) -> Vec<(&'static Parameter, String)> {
    let mut found: Vec<(&Parameter, String)> = Vec::new();
    for family in registry.families() {
        let kind = &family.data;
        // The default rows have a default of each parameter.
        let Ok(default) = kind.data_spec(&[]) else {
            continue;
        };
        let shown = default.parameters();
        for (parameter, value) in shown.filter(|(own, _)| own.unit != Unit::Fingerprint) {
            let help = format!("{} [default: {value}]", parameter.help);
            match found.iter_mut().find(|(own, _)| own.name == parameter.name) {
                Some((_, all)) => *all += &format!("; {help}"),
                None => found.push((parameter, help)),
            }
        }
    }
    found
}

fn read(matches: &ArgMatches, registry: &Registry) -> WorkloadFlags {
    let given = parameters(registry)
        .into_iter()
        .filter_map(|(parameter, _)| {
            let value = matches.get_one::<u64>(parameter.name)?;
            Some((parameter.name, *value))
        });
    WorkloadFlags {
        name: matches.get_one(WORKLOAD).copied(),
        shape: matches.get_one::<(PathBuf, Arc<Shape>)>(SHAPE).cloned(),
        given: given.collect(),
    }
}

impl Args for WorkloadFlags {
    fn augment_args(command: Command) -> Command {
        augment(command, &Registry::standard())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WorkloadFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(read(matches, &Registry::standard()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The same flags where rows are chosen by memory instead of by default.
pub(crate) fn without_loaded_rows(flag: Arg) -> Arg {
    if flag.get_id() == WORKLOAD {
        return flag.help(format!("Workload [default: {}]", WorkloadName::default()));
    }
    let registry = Registry::standard();
    let mut scales = registry.families().iter().map(|family| family.data.scale());
    match scales.find(|scale| flag.get_id() == scale.name) {
        Some(scale) => {
            let of_shape = match scale.name == Shape::KEYS {
                true => "those of --shape, else ",
                false => "",
            };
            flag.help(format!(
                "{} [default: {of_shape}as many as make the data {DATA_OVER_MEMORY} times the largest memory]",
                scale.help
            ))
        }
        None => flag,
    }
}

impl WorkloadFlags {
    /// The workload that the flags name, or the default, where no rows are
    /// loaded.
    pub(crate) fn name(&self) -> anyhow::Result<WorkloadName> {
        self.name_or(WorkloadName::default())
    }

    /// Tables of keys and values that were given.
    pub(crate) fn shape(&self) -> Option<&Arc<Shape>> {
        self.shape.as_ref().map(|(_, shape)| shape)
    }

    /// The parameters of rows that were given, by name: those of a shape too, but for how much data there
    /// is where that is `sized` otherwise.
    pub(crate) fn rows(&self, sized: bool) -> Vec<(&'static str, u64)> {
        let mut rows = self.given.clone();
        for (name, value) in self.shape().into_iter().flat_map(|shape| shape.rows()) {
            let is_given = rows.iter().any(|(given, _)| *given == name);
            let scale = self
                .family_of_shape()
                .map(|family| family.data.scale().name);
            let is_sized = sized && Some(name) == scale;
            if !is_given && !is_sized {
                rows.push((name, value));
            }
        }
        rows
    }

    /// The family that takes the shape, where there is one.
    fn family_of_shape(&self) -> Option<&'static Family> {
        self.shape.as_ref()?;
        let registry = Registry::standard();
        let mut families = registry.families().iter().copied();
        families.find(|family| family.takes_shape)
    }

    /// The family of the workload that was named, or that takes the shape; `None` where nothing was said.
    /// Refuses a shape of others, and how many rows there are to be, which a measurement of kinds of
    /// transactions chooses itself.
    pub(crate) fn family_alone(&self) -> anyhow::Result<Option<&'static Family>> {
        if let Some((flag, _)) = self.given.first() {
            bail!("--cpu-catalog chooses how many rows there are: leave --{flag} out");
        }
        match self.name.is_some() || self.shape.is_some() {
            true => Ok(Some(self.name()?.family())),
            false => Ok(None),
        }
    }

    /// The flags that name the same workload to another command.
    pub(crate) fn named_again(&self) -> String {
        match (&self.shape, self.name) {
            (Some((file, _)), _) => format!(" --{SHAPE} {}", shell::word(file)),
            (None, Some(name)) => format!(" --{WORKLOAD} {name}"),
            (None, None) => String::new(),
        }
    }

    /// Refuses flags of Octavo's own rows where the user's are copied.
    pub(crate) fn refuse_rows(&self) -> anyhow::Result<()> {
        let given = self.given.iter().map(|(flag, _)| *flag);
        match given.chain(self.shape.as_ref().map(|_| SHAPE)).next() {
            Some(flag) => {
                bail!("--{flag} is of Octavo's own rows: leave it out with --copy-of")
            }
            None => Ok(()),
        }
    }

    /// The workload that the flags name, or `other`. Refuses flags of other
    /// rows.
    fn name_or(&self, other: WorkloadName) -> anyhow::Result<WorkloadName> {
        let of_shape = self.family_of_shape().map(Family::first);
        let name = self.name.or(of_shape).unwrap_or(other);
        if self.shape.is_some() && !name.family().takes_shape {
            let title = name.family().data.title;
            bail!(WorkloadError::NoShape { title });
        }
        for (flag, _) in &self.given {
            refuse_foreign(flag, &name.family().data)?;
        }
        Ok(name)
    }

    /// The workload that the flags name, on the rows that they name; where they
    /// say nothing, what is `loaded`; else the defaults.
    pub(crate) fn spec(
        &self,
        seed: Option<Seed>,
        loaded: Option<&Manifest>,
    ) -> Result<WorkloadSpec, Failure> {
        if let (None, Some(copy)) = (self.name, loaded.and_then(|of| of.copy_of.as_ref())) {
            return Err(Failure::Input(anyhow!(
                "the loaded rows are a copy of {}: name it again with --copy-of, and statements \
                 with --script or --recording",
                copy.name
            )));
        }
        let name = self.name_or(loaded.and_then(first_on).unwrap_or_default());
        let name = name.map_err(Failure::Input)?;
        let kind = &name.family().data;
        // Rows of another kind say nothing of this one; opening them will be
        // refused.
        let is_same = |loaded: &&Manifest| loaded.data.kind().name == kind.name;
        let loaded_rows = loaded.filter(is_same);
        let shape = self.shape().cloned();
        let shape = shape.or_else(|| loaded_rows.and_then(|loaded| loaded.shape.clone()));
        let data = match loaded_rows.map(|loaded| loaded.data) {
            Some(data) if self.shape.is_none() => data.with(&self.given),
            _ => kind.data_spec(&self.rows(false)),
        };
        let seed = seed
            .or_else(|| loaded.map(|loaded| loaded.seed))
            .unwrap_or(Seed::new(1));
        Ok(WorkloadSpec {
            shape,
            ..WorkloadSpec::new(name, data.map_err(Failure::input)?, seed)
        })
    }
}

/// Makes the workload of flags.
pub(crate) fn build(spec: &WorkloadSpec) -> Result<Box<dyn Workload>, Failure> {
    spec.build().map_err(Failure::input)
}

/// The workload on loaded rows with the mix of the run that left them; what
/// cannot be read as a mix counts as none.
pub(crate) fn for_check(
    loaded: &Manifest,
    mix: Option<&str>,
) -> Result<Box<dyn Workload>, Failure> {
    let name = first_on(loaded).unwrap_or_default();
    let own = WorkloadSpec {
        shape: loaded.shape.clone(),
        ..WorkloadSpec::new(name, loaded.data, loaded.seed)
    };
    let mixed = WorkloadSpec {
        mix: mix.map(str::to_owned),
        ..own.clone()
    };
    mixed.build().or_else(|_| build(&own))
}

fn first_on(loaded: &Manifest) -> Option<WorkloadName> {
    Registry::standard().first_on(loaded.data)
}

/// Refuses a flag of rows that this kind of rows does not depend on.
fn refuse_foreign(flag: &str, kind: &DataKind) -> anyhow::Result<()> {
    if kind.parameter(flag).is_some() {
        return Ok(());
    }
    let own = kind.given_names();
    let own = join(own.iter().map(|name| format!("--{name}")), ", ");
    let title = kind.title;
    bail!("--{flag} is not possible with {title}: its rows depend on {own}")
}

#[cfg(test)]
mod tests {
    use octavo_workload::{KindTrial, Member, Trial};

    use super::*;

    /// A workload that only its description makes known.
    static TALLY: Family = Family {
        data: DataKind {
            name: "tally",
            title: "Tally",
            parameters: &[
                Parameter {
                    name: "counters",
                    unit: Unit::Count,
                    help: "Counters of a tally",
                    noun: Some("counter"),
                    label: ", counters: ",
                    default: |_| 100,
                    min: |_| 1,
                    max: 1000,
                    multiple_of: 1,
                },
                Parameter {
                    name: "row-bytes",
                    unit: Unit::Bytes,
                    help: "Bytes of a counter",
                    noun: None,
                    label: " of ",
                    default: |_| 8,
                    min: |_| 8,
                    max: 4096,
                    multiple_of: 8,
                },
            ],
        },
        members: &[Member {
            name: "tally",
            title: "Tally",
            help: "Adds one to a counter",
        }],
        takes_distribution: false,
        takes_shape: false,
        is_divisible: false,
        trial: Trial {
            data: &[],
            mix: None,
            transactions: 1,
        },
        kind_trial: KindTrial {
            data: &[],
            are_alone: true,
            mix: None,
        },
        make: |_| unreachable!("these tests build no workload"),
    };

    fn registry() -> Registry {
        Registry::standard().with(&TALLY)
    }

    fn command() -> Command {
        augment(Command::new("test"), &registry())
    }

    fn flags(arguments: &[&str]) -> Result<WorkloadFlags, clap::Error> {
        let arguments = ["test"].iter().chain(arguments);
        let matches = command().try_get_matches_from(arguments)?;
        Ok(read(&matches, &registry()))
    }

    fn refusal(arguments: &[&str]) -> String {
        match flags(arguments).unwrap().spec(None, None).unwrap_err() {
            Failure::Input(error) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_registered_workload_has_its_flags_and_help() {
        command().debug_assert();
        let help = command().render_long_help().to_string();
        for line in [
            "- tally:",
            "Adds one to a counter",
            "--counters <N>",
            "Counters of a tally [default: 100]",
            "--row-bytes <SIZE>",
            "Bytes of a counter [default: 8]",
        ] {
            assert!(help.contains(line), "{line} in {help}");
        }
    }

    #[test]
    fn a_registered_workload_is_read_with_its_rows() {
        let spec = |arguments: &[&str]| flags(arguments).unwrap().spec(None, None).unwrap();
        let given = spec(&["--workload=tally", "--counters=7", "--row-bytes=1K"]);
        assert_eq!(given.name.name(), "tally");
        assert_eq!(given.data.to_string(), "Tally, counters: 7 of 1 KiB");
        let default = spec(&["--workload=tally"]);
        assert_eq!(default.data.to_string(), "Tally, counters: 100 of 8 B");
        assert_eq!(spec(&[]).data.to_string(), "TPC-C, warehouses: 2");
    }

    #[test]
    fn refusals_name_the_flags_that_a_workload_has() {
        assert_eq!(
            refusal(&["--workload=tally", "--records=7"]),
            "--records is not possible with Tally: its rows depend on --counters, --row-bytes"
        );
        assert_eq!(
            refusal(&["--counters=7"]),
            "--counters is not possible with TPC-C: its rows depend on --warehouses"
        );
        assert_eq!(
            refusal(&["--workload=tally", "--row-bytes=9"]),
            "row-bytes must be a multiple of 8 from 8 to 4096, not 9"
        );
        let error = flags(&["--workload=taly"]).unwrap_err().to_string();
        assert!(error.contains("'tally'"), "{error}");
    }
}
