//! Which machine this is.

use std::{fs, path::Path};

use octavo_units::Seed;
use schemars::JsonSchema;
use serde::Serialize;

/// The longest name of a host, in bytes (RFC 1035 has 255 octets).
const NAME_MAX: usize = 255;

/// A machine, as far as others are to be told from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Host {
    /// What tells it from others: 16 hexadecimal digits, from which nothing else follows.
    pub id: String,
    /// What people call it.
    pub name: String,
}

impl Host {
    /// This machine: by its id (machine-id(5)) and its name together, since machines that were made
    /// from one image may share the id, and may have the name of a container.
    pub fn here() -> Self {
        Self::here_below(Path::new("/"))
    }

    fn here_below(root: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let id = ["etc/machine-id", "var/lib/dbus/machine-id"];
        let id = id.into_iter().map(read).find(|id| !id.trim().is_empty());
        let system = rustix::system::uname();
        let name = system.nodename().to_string_lossy().trim().to_owned();
        let name = match Self::is_name(&name) {
            true => name,
            false => "unnamed".to_owned(),
        };
        let key = format!("{}\n{name}", id.unwrap_or_default().trim());
        Self::of(&key, name)
    }

    /// What tells this boot of this machine's kernel from others (`random/boot_id`, proc(5)), as hexadecimal
    /// digits from which it does not follow. Containers have that of the machine, and so have copies of a
    /// virtual machine that was running. `None` where the system does not say.
    pub(crate) fn boot() -> Option<String> {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let id = id.trim();
        (!id.is_empty()).then(|| Self::of(&format!("boot\n{id}"), String::new()).id)
    }

    /// Whether a host can be called so: not empty, of 255 bytes at most, without control characters, which
    /// would be lines of their own wherever it is named.
    pub fn is_name(name: &str) -> bool {
        !name.trim().is_empty() && name.len() <= NAME_MAX && !name.contains(char::is_control)
    }

    /// The machine that whoever schedules calls so, where programs see a container's id and name.
    pub fn named(name: &str) -> Self {
        Self::of(&format!("named\n{name}"), name.to_owned())
    }

    fn of(key: &str, name: String) -> Self {
        let seed = Seed::new(0).derive(key, 0);
        Self {
            id: format!("{:016x}", seed.get()),
            name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_told_apart_by_id_and_name_and_neither_is_kept_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let with = |id: &str| {
            fs::create_dir_all(root.path().join("etc")).unwrap();
            fs::write(root.path().join("etc/machine-id"), id).unwrap();
            Host::here_below(root.path())
        };
        let [one, other] = ["0123456789abcdef0123456789abcdef\n", "f\n"].map(with);
        assert_eq!(one.name, other.name);
        assert_ne!(one.id, other.id);
        assert_eq!(one.id.len(), 16);
        assert!(!"0123456789abcdef".contains(&one.id[..4]), "{}", one.id);
        assert_eq!(Host::here(), Host::here());
        assert_eq!(Host::boot(), Host::boot());
        assert_eq!(Host::named("n1"), Host::named("n1"));
        assert_ne!(Host::named("n1").id, Host::named("n2").id);
    }

    #[test]
    fn names_of_hosts_are_short_and_of_one_line() {
        let longest = "n".repeat(NAME_MAX);
        assert!(
            ["n1", "rack 2, n1", &longest]
                .into_iter()
                .all(Host::is_name)
        );
        let too_long = format!("{longest}n");
        let refused = ["", " ", "n1\nALL IS WELL", "\u{1b}[31mn1", &too_long];
        assert!(!refused.into_iter().any(Host::is_name));
    }
}
