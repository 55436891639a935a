//! The user that servers run as. They refuse to run as root.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use nix::unistd::User;
use rustix::{
    fs::{AtFlags, CWD, Gid, Uid, chownat},
    process::geteuid,
};

use crate::{DatabaseError, Result, files::named};

/// The user that every system has for programs without rights of their own.
const NAME: &str = "nobody";

/// The user that servers run as when Octavo runs as root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// Its number.
    pub(crate) uid: u32,
    /// The number of its group.
    pub(crate) gid: u32,
    /// Its name.
    pub(crate) name: String,
}

impl Account {
    /// The user `nobody` when Octavo runs as root. `None` when it does not:
    /// servers then run as the user that Octavo runs as.
    ///
    /// Fails with [`DatabaseError::Missing`] where the system has no such user.
    pub(crate) fn of_servers() -> Result<Option<Self>> {
        if geteuid().is_root() {
            Self::named(NAME).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Looks a user up.
    fn named(name: &str) -> Result<Self> {
        let missing = |reason: String| DatabaseError::Missing {
            what: format!("there is no user '{name}' ({reason})"),
            remedy: "servers refuse to run as root: add this user, or start octavo as another \
                     user than root"
                .into(),
        };
        match User::from_name(name) {
            Ok(Some(user)) => Ok(Self {
                uid: user.uid.as_raw(),
                gid: user.gid.as_raw(),
                name: user.name,
            }),
            Ok(None) => Err(missing("the system does not know it".into())),
            Err(error) => Err(missing(error.to_string())),
        }
    }

    /// Its number and that of its group.
    pub(super) fn ids(&self) -> (Uid, Gid) {
        (Uid::from_raw(self.uid), Gid::from_raw(self.gid))
    }

    /// Gives a file, or a directory and all that is in it, to the user. Links
    /// are given themselves and not followed.
    pub(crate) fn own(&self, path: &Path) -> Result<()> {
        let about = fs::symlink_metadata(path).map_err(named("examine", path))?;
        self.own_one(path, &about)?;
        if about.is_dir() {
            for entry in fs::read_dir(path).map_err(named("list", path))? {
                self.own(&entry.map_err(named("list", path))?.path())?;
            }
        }
        Ok(())
    }

    /// Gives one file or directory to the user, unless it has it already.
    pub(crate) fn own_one(&self, path: &Path, about: &fs::Metadata) -> Result<()> {
        if (about.uid(), about.gid()) == (self.uid, self.gid) {
            return Ok(());
        }
        let (uid, gid) = self.ids();
        let as_it_is = AtFlags::SYMLINK_NOFOLLOW;
        chownat(CWD, path, Some(uid), Some(gid), as_it_is)
            .map_err(|error| named("give to another user", path)(error.into()))
    }

    /// Whether the user may go through every directory above `path`, which
    /// need not be there yet.
    ///
    /// Fails with [`DatabaseError::Missing`] and the first directory, from the
    /// root on, that it may not.
    pub(crate) fn check_reach(&self, path: &Path) -> Result<()> {
        let real = real_path(path)?;
        let mut above: Vec<&Path> = real.ancestors().skip(1).collect();
        above.reverse();
        for directory in above {
            let about = match fs::metadata(directory) {
                // Made later, by us.
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                about => about.map_err(named("examine", directory))?,
            };
            if !self.may_pass(about.uid(), about.gid(), about.mode()) {
                return Err(DatabaseError::Missing {
                    what: format!(
                        "user '{}', which servers run as, may not pass through {} to {}",
                        self.name,
                        directory.display(),
                        real.display()
                    ),
                    remedy: format!(
                        "choose another directory, or let others pass: chmod o+x {}",
                        directory.display()
                    ),
                });
            }
        }
        Ok(())
    }

    /// Whether a directory of this owner, group and mode can be passed.
    fn may_pass(&self, uid: u32, gid: u32, mode: u32) -> bool {
        let bit = if uid == self.uid {
            0o100
        } else if gid == self.gid {
            0o010
        } else {
            0o001
        };
        mode & bit != 0
    }
}

/// The path without links, as far as it is there.
fn real_path(path: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(path).map_err(named("find", path))?;
    for existing in path.ancestors() {
        match fs::canonicalize(existing) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(named("find", existing)(error)),
            Ok(real) => {
                let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
                // Joining an empty path would add a slash.
                return Ok(if rest.as_os_str().is_empty() {
                    real
                } else {
                    real.join(rest)
                });
            }
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn stranger() -> Account {
        Account {
            uid: 4_000_001,
            gid: 4_000_001,
            name: "stranger".into(),
        }
    }

    #[test]
    fn a_user_is_looked_up() {
        let root = Account::named("root").unwrap();
        assert_eq!((root.uid, root.name.as_str()), (0, "root"));
        let error = Account::named("no-such-user-here").unwrap_err();
        assert!(error.to_string().contains("no-such-user-here"), "{error}");
        assert_eq!(
            Account::of_servers().unwrap().is_some(),
            geteuid().is_root()
        );
    }

    #[test]
    fn bits_are_those_of_the_closest_relation() {
        let account = stranger();
        assert!(account.may_pass(0, 0, 0o701));
        assert!(!account.may_pass(0, 0, 0o770));
        assert!(account.may_pass(0, account.gid, 0o710));
        assert!(!account.may_pass(0, account.gid, 0o701));
        assert!(account.may_pass(account.uid, 0, 0o100));
        assert!(!account.may_pass(account.uid, account.gid, 0o011));
    }

    #[test]
    fn the_directory_that_stops_a_user_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let shut = directory.path().join("shut");
        fs::create_dir(&shut).unwrap();
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o750)).unwrap();
        let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755));
        open(directory.path()).unwrap();
        let error = stranger().check_reach(&shut.join("a/b")).unwrap_err();
        assert!(error.to_string().contains("chmod o+x"), "{error}");
        assert!(error.to_string().ends_with("shut"), "{error}");
        // The directory itself may be shut: it will be the user's own.
        stranger().check_reach(&shut).unwrap();
        open(&shut).unwrap();
        let link = directory.path().join("link");
        symlink(&shut, &link).unwrap();
        stranger().check_reach(&link.join("a/b")).unwrap();
    }

    #[test]
    fn a_tree_is_given_and_links_are_not_followed() {
        if !geteuid().is_root() {
            eprintln!("skipped: only root gives files away");
            return;
        }
        let directory = crate::scratch::directory();
        let (tree, other) = (
            directory.path().join("tree"),
            directory.path().join("other"),
        );
        fs::create_dir_all(tree.join("below")).unwrap();
        fs::write(tree.join("below/file"), "").unwrap();
        fs::write(&other, "").unwrap();
        symlink(&other, tree.join("link")).unwrap();
        stranger().own(&tree).unwrap();
        let owner = |path: &Path| fs::symlink_metadata(path).unwrap().uid();
        for name in ["", "below", "below/file", "link"] {
            assert_eq!(owner(&tree.join(name)), stranger().uid, "{name}");
        }
        assert_eq!(owner(&other), 0);
    }
}
