//! `[prices]`: what memory, machine and storages cost, in a plan or in a file of its own.

use std::path::Path;

use octavo_storage::text;
use toml::de::DeTable;

use super::{
    price_keys::PriceKeys,
    refusal::{PlanFileError, Source, SpanError},
    section::{self, PRICES, SECTIONS},
};
use crate::prices::Prices;

/// Reads the prices in `path`: a file that has `[prices]` alone, or a plan, of which nothing
/// else is read.
///
/// # Errors
/// When the file cannot be read, has no `[prices]`, or a price that cannot be.
pub fn read_prices(path: &Path) -> Result<Prices, PlanFileError> {
    let text = text::read(path, text::WRITTEN_MAX)?;
    let source = Source {
        name: path.display().to_string(),
        text: text.trim_start_matches('\u{feff}').to_owned(),
    };
    from_source(&source).map_err(|refusal| source.locate(refusal))
}

fn from_source(source: &Source) -> Result<Prices, SpanError> {
    let mut document = DeTable::parse(&source.text)
        .map_err(|error| SpanError::from_toml(&error, "a file of prices", &[]))?
        .into_inner();
    let is_plan = document.contains_key("format");
    if !document.contains_key(PRICES) {
        return Err(SpanError::new(
            &(0..0),
            "[prices] is missing: write it with, for example, memory = \"5/GiB\"",
        ));
    }
    let prices = section::table(&mut document, PRICES)?;
    if let (false, Some((key, _))) = (is_plan, document.iter().next()) {
        let name = key.get_ref();
        let reason = match SECTIONS.contains(&name.as_ref()) {
            true => format!("{name} is a section of plans, and format = 1 is missing: remove it"),
            false => format!("a file of prices has no '{name}': write it below [prices]"),
        };
        return Err(SpanError::new(&key.span(), reason));
    }
    let keys: PriceKeys = section::read(prices, "[prices]", &[])?;
    Ok(keys.prices())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Prices, String> {
        let source = Source {
            name: "prices.toml".into(),
            text: text.to_owned(),
        };
        from_source(&source).map_err(|refusal| source.locate(refusal).to_string())
    }

    #[test]
    fn all_prices_are_read() {
        let prices = read(
            "[prices]\ncurrency = \"EUR\"\nmemory = \"5/GiB\"\nmachine = 2000\n\
             [prices.storage]\n\"device:ec\" = 600\n\"/mnt/hdd\" = 79.5\n\
             gp3-3000 = \"0.08/GB for 500GB\"\n\"\" = \"45\"\n",
        )
        .unwrap();
        assert_eq!(prices.currency.unwrap().to_string(), "EUR");
        assert_eq!(prices.memory.unwrap().get(), 5.0);
        assert_eq!(prices.machine.unwrap().get(), 2000.0);
        let storages: Vec<(&str, f64)> = prices
            .storages
            .iter()
            .map(|(name, price)| (name.as_str(), price.get()))
            .collect();
        assert_eq!(
            storages,
            [
                ("", 45.0),
                ("/mnt/hdd", 79.5),
                ("device:ec", 600.0),
                ("gp3-3000", 40.0)
            ]
        );
        assert!(read("[prices]\n").unwrap().is_empty());
        // Of a plan nothing else is read.
        let plan = "format = 1\n[cells]\nnonsense = 1\n[prices]\nmachine = 5\n";
        assert_eq!(read(plan).unwrap().machine.unwrap().get(), 5.0);
    }

    #[test]
    fn refusals_name_line_and_remedy() {
        for (text, line, words) in [
            ("", 1, "[prices] is missing"),
            ("machine = 5\n", 1, "[prices] is missing"),
            ("[prices]\nmachine = 0\n", 2, "above 0"),
            ("[prices]\nmachine = -5\n", 2, "above 0"),
            ("[prices]\nmachine = nan\n", 2, "above 0"),
            ("[prices]\nmachine = inf\n", 2, "above 0"),
            ("[prices]\nmemory = 5\n", 2, "5/GiB"),
            ("[prices]\nmemory = \"5/KiB\"\n", 2, "MiB, GiB, TiB"),
            ("[prices]\n\nmemory = true\n", 3, "\"5/GiB\""),
            ("[prices]\nmemorie = 5\n", 2, "did you mean memory?"),
            ("[prices]\ncurrency = 5\n", 2, "EUR"),
            ("[prices]\nstorage = 5\n", 2, "map"),
            ("[prices.storage]\nec = \"cheap\"\n", 2, "600"),
            ("[prices.storage]\nec = \"1/GB\"\n", 2, "for 500GB"),
            ("[prices]\nmachine = 5\n[cells]\n", 3, "format = 1"),
            ("x = 1\n[prices]\nmachine = 5\n", 1, "[prices]"),
            ("[prices\n", 1, ""),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.starts_with(&format!("prices.toml:{line}: ")), "{said}");
            assert!(said.contains(words), "{words} in: {said}");
        }
    }
}
