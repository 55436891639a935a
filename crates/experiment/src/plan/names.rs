//! What cells, groups and databases of a plan are called.

use octavo_database::phrase;

use super::{Cell, Factor, Level, MixedSizes, Plan, TestedDatabase};

impl Plan {
    /// What people call the workload: "TPC-C", or "mix.sql on a copy of my.db".
    pub fn workload_title(&self) -> String {
        let Some(own) = &self.own else {
            return self.workload.title().to_owned();
        };
        if let Some(recording) = &own.recording {
            let files = match recording.files.as_slice() {
                [one] => one.clone(),
                more => format!("{} recordings", more.len()),
            };
            return format!("{files} on {}", own.copy.title());
        }
        if own.digests.is_some() {
            return format!("the server's digests on {}", own.copy.title());
        }
        let names: Vec<&str> = own
            .scripts
            .iter()
            .map(|script| script.name.as_str())
            .collect();
        let scripts = match names.as_slice() {
            [one] => (*one).to_owned(),
            [one, two] => format!("{one} and {two}"),
            more => format!("{} scripts", more.len()),
        };
        format!("{scripts} on {}", own.copy.title())
    }

    /// The value of a factor in a cell, with databases named by what sets them
    /// apart from the plan's others.
    pub fn level(&self, cell: &Cell, factor: Factor) -> Level {
        match factor {
            Factor::Database => Level::Database(self.database_name(&cell.database)),
            Factor::PageSize => match self.mixed_sizes(cell) {
                Some(sizes) => Level::MixedSizes(sizes.clone()),
                None => cell.level(factor),
            },
            _ => cell.level(factor),
        }
    }

    /// The page sizes of tables and indexes that a cell has because they are compared.
    pub fn mixed_sizes(&self, cell: &Cell) -> Option<&MixedSizes> {
        let own = cell.database.own_sizes()?;
        let mut mixed = self.mixed.iter();
        mixed.find(|mixed| mixed.others == cell.page_size && mixed.own == own)
    }

    /// A database by what sets it apart from the plan's others.
    fn database_name(&self, database: &TestedDatabase) -> String {
        let alone = self
            .databases
            .iter()
            .all(|other| other.name == database.name);
        let options: Vec<String> = database
            .options
            .iter()
            .filter(|(name, value)| {
                self.databases
                    .iter()
                    .any(|other| other.option(name) != Some(value))
            })
            .map(|(name, value)| {
                let option = database.kind().ok().and_then(|kind| kind.option(name));
                option.map_or_else(|| phrase(name, value), |option| option.phrase(value))
            })
            .collect();
        match (alone, options.is_empty()) {
            (true, false) => options.join(", "),
            (_, true) => database.name.clone(),
            (false, false) => format!("{} with {}", database.name, options.join(", ")),
        }
    }

    /// What sets the cells of a group apart from those of other groups, as
    /// after "with". Empty when there is one group.
    pub fn group_name(&self, cell: &Cell) -> String {
        let levels: Vec<String> = self
            .varied()
            .into_iter()
            .map(|factor| self.level(cell, factor).with_noun())
            .collect();
        levels.join(", ")
    }

    /// What the way in which a cell's database was run may depend on: the levels of these factors where
    /// they vary, which its conditions have before their names. Empty where none does.
    pub fn conditions_topic(&self, cell: &Cell) -> String {
        let factors = [
            Factor::Database,
            Factor::Storage,
            Factor::Clients,
            Factor::Cpus,
        ];
        let varied = factors.into_iter().filter(|&of| self.count(of) > 1);
        let levels = varied.map(|factor| self.level(cell, factor).with_noun());
        levels.collect::<Vec<_>>().join(" ")
    }

    /// A cell in words: all that varies.
    pub fn cell_name(&self, cell: &Cell) -> String {
        let own = self.level(cell, self.compare).with_noun();
        let group = self.group_name(cell);
        if group.is_empty() {
            own
        } else {
            format!("{own}, {group}")
        }
    }
}
