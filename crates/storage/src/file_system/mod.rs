//! File systems that Octavo makes for an experiment, in a file of its own: which, in words
//! (`ext4:1K`, `ext4:4K,bigalloc=64K`, `xfs:16K`, `btrfs:nodatacow`), and with what they are made.
//!
//! [`MountedFileSystem`] makes one and has it mounted.
//!
//! Sources: mke2fs(8), ext4(5), mkfs.xfs(8), xfs(5), mkfs.btrfs(8), btrfs(5), losetup(8). All
//! sizes and words were tried with e2fsprogs 1.47, xfsprogs 6.1 and btrfs-progs 6.2 on Linux 6.18.

mod made;

use std::{fmt, str::FromStr};

use octavo_units::ByteCount;

pub use made::{FileSystemError, MountedFileSystem, remove_file_system};

/// A file system to be made, and how.
///
/// As text: its kind, and after a colon, separated by commas, the size of its blocks and words of
/// that kind. Texts that say the same in another order are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileSystem {
    kind: &'static Kind,
    block: Option<ByteCount>,
    cluster: Option<ByteCount>,
    words: Vec<&'static Word>,
    offset: Option<ByteCount>,
}

/// What is known of a kind of file system.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Kind {
    /// Its name for mount(8).
    name: &'static str,
    /// What makes it, and the distribution's package of that.
    program: &'static str,
    package: &'static str,
    /// Arguments that are always given: nothing is asked, no blocks are given back to the
    /// storage below, and nothing is made later, while it is measured.
    arguments: &'static [&'static str],
    /// The sizes that its blocks may have; empty where the size cannot be chosen. Where nobody does, it is
    /// 4 KiB: mkfs.ext4 by itself would make smaller ones in less than 512 MiB.
    blocks: &'static [ByteCount],
    /// How the size of its blocks is written for its program.
    block_argument: (&'static str, &'static str),
    /// Whether it has clusters of blocks (`bigalloc`).
    has_clusters: bool,
    words: &'static [Word],
    /// The least that it can be made in.
    least: ByteCount,
}

/// A word that a kind of file system knows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Word {
    text: &'static str,
    /// Words of one group exclude each other.
    group: &'static str,
    /// What it adds for the program that makes the file system.
    arguments: &'static [&'static str],
    /// What it adds to the options of mount(8); empty for nothing.
    mounted: &'static str,
}

const fn mounted(group: &'static str, text: &'static str) -> Word {
    Word {
        text,
        group,
        arguments: &[],
        mounted: text,
    }
}

const NOATIME: Word = mounted("atime", "noatime");
const LAZYTIME: Word = mounted("lazytime", "lazytime");
const DISCARD: Word = mounted("discard", "discard");

const KINDS: [Kind; 3] = [
    Kind {
        name: "ext4",
        program: "mkfs.ext4",
        package: "e2fsprogs",
        // No room is kept for root, which servers are not.
        arguments: &[
            "-q",
            "-F",
            "-m",
            "0",
            "-E",
            "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
        ],
        blocks: &[ByteCount::kib(1), ByteCount::kib(2), ByteCount::kib(4)],
        block_argument: ("-b", ""),
        has_clusters: true,
        words: &[
            Word {
                text: "no-journal",
                group: "journal",
                arguments: &["-O", "^has_journal"],
                mounted: "",
            },
            mounted("journal", "data=ordered"),
            mounted("journal", "data=writeback"),
            mounted("journal", "data=journal"),
            NOATIME,
            LAZYTIME,
            DISCARD,
        ],
        least: ByteCount::mib(64),
    },
    Kind {
        name: "xfs",
        program: "mkfs.xfs",
        package: "xfsprogs",
        // Copies that share blocks with what they are copied from would pay for that later.
        arguments: &["-q", "-f", "-K", "-m", "reflink=0"],
        // Larger than a page of the kernel's memory since Linux 6.12.
        blocks: &[
            ByteCount::kib(1),
            ByteCount::kib(2),
            ByteCount::kib(4),
            ByteCount::kib(8),
            ByteCount::kib(16),
            ByteCount::kib(32),
            ByteCount::kib(64),
        ],
        block_argument: ("-b", "size="),
        has_clusters: false,
        words: &[NOATIME, LAZYTIME, DISCARD],
        // mkfs.xfs refuses what is smaller since xfsprogs 5.19.
        least: ByteCount::mib(300),
    },
    Kind {
        name: "btrfs",
        program: "mkfs.btrfs",
        package: "btrfs-progs",
        arguments: &["-q", "-f", "-K"],
        blocks: &[],
        block_argument: ("", ""),
        has_clusters: false,
        words: &[mounted("cow", "nodatacow"), NOATIME, DISCARD],
        least: ByteCount::mib(256),
    },
];

/// What begins the size of an ext4 cluster, and of what lies before the file system on its device.
const CLUSTER: &str = "bigalloc=";
const OFFSET: &str = "offset=";

/// The largest that may lie before a file system.
const OFFSET_MAX: ByteCount = ByteCount::mib(16);

/// The size of blocks that most file systems have, which is that of a page of the kernel's memory.
const BLOCK: ByteCount = ByteCount::kib(4);

/// The unit of offsets: no device has smaller blocks.
const SECTOR: u64 = 512;

/// A text is not a file system that can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is no file system that Octavo makes: {reason}")]
pub struct ParseFileSystemError {
    text: String,
    reason: String,
}

impl FileSystem {
    /// What a directory for it may be called.
    pub fn file_name(&self) -> String {
        self.to_string().replace([':', ',', '='], "-")
    }

    /// Its kind, as mount tables have it.
    pub fn kind(&self) -> &'static str {
        self.kind.name
    }

    /// What it has to be made in, to hold this much: a sixteenth more for inodes, bitmaps and
    /// trees, an eighth for rows that are inserted, and room for its journal.
    pub fn size_for(&self, content: ByteCount) -> ByteCount {
        const JOURNAL: ByteCount = ByteCount::mib(192);
        const UNIT: u64 = 1 << 20;
        let size = content
            .saturating_add(ByteCount::new(content.get() / 16 * 3))
            .saturating_add(JOURNAL)
            .get()
            .max(self.kind.least.get());
        // Trees of btrfs are kept twice.
        let size = match self.kind.name {
            "btrfs" => size.saturating_add(size / 8),
            _ => size,
        };
        ByteCount::new(size.div_ceil(UNIT).saturating_mul(UNIT))
    }

    /// How many bytes of its device lie before it.
    pub fn offset(&self) -> ByteCount {
        self.offset.unwrap_or_default()
    }

    /// The program that makes it, and what that is given before the device.
    fn making(&self) -> (&'static Kind, Vec<String>) {
        let mut arguments: Vec<String> = self.kind.arguments.iter().map(|&of| of.into()).collect();
        if let Some(block) = self.block {
            let (flag, before) = self.kind.block_argument;
            arguments.extend([flag.into(), format!("{before}{}", block.get())]);
        }
        if let Some(cluster) = self.cluster {
            let cluster = cluster.get().to_string();
            arguments.extend(["-O", "bigalloc", "-C", &cluster].map(Into::into));
        }
        let of_words = self.words.iter().flat_map(|word| word.arguments);
        arguments.extend(of_words.map(|&of| of.into()));
        (self.kind, arguments)
    }

    /// The options of mount(8), without which it is mounted as the kernel does by itself.
    fn mount_options(&self) -> String {
        let options = self.words.iter().map(|word| word.mounted);
        let options: Vec<&str> = options.filter(|option| !option.is_empty()).collect();
        options.join(",")
    }
}

/// Several file systems, as a list with commas: `ext4:4K,noatime,xfs:16K,here` are three. `None` is the
/// one that is there already, `here`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystems(Vec<Option<FileSystem>>);

/// What the file system is called that is there already.
pub const HERE: &str = "here";

impl FileSystems {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Option<FileSystem>> {
        self.0.iter()
    }
}

impl FromStr for FileSystems {
    type Err = ParseFileSystemError;

    /// # Errors
    /// When one is none that can be made, or is named twice.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut names: Vec<String> = Vec::new();
        for part in text.split(',') {
            let name = part.split(':').next().unwrap_or_default();
            let begins = part == HERE || KINDS.iter().any(|kind| kind.name == name);
            match names.last_mut() {
                Some(last) if !begins && last != HERE => {
                    last.push(',');
                    last.push_str(part);
                }
                _ => names.push(part.to_owned()),
            }
        }
        let mut all = Vec::new();
        for name in names {
            let one = match name.as_str() {
                HERE => None,
                name => Some(name.parse()?),
            };
            if all.contains(&one) {
                return Err(ParseFileSystemError {
                    text: name,
                    reason: "it is named twice".into(),
                });
            }
            all.push(one);
        }
        Ok(Self(all))
    }
}

/// As a plan writes sizes: the largest unit in which it is whole.
fn size_text(size: ByteCount) -> String {
    match size.get() {
        bytes if bytes.is_multiple_of(1 << 20) && bytes > 0 => format!("{}M", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) && bytes > 0 => format!("{}K", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = [
            self.block.map(size_text),
            self.cluster
                .map(|size| format!("{CLUSTER}{}", size_text(size))),
        ];
        let words = self.words.iter().map(|word| word.text.to_owned());
        let offset = self
            .offset
            .map(|size| format!("{OFFSET}{}", size_text(size)));
        let parts = sizes.into_iter().flatten().chain(words).chain(offset);
        let parts: Vec<String> = parts.collect();
        match parts.is_empty() {
            true => f.pad(self.kind.name),
            false => f.pad(&format!("{}:{}", self.kind.name, parts.join(","))),
        }
    }
}

impl FromStr for FileSystem {
    type Err = ParseFileSystemError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = |reason: String| ParseFileSystemError {
            text: text.to_owned(),
            reason,
        };
        let (name, parts) = text
            .split_once(':')
            .map_or((text, None), |(name, parts)| (name, Some(parts)));
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names = KINDS.map(|kind| kind.name).join(", ");
            refuse(format!("there are {names}, as in ext4:4K"))
        })?;
        let mut system = Self {
            kind,
            block: None,
            cluster: None,
            words: Vec::new(),
            offset: None,
        };
        for part in parts.into_iter().flat_map(|parts| parts.split(',')) {
            system.add(part).map_err(refuse)?;
        }
        if system.block.is_none() && !kind.blocks.is_empty() {
            system.block = Some(BLOCK);
        }
        let place = |word: &&Word| kind.words.iter().position(|of| of == *word);
        system.words.sort_by_key(place);
        Ok(system)
    }
}

impl FileSystem {
    /// Adds what a part of its text says.
    fn add(&mut self, part: &str) -> Result<(), String> {
        let twice = |what: &str| Err(format!("{what} is given twice"));
        let size = |text: &str| text.parse::<ByteCount>().map_err(|error| error.to_string());
        if let Some(text) = part.strip_prefix(OFFSET) {
            let offset = size(text)?;
            if !offset.get().is_multiple_of(SECTOR) || offset > OFFSET_MAX {
                return Err(format!(
                    "an offset is a multiple of {SECTOR} bytes, at most {OFFSET_MAX}"
                ));
            }
            return match self.offset.replace(offset) {
                None => Ok(()),
                Some(_) => twice("its offset"),
            };
        }
        if let Some(text) = part.strip_prefix(CLUSTER) {
            let cluster = size(text)?;
            let fits = (ByteCount::kib(8)..=ByteCount::mib(1)).contains(&cluster);
            if !self.kind.has_clusters || !fits || !cluster.get().is_power_of_two() {
                return Err("clusters are of ext4, powers of two from 8K to 1M".into());
            }
            return match self.cluster.replace(cluster) {
                None => Ok(()),
                Some(_) => twice("the size of its clusters"),
            };
        }
        if part.starts_with(|first: char| first.is_ascii_digit()) {
            let block = size(part)?;
            if !self.kind.blocks.contains(&block) {
                return Err(match self.kind.blocks {
                    [] => format!("the size of {} blocks cannot be chosen", self.kind.name),
                    blocks => format!(
                        "{} has blocks of {}",
                        self.kind.name,
                        blocks
                            .iter()
                            .map(|&size| size_text(size))
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                });
            }
            return match self.block.replace(block) {
                None => Ok(()),
                Some(_) => twice("the size of its blocks"),
            };
        }
        let Some(word) = self.kind.words.iter().find(|word| word.text == part) else {
            let words = self.kind.words.iter().map(|word| word.text.to_owned());
            let clusters = self.kind.has_clusters.then(|| format!("{CLUSTER}64K"));
            let words = words.chain(clusters).chain([format!("{OFFSET}512")]);
            return Err(format!(
                "'{part}' is not among {}",
                words.collect::<Vec<_>>().join(", ")
            ));
        };
        if let Some(other) = self.words.iter().find(|other| other.group == word.group) {
            return match other.text == word.text {
                true => twice(word.text),
                false => Err(format!(
                    "{} and {} exclude each other",
                    other.text, word.text
                )),
            };
        }
        self.words.push(word);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(text: &str) -> FileSystem {
        text.parse().unwrap()
    }

    #[test]
    fn texts_that_say_the_same_are_one_file_system() {
        for text in [
            "ext4:1K",
            "ext4:4K,bigalloc=64K,no-journal,noatime,offset=512",
            "ext4:1K,bigalloc=1M",
            "xfs:16K",
            "btrfs",
            "btrfs:nodatacow",
        ] {
            assert_eq!(system(text).to_string(), text);
        }
        assert_eq!(system("ext4"), system("ext4:4K"));
        assert_eq!(system("xfs:noatime").to_string(), "xfs:4K,noatime");
        let turned = "ext4:offset=1024,noatime,4096,data=journal";
        assert_eq!(
            system(turned).to_string(),
            "ext4:4K,data=journal,noatime,offset=1K"
        );
        assert_eq!(
            system(turned),
            system("ext4:4K,data=journal,noatime,offset=1K")
        );
        assert_eq!(
            system(turned).file_name(),
            "ext4-4K-data-journal-noatime-offset-1K"
        );
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_what_can() {
        for (text, told) in [
            ("zfs:8K", "ext4, xfs, btrfs"),
            ("", "ext4, xfs, btrfs"),
            ("ext4:", "'' is not among"),
            ("ext4:8K", "1K, 2K, 4K"),
            ("xfs:512", "1K, 2K, 4K, 8K, 16K, 32K, 64K"),
            ("btrfs:4K", "cannot be chosen"),
            ("xfs:no-journal", "'no-journal' is not among noatime"),
            ("xfs:bigalloc=64K", "are of ext4"),
            ("ext4:bigalloc=4K", "from 8K to 1M"),
            ("ext4:bigalloc=12K", "powers of two"),
            ("ext4:1K,2K", "given twice"),
            ("ext4:noatime,noatime", "given twice"),
            ("ext4:no-journal,data=journal", "exclude each other"),
            ("ext4:offset=100", "multiple of 512"),
            ("ext4:offset=1G", "at most 16 MiB"),
            ("ext4:1Q", "is not a size"),
            ("ext4:4K;rm", "is not a size"),
        ] {
            let error = text.parse::<FileSystem>().unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn a_list_has_commas_within_and_between() {
        let list = |text: &str| text.parse::<FileSystems>();
        let names = |text: &str| {
            let list = list(text).unwrap();
            let names = list.iter().map(|of| of.as_ref().map(ToString::to_string));
            names.collect::<Vec<_>>()
        };
        assert_eq!(
            names("ext4:noatime,1K,here,xfs,btrfs:nodatacow,discard"),
            [
                Some("ext4:1K,noatime".to_owned()),
                None,
                Some("xfs:4K".into()),
                Some("btrfs:nodatacow,discard".into())
            ]
        );
        assert_eq!(names("here"), [None]);
        for (text, told) in [
            ("here,noatime", "ext4, xfs, btrfs"),
            ("ext4:1K,xfs:512", "xfs has blocks of"),
            ("ext4:noatime,1K,ext4:1K,noatime", "named twice"),
            ("here,here", "named twice"),
            ("", "ext4, xfs, btrfs"),
            ("ext4,", "ext4, xfs, btrfs"),
            ("ext4:1K,", "'' is not among"),
        ] {
            let error = list(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_given_reaches_the_programs() {
        let (kind, arguments) = system("ext4:1K,no-journal,noatime").making();
        assert_eq!(kind.program, "mkfs.ext4");
        let said = arguments.join(" ");
        assert!(said.ends_with("-b 1024 -O ^has_journal"), "{said}");
        assert_eq!(
            system("ext4:1K,no-journal,noatime").mount_options(),
            "noatime"
        );
        let said = system("ext4:bigalloc=64K").making().1.join(" ");
        assert!(said.ends_with("-O bigalloc -C 65536"), "{said}");
        let said = system("xfs:16K").making().1.join(" ");
        assert_eq!(said, "-q -f -K -m reflink=0 -b size=16384");
    }

    #[test]
    fn a_file_system_is_larger_than_what_it_holds() {
        for kind in ["ext4", "xfs", "btrfs"] {
            assert!(
                system(kind).size_for(ByteCount::ZERO) >= system(kind).kind.least,
                "{kind}"
            );
            let gib = ByteCount::mib(1024);
            let size = system(kind).size_for(gib);
            assert!(size > gib && size.get().is_multiple_of(1 << 20));
            let _does_not_overflow = system(kind).size_for(ByteCount::new(u64::MAX));
        }
    }
}
