//! The studies that are part of the program.

use octavo_device::catalog::as_file;
use octavo_storage::text;

use crate::{error::StudyError, study::Study};

/// Their files, by the name that each has in it.
const TEXTS: [(&str, &str); 7] = [
    (
        "petrov-2010",
        include_str!("../../../studies/petrov-2010.toml"),
    ),
    (
        "coelho-2014",
        include_str!("../../../studies/coelho-2014.toml"),
    ),
    ("lee-2009", include_str!("../../../studies/lee-2009.toml")),
    (
        "cubrid-ssd",
        include_str!("../../../studies/cubrid-ssd.toml"),
    ),
    ("pure-2012", include_str!("../../../studies/pure-2012.toml")),
    (
        "percona-2016",
        include_str!("../../../studies/percona-2016.toml"),
    ),
    (
        "vondra-2022",
        include_str!("../../../studies/vondra-2022.toml"),
    ),
];

/// Plans of what is measured of a study, by the name that it calls its plan by.
const PLANS: [(&str, &str); 2] = [
    (
        "petrov-2010-measured.toml",
        include_str!("../../../studies/petrov-2010-measured.toml"),
    ),
    (
        "coelho-2014-measured.toml",
        include_str!("../../../studies/coelho-2014-measured.toml"),
    ),
];

/// The plan of what is measured of a study, as `octavo run` reads it; `None` where nothing
/// can be.
pub fn plan_text(study: &Study) -> Option<&'static str> {
    let name = study.plan.as_ref()?.value.as_str();
    let plan = PLANS.iter().find(|(known, _)| *known == name)?;
    Some(plan.1)
}

/// The studies' names.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(name, _)| *name)
}

/// The study of this name, or of the file at a path, which has a `/` or ends in `.toml`. Paths
/// of devices in it are seen from where the program runs.
///
/// # Errors
/// [`StudyError::Unknown`], with the names that there are; [`StudyError::File`].
pub fn find(name: &str) -> Result<Study, StudyError> {
    if let Some(path) = as_file(name) {
        let study = Study::from_toml(name, &text::read(path, text::WRITTEN_MAX)?)?;
        return match study.plan {
            // Plans are part of the program, by their names.
            Some(_) => Err(study.invalid(format!(
                "{name} has a plan, and only studies of the program can be measured: leave plan out"
            ))),
            None => Ok(study),
        };
    }
    match TEXTS.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Study::from_toml(name, text),
        None => Err(StudyError::Unknown {
            name: name.to_owned(),
            known: names().collect::<Vec<_>>().join(", "),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_can_be_read_under_their_names() {
        for name in names() {
            let study = find(name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(study.name, name);
        }
        let planned = names().filter(|name| plan_text(&find(name).unwrap()).is_some());
        assert_eq!(planned.collect::<Vec<_>>(), ["petrov-2010", "coelho-2014"]);
        assert!(
            find("petrov")
                .unwrap_err()
                .to_string()
                .contains("pure-2012")
        );
    }
}
