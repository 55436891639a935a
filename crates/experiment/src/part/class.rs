//! Which hosts are alike: by facts, since machines of one type may have other processors.

/// A fact: its topic, its name and its value.
type FactOf<'a> = (&'a str, &'a str, &'a str);

/// What hosts have in common that are compared with each other, in words: processors, memory, limits
/// of these, series of the kernel, storage and build. The database's version is of the plan, which is
/// the same for all.
///
/// Memory is what was bought, [rounded up](bought): machines of one type differ by what their kernels keep.
pub(crate) fn class<'a>(facts: impl IntoIterator<Item = FactOf<'a>>, octavo: &str) -> String {
    let facts: Vec<FactOf<'a>> = facts.into_iter().collect();
    let machine = |name: &str| {
        let mut of = facts
            .iter()
            .filter(|fact| fact.0 == "machine" && fact.1 == name);
        of.next().map(|fact| fact.2.to_owned())
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(machine("cpu"));
    parts.extend(machine("memory").map(|memory| bought(&memory)));
    for limit in ["cpu limit", "memory limit"] {
        let set = machine(limit).filter(|set| set != "none");
        parts.extend(set.map(|set| format!("{limit} {set}")));
    }
    parts.extend(machine("kernel").map(|kernel| series(&kernel)));
    parts.extend(storages(&facts));
    let build = machine(crate::machine::BUILD);
    let build = build.filter(|build| build == crate::machine::DEBUG_BUILD);
    parts.push(match build {
        Some(build) => format!("octavo {octavo} ({build})"),
        None => format!("octavo {octavo}"),
    });
    parts.join(", ")
}

/// What is known of the storages: the drive's model or what drives it, and the file system.
fn storages(facts: &[FactOf<'_>]) -> Vec<String> {
    let model = all(facts, "storage", |name| name == "model");
    let device = match model.is_empty() {
        false => model,
        // Of an emulated one the name says what it is.
        true => {
            let drivers = all(facts, "storage", |name| name == "device_driver");
            let emulated = facts.iter().filter_map(|(topic, name, _)| {
                let device = topic.strip_prefix("storage device:")?;
                (*name == "device").then(|| device.to_owned())
            });
            let emulated: Vec<String> = emulated.collect();
            match emulated.is_empty() {
                true => drivers,
                false => emulated,
            }
        }
    };
    let rotates = all(facts, "storage", |name| name == "rotational");
    let device = device.into_iter().chain(match rotates.as_slice() {
        [only] if only == "true" => Some("rotating".to_owned()),
        _ => None,
    });
    let systems = all(facts, "storage", |name| name == "file_system");
    let systems = systems
        .into_iter()
        .filter(|name| !name.starts_with("fuse."));
    device.chain(systems).collect()
}

/// The values of facts of a topic with such a name, each once.
fn all(facts: &[FactOf<'_>], topic: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut values: Vec<String> = facts
        .iter()
        .filter(|fact| is_of(fact.0, topic) && is_wanted(fact.1))
        .map(|fact| fact.2.to_owned())
        .collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Whether a topic is this one or one of its own below.
fn is_of(topic: &str, wanted: &str) -> bool {
    let rest = topic.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// `15.6 GiB` to `up to 16 GiB`: the next quarter of a power of two, such as 14, 16, 20 and 24. Kernels and
/// firmware keep 1 to 7% of what is there, and sizes that are sold are at the upper ends or well below them.
fn bought(memory: &str) -> String {
    let units = [" GiB", " MiB"].into_iter();
    let mut sizes =
        units.filter_map(|unit| Some((memory.strip_suffix(unit)?.parse::<f64>().ok()?, unit)));
    match sizes.next() {
        // Beyond what any machine has, there are no quarters left.
        Some((amount, unit)) if (1.0..1e12).contains(&amount) => {
            let step = amount.log2().ceil().exp2() / 8.0;
            format!("up to {}{unit}", (amount / step).ceil() * step)
        }
        _ => memory.to_owned(),
    }
}

/// `Linux 6.1.0-18-amd64 x86_64` to `Linux 6.1`.
fn series(kernel: &str) -> String {
    let mut words = kernel.split(' ');
    let (Some(system), Some(release)) = (words.next(), words.next()) else {
        return kernel.to_owned();
    };
    let mut numbers = release.split(['.', '-']);
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => format!("{system} {major}.{minor}"),
        _ => format!("{system} {release}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_alike_by_facts_and_not_by_patch_levels_or_megabytes() {
        let facts = |kernel, memory, cpu| {
            [
                ("machine", "cpu", cpu),
                ("machine", "kernel", kernel),
                ("machine", "memory", memory),
                ("storage", "model", "Acme 9000"),
                ("storage /mnt/a", "file_system", "ext4"),
                ("database", "version", "3.54.1"),
                ("machine", "cpu limit", "none"),
                ("machine", "octavo build", "release"),
            ]
        };
        let one = facts("Linux 6.1.0-18-amd64 x86_64", "15.6 GiB", "8 x Xeon");
        let same = facts("Linux 6.1.0-22-amd64 x86_64", "15.7 GiB", "8 x Xeon");
        let other = facts("Linux 6.1.0-22-amd64 x86_64", "15.7 GiB", "8 x EPYC");
        let of = |facts| class(facts, "0.1.0");
        assert_eq!(
            of(one),
            "8 x Xeon, up to 16 GiB, Linux 6.1, Acme 9000, ext4, octavo 0.1.0"
        );
        assert_eq!(of(one), of(same));
        assert_ne!(of(same), of(other));
        assert_ne!(class(same, "0.1.0"), class(same, "0.2.0"));
        // Of what is not known nothing is said.
        assert_eq!(class([], "0.1.0"), "octavo 0.1.0");
        assert_eq!(series("Linux"), "Linux");
        for (seen, wanted) in [
            ("940 MiB", "up to 1024 MiB"),
            ("15.4 GiB", "up to 16 GiB"),
            ("15.6 GiB", "up to 16 GiB"),
            ("16.0 GiB", "up to 16 GiB"),
            ("1.9 GiB", "up to 2 GiB"),
            ("7.4 GiB", "up to 8 GiB"),
            ("7.6 GiB", "up to 8 GiB"),
            ("29.9 GiB", "up to 32 GiB"),
            ("755.3 GiB", "up to 768 GiB"),
            ("nan GiB", "nan GiB"),
        ] {
            assert_eq!(bought(seen), wanted);
        }
    }

    #[test]
    fn an_emulated_device_is_named_and_what_emulates_it_is_not() {
        let topic = "storage device:nvme-tlc";
        let facts = [
            (topic, "device", "nvme-tlc"),
            (topic, "device_driver", "octavo emulate"),
            (topic, "file_system", "fuse.octavo"),
        ];
        assert_eq!(class(facts, "0.1.0"), "nvme-tlc, octavo 0.1.0");
    }
}
