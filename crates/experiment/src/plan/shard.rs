//! A part of a plan, to be predicted apart from the others.

use std::{fmt, str::FromStr};

/// A part of a plan: of its groups each `count`th, from the one with the number `index` on. What is
/// compared stays together, and parts of all kinds of groups take about as long as each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// The part `index`, from 0, of so many.
    ///
    /// # Errors
    /// In words, when there is no such part.
    pub fn new(index: u32, count: u32) -> Result<Self, String> {
        match index < count {
            true => Ok(Self { index, count }),
            false if count == 0 => {
                Err("give how many parts there are, at least 1, after /".to_owned())
            }
            false => Err(format!(
                "there is no part {} of {count}: parts are 1 to {count}",
                u64::from(index) + 1
            )),
        }
    }

    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.index + 1
    }

    /// How many parts there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Its groups, of so many.
    pub fn groups(self, all: usize) -> Vec<usize> {
        let groups = (0..all).skip(self.index as usize);
        groups.step_by(self.count as usize).collect()
    }
}

/// As it is typed: `3/200`.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number(), self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape =
            || "write a part as its number and how many there are, such as 3/200".to_owned();
        let (number, count) = text.split_once('/').ok_or_else(shape)?;
        let read = |part: &str| part.parse::<u32>().map_err(|_| shape());
        let (number, count) = (read(number)?, read(count)?);
        match number.checked_sub(1) {
            Some(index) => Self::new(index, count),
            None => Err(format!("parts are counted from 1: choose 1 to {count}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_is_in_one_part() {
        for (all, count) in [(40, 12), (3, 5), (1, 1), (0, 4), (7, 7)] {
            let mut groups = Vec::new();
            for index in 0..count {
                let own = Shard::new(index, count).unwrap().groups(all);
                assert!(own.iter().all(|of| of % count as usize == index as usize));
                groups.extend(own);
            }
            groups.sort_unstable();
            assert_eq!(groups, (0..all).collect::<Vec<_>>(), "{count}");
        }
    }

    #[test]
    fn parts_are_counted_from_1() {
        let shard: Shard = "3/200".parse().unwrap();
        assert_eq!((shard.number(), shard.count()), (3, 200));
        assert_eq!(shard.groups(403), [2, 202, 402]);
        assert_eq!(shard.to_string(), "3/200");
        assert_eq!("200/200".parse::<Shard>().unwrap().groups(200), [199]);
        for (text, reason) in [
            ("0/3", "counted from 1"),
            ("4/3", "parts are 1 to 3"),
            ("1/0", "at least 1"),
            ("3", "such as 3/200"),
            ("-1/3", "such as 3/200"),
            ("1/3/4", "such as 3/200"),
            ("4294967296/4294967297", "such as 3/200"),
        ] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
