//! `octavo value`: prices and results to what throughput is worth, and what is printed.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use octavo_device::catalog::Entry;
use octavo_experiment::{
    findings::Findings,
    plan::file::read_prices,
    prices::{Prices, StoragePrice, plain},
    store::Store,
    value::{Results, Value, ValueError},
};

use crate::{
    devices,
    failure::Failure,
    flags::{NamedPrice, ValueFlags},
    print, report,
};

pub(crate) fn value(flags: ValueFlags) -> Result<(), Failure> {
    let value = found(&flags)?;
    flags.page.check()?;
    flags.page.write(|| octavo_report::value(&value))?;
    print::result(
        flags.print,
        || octavo_report::value_json(&value),
        || octavo_report::value(&value),
    )
}

fn found(flags: &ValueFlags) -> Result<Value, Failure> {
    let devices = named_devices(flags)?;
    check_prices(flags)?;
    let mut prices = of_flags(flags);
    if let Some(path) = &flags.prices {
        prices = prices.or(read_prices(path).map_err(Failure::input)?);
    }
    let mut read: Vec<(String, Findings)> = Vec::new();
    let mut stores: Vec<PathBuf> = Vec::new();
    for path in &flags.results {
        let findings = report::findings_by_class(path)?;
        let store = report::store_at(path);
        let place = store.canonicalize().unwrap_or_else(|_| store.clone());
        if stores.contains(&place) {
            return Err(Failure::Input(anyhow!(
                "{} is given twice; name each result once",
                path.display()
            )));
        }
        stores.push(place);
        let kept = Store::open(&store).and_then(|store| store.prices());
        prices = prices.or(kept.map_err(Failure::input)?);
        read.extend(findings.into_iter().map(|of| (name(path), of)));
    }
    let results: Vec<Results<'_>> = read
        .iter()
        .map(|(name, findings)| Results { name, findings })
        .collect();
    check_hosts(flags, &results)?;
    let value = Value::of_results(&results, prices, &devices, flags.times, flags.hold);
    let value = value.map_err(|error| {
        Failure::Input(match error {
            ValueError::NoPrice => anyhow!(
                "nothing has a price; add --memory-price 5/GiB, --machine-price 2000 and \
                 --storage-price 600, or --prices FILE"
            ),
            ValueError::Scale { .. } => anyhow!("--{error}"),
            ValueError::NoCost { priced, known }
                if let Some(of) = flags
                    .storage_price
                    .iter()
                    .find(|of| priced.contains(&of.name)) =>
            {
                unknown(of, &known)
            }
            error => anyhow!(error),
        })
    })?;
    check_names(flags, &value)?;
    Ok(value)
}

/// The directory of results as it was given.
fn name(path: &Path) -> String {
    let directory = match path.is_dir() {
        true => path,
        false => path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(path),
    };
    directory.display().to_string()
}

fn of_flags(flags: &ValueFlags) -> Prices {
    let named = flags.storage_price.iter().chain(&flags.device);
    let machines = || flags.machine_price.iter();
    Prices {
        currency: flags.currency.clone(),
        memory: flags.memory_price,
        machine: machines().find(|of| of.name.is_empty()).map(|of| of.price),
        hosts: machines()
            .filter(|of| !of.name.is_empty())
            .map(|of| (of.name.clone(), of.price))
            .collect(),
        storages: named
            .map(|of| (of.name.clone(), of.price.clone()))
            .collect(),
    }
}

/// Refuses two prices of one storage.
fn check_prices(flags: &ValueFlags) -> Result<(), Failure> {
    for (place, one) in flags.machine_price.iter().enumerate() {
        let before = &flags.machine_price[..place];
        let other = before
            .iter()
            .find(|other| other.name == one.name && other.price != one.price);
        if let Some(other) = other {
            return Err(Failure::Input(anyhow!(
                "{} has two prices, {} and {}; give one",
                match one.name.as_str() {
                    "" => "the machine",
                    host => host,
                },
                other.price.get(),
                one.price.get()
            )));
        }
    }
    let named: Vec<&NamedPrice<StoragePrice>> =
        flags.storage_price.iter().chain(&flags.device).collect();
    for (place, one) in named.iter().enumerate() {
        let is_other = |other: &&&NamedPrice<StoragePrice>| {
            plain(&other.name) == plain(&one.name) && other.price.get() != one.price.get()
        };
        if let Some(other) = named[..place].iter().find(is_other) {
            let of = match one.name.as_str() {
                "" => "the storage".to_owned(),
                name => format!("'{name}'"),
            };
            return Err(Failure::Input(anyhow!(
                "{of} has two prices, {} and {}; give one",
                other.price,
                one.price
            )));
        }
    }
    Ok(())
}

/// The devices of `--device`, which have to be there.
fn named_devices(flags: &ValueFlags) -> Result<Vec<(String, Entry)>, Failure> {
    let entry = |of: &NamedPrice<StoragePrice>| {
        if of.name.is_empty() {
            return Err(Failure::Input(anyhow!(
                "--device needs a name and a price; write --device nvme-tlc=120"
            )));
        }
        let entry = devices::named(&of.name).map_err(Failure::Input)?;
        Ok((of.name.clone(), entry))
    };
    flags.device.iter().map(entry).collect()
}

/// Refuses names of `--machine-price` that are no host's.
fn check_hosts(flags: &ValueFlags, results: &[Results<'_>]) -> Result<(), Failure> {
    let is_here = |name: &str| results.iter().any(|of| of.has_host(name));
    let mut named = flags.machine_price.iter().filter(|of| !of.name.is_empty());
    match named.find(|of| !is_here(&of.name)) {
        None => Ok(()),
        Some(of) => Err(Failure::Input(anyhow!(
            "--machine-price: no host '{}' here; {}",
            of.name,
            Results::hosts_of_classes(results)
        ))),
    }
}

/// Refuses names of `--storage-price` that are no storage's. Those of a file, which may be of
/// many stores, are told instead.
fn check_names(flags: &ValueFlags, value: &Value) -> Result<(), Failure> {
    let is_unused = |of: &&NamedPrice<StoragePrice>| value.unused.contains(&of.name);
    match flags.storage_price.iter().find(is_unused) {
        None => Ok(()),
        Some(of) => {
            let known = value.storages.iter().map(|of| of.name.clone());
            Err(Failure::Input(unknown(of, &known.collect::<Vec<_>>())))
        }
    }
}

fn unknown(of: &NamedPrice<StoragePrice>, known: &[String]) -> anyhow::Error {
    anyhow!(
        "--storage-price: no storage '{}' here; name {} or a device that octavo devices lists",
        of.name,
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_may_have_a_name() {
        for (text, name, price) in [
            ("600", "", 600.0),
            ("ec=600", "ec", 600.0),
            ("device:ec = 600", "device:ec", 600.0),
            ("/mnt/a=b=2/GB for 3GB", "/mnt/a=b", 6.0),
        ] {
            let of: NamedPrice<StoragePrice> = text.parse().unwrap();
            assert_eq!((of.name.as_str(), of.price.get()), (name, price), "{text}");
        }
        assert!("ec=".parse::<NamedPrice<StoragePrice>>().is_err());
        assert!("ec".parse::<NamedPrice<StoragePrice>>().is_err());
    }

    #[test]
    fn results_are_named_by_their_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(name(path), path.display().to_string());
        assert_eq!(name(&path.join("octavo.db")), path.display().to_string());
        assert_eq!(name(Path::new("octavo.db")), "octavo.db");
    }
}
