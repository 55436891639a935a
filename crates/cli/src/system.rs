//! The flags that say which database is measured and how it is set up. All of
//! them follow from the descriptions in the registry.

use clap::{
    Arg, ArgMatches, Args, Command, FromArgMatches,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use octavo_database::{
    Database, DatabaseKind, DatabaseSpec, Defaults, OptionKind, Registry, SharedOption,
};
use octavo_experiment::plan::TestedDatabase;
use octavo_report::number::join;
use octavo_units::ByteCount;

use crate::failure::Failure;

/// The heading over options of databases in help texts.
pub(crate) const HEADING: &str = "Options of databases";

/// Options of databases as they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct SystemFlags {
    given: Vec<(&'static OptionKind, String)>,
}

impl SystemFlags {
    /// Adds a flag for each option of the registry's databases.
    fn augment(command: Command, registry: &Registry) -> Command {
        command.args(registry.options().iter().map(argument))
    }

    /// Reads the flags of the registry's databases.
    fn read(matches: &ArgMatches, registry: &Registry) -> Self {
        let options = registry.options();
        let given = options.iter().filter_map(|shared| {
            let (_, option) = shared.of[0];
            let value: &String = matches.get_one(option.name)?;
            Some((option, value.clone()))
        });
        Self {
            given: given.collect(),
        }
    }

    /// The names of the flags that were given.
    pub(crate) fn names(&self) -> Vec<String> {
        let given = self.given.iter();
        given
            .map(|(option, _)| format!("--{}", option.name))
            .collect()
    }

    /// The options as given; where a flag was not, those of `before`.
    pub(crate) fn options(&self, before: &[(String, String)]) -> Vec<(String, String)> {
        let mut options: Vec<(String, String)> = before.to_vec();
        for (option, value) in &self.given {
            options.retain(|(other, _)| other != option.name);
            options.push((option.name.to_owned(), value.clone()));
        }
        options
    }

    /// The database for a plan, with the options that are conditions of figures
    /// even where they were not given.
    pub(crate) fn database(&self, name: &str) -> anyhow::Result<TestedDatabase> {
        Ok(TestedDatabase::new(&self.spec(name)?)?)
    }

    /// The same as a description.
    pub(crate) fn spec(&self, name: &str) -> anyhow::Result<DatabaseSpec> {
        let kind = octavo_predict::find_database(name)?;
        Ok(DatabaseSpec::new(kind, self.options(&[]))?)
    }
}

/// The titles of databases that tell which pages statements refer to.
pub(crate) fn recorded_titles() -> Vec<&'static str> {
    let registry = Registry::standard();
    let records = |kind: &&'static DatabaseKind| {
        let spec = DatabaseSpec::new(kind, Vec::new());
        let made = spec.and_then(|spec| spec.make());
        made.is_ok_and(|database| database.records_pages().is_ok())
    };
    registry
        .iter()
        .filter(records)
        .map(|kind| kind.title)
        .collect()
}

impl FromArgMatches for SystemFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self::read(matches, &Registry::standard()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for SystemFlags {
    fn augment_args(command: Command) -> Command {
        Self::augment(command, &Registry::standard())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The flag of an option.
fn argument(shared: &SharedOption) -> Arg {
    let (kind, option) = shared.of[0];
    let excluded = option.excludes.and_then(|name| kind.option(name));
    Arg::new(option.name)
        .long(option.name)
        .value_name(option.value_name)
        .help(help(shared))
        .help_heading(HEADING)
        .hide_short_help(true)
        .conflicts_with_all(excluded.map(|option| option.name))
}

/// What the databases say of an option: "PostgreSQL: on or off [default: on]".
fn help(shared: &SharedOption) -> String {
    let mut parts: Vec<(String, String)> = Vec::new();
    for (kind, option) in &shared.of {
        let default = option
            .default
            .map(|default| format!(" [default: {default}]"));
        let text = format!("{}{}", option.help, default.unwrap_or_default());
        match parts.iter_mut().find(|(_, other)| *other == text) {
            Some((titles, _)) => *titles += &format!(", {}", kind.title),
            None => parts.push((kind.title.to_owned(), text)),
        }
    }
    let parts = parts.into_iter();
    join(
        parts.map(|(titles, text)| format!("{titles}: {text}")),
        ". ",
    )
}

/// Reads the name of a database, or one of `others`; aliases become names.
pub(crate) fn database_name(
    registry: Registry,
    others: &'static [&'static str],
) -> impl TypedValueParser<Value = String> {
    let known: Vec<PossibleValue> = registry
        .iter()
        .map(possible)
        .chain(others.iter().map(PossibleValue::new))
        .collect();
    named(known, registry)
}

/// Reads the name of a database to predict. Help offers those that are modeled; another one is
/// taken, to be refused with the command that measures it.
pub(crate) fn predicted_name() -> impl TypedValueParser<Value = String> {
    let modeled = octavo_predict::Registry::standard();
    let (offered, all) = (modeled.predictable(), modeled.all());
    let known = all
        .iter()
        .map(|kind| possible(kind).hide(offered.find(kind.name).is_err()));
    named(known.collect(), all)
}

fn possible(kind: &DatabaseKind) -> PossibleValue {
    PossibleValue::new(kind.name).aliases(kind.aliases)
}

fn named(known: Vec<PossibleValue>, registry: Registry) -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(known).map(move |given| match registry.find(&given) {
        Ok(kind) => kind.name.to_owned(),
        Err(_) => given,
    })
}

/// Defaults that differ between databases, for help: those of the first, then
/// those of others by their titles, such as
/// `[default: 1; PostgreSQL, MariaDB, MySQL: 8]`. Where only the first differs, the rest are "all
/// others".
pub(crate) fn defaults(of: &Registry, show: impl Fn(&Defaults) -> String) -> String {
    let mut parts: Vec<(String, String)> = Vec::new();
    for kind in of.iter() {
        let value = show(&kind.defaults);
        match parts.iter_mut().find(|(_, other)| *other == value) {
            Some((titles, _)) => *titles += &format!(", {}", kind.title),
            None => parts.push((kind.title.to_owned(), value)),
        }
    }
    let first = of.iter().next().map(|kind| kind.title);
    if let [(alone, _), (others, _)] = &mut parts[..]
        && first == Some(alone.as_str())
    {
        *others = "all others".into();
    }
    let parts = parts.into_iter().enumerate();
    let parts = parts.map(|(number, (titles, value))| match number {
        0 => value,
        _ => format!("{titles}: {value}"),
    });
    format!("[default: {}]", join(parts, "; "))
}

/// Sizes as a list that can be pasted.
pub(crate) fn sizes(sizes: impl IntoIterator<Item = ByteCount>) -> String {
    let sizes = sizes.into_iter();
    join(sizes.map(|size| size.to_string().replace(' ', "")), ",")
}

/// Makes a database.
pub(crate) fn choose(
    name: &str,
    options: &[(String, String)],
) -> Result<Box<dyn Database>, Failure> {
    octavo_database::choose(name, options).map_err(Failure::input)
}

#[cfg(test)]
mod tests {
    use octavo_database::made_up::TOY;

    use super::*;

    fn command() -> Command {
        let registry = Registry::standard().with(&TOY);
        let database = Arg::new("database")
            .long("database")
            .value_parser(database_name(registry.clone(), &["noop"]));
        SystemFlags::augment(Command::new("octavo").arg(database), &registry)
    }

    fn parse(arguments: &[&str]) -> Result<ArgMatches, String> {
        let arguments = ["octavo"].iter().chain(arguments);
        let matches = command().try_get_matches_from(arguments);
        matches.map_err(|error| error.to_string())
    }

    #[test]
    fn a_database_gets_flags_and_help_from_its_line_in_the_registry() {
        command().debug_assert();
        let help = command().render_long_help().to_string();
        // Lines are broken to fit a screen.
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "[possible values: sqlite, postgres, mariadb, mysql, libmdbx, lmdb, rocksdb, toy, noop]",
            "ToyDB: red or blue [default: red]",
            "MariaDB, MySQL: size of the redo log [default: 512MiB]. ToyDB: on or off [default: off]",
        ] {
            assert!(help.contains(part), "{part} in\n{help}");
        }
        let matches = parse(&["--database=toydb", "--color", "blue"]).unwrap();
        assert_eq!(matches.get_one::<String>("database").unwrap(), "toy");
        let flags = SystemFlags::read(&matches, &Registry::standard().with(&TOY));
        assert_eq!(flags.names(), ["--color"]);
        assert_eq!(flags.options(&[]), [("color".into(), "blue".into())]);
    }

    #[test]
    fn help_of_predict_offers_databases_that_are_modeled() {
        let database = Arg::new("database").value_parser(predicted_name());
        let mut command = Command::new("octavo").arg(database);
        let help = command.render_help().to_string();
        let modeled = octavo_predict::Registry::standard().predictable();
        let names = join(modeled.iter().map(|kind| kind.name.to_owned()), ", ");
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            help.contains(&format!("[possible values: {names}]")),
            "{help}"
        );
        for (given, name) in [("postgresql", "postgres"), ("mysql", "mysql")] {
            let matches = command.try_get_matches_from_mut(["octavo", given]).unwrap();
            assert_eq!(matches.get_one::<String>("database").unwrap(), name);
        }
        assert!(command.try_get_matches_from_mut(["octavo", "db2"]).is_err());
    }

    #[test]
    fn a_database_gets_refusals_and_conditions_from_its_line_in_the_registry() {
        let error = parse(&["--database=toi"]).unwrap_err();
        assert!(error.contains("'toy'"), "{error}");
        let registry = Registry::standard().with(&TOY);
        let kind = registry.find("toydb").unwrap();
        let spec = DatabaseSpec::new(kind, Vec::new()).unwrap();
        assert_eq!(spec.options().to_vec(), [("color".into(), "red".into())]);
        spec.make().unwrap();
        for (name, value, part) in [
            (
                "color",
                "green",
                "color green is not possible with toy: choose red or blue",
            ),
            ("colour", "red", "did you mean color?"),
        ] {
            let options = vec![(name.to_owned(), value.to_owned())];
            let error = DatabaseSpec::new(kind, options).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn options_that_exclude_each_other_are_refused() {
        let error = parse(&["--source=here", "--pg-version=17"]).unwrap_err();
        assert!(error.contains("--pg-version"), "{error}");
    }

    #[test]
    fn given_flags_replace_what_was_before() {
        let matches = parse(&["--journal-mode=delete"]).unwrap();
        let flags = SystemFlags::read(&matches, &Registry::standard());
        let before = [("journal-mode".to_owned(), "wal".to_owned())];
        let options = flags.options(&before);
        assert_eq!(options, [("journal-mode".into(), "delete".into())]);
        assert_eq!(SystemFlags::default().options(&before), before);
    }
}
