//! Where a path lies: its file system and the block device below, as far as
//! Linux tells, and that device's counters.
//!
//! Sources: proc_pid_mountinfo(5), `Documentation/ABI/stable/sysfs-block`,
//! `Documentation/ABI/testing/sysfs-block-dm`, `Documentation/admin-guide/md.rst`
//! and `Documentation/admin-guide/iostats.rst` of the kernel. Everything may be
//! missing (containers hide /sys, network file systems have no device), so
//! everything is an `Option`.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_device::{
    Counters,
    facts::{DeviceNumber, StorageFacts},
    power::{Draw, Energy},
};
use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};

use crate::procfs::{Mount, mounts};

/// The storage under a path: the facts about it, and where its counters are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// What Linux tells of it.
    pub facts: StorageFacts,
    /// Where a device is mounted that `octavo emulate` stands in for.
    pub emulated_at: Option<PathBuf>,
}

/// The type of the file systems of `octavo emulate` in mount tables. Their
/// source is the device's name.
pub const EMULATED: &str = "fuse.octavo";

/// The extended attribute of such a file system's root that holds an
/// [`EmulatedReading`] as TOML.
pub const EMULATED_COUNTERS: &str = "user.octavo.counters";

fn device_number(raw: u64) -> DeviceNumber {
    DeviceNumber {
        major: libc::major(raw),
        minor: libc::minor(raw),
    }
}

/// What an emulated device tells of itself while it is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmulatedReading {
    /// Nanoseconds since it was mounted, in the device's time: with a time
    /// scale of 10, a tenth of the clock's.
    pub elapsed_ns: u64,
    /// What it has done since.
    pub counters: Counters,
    /// What it draws; `None` where that is not known.
    pub draw: Option<Draw>,
}

impl EmulatedReading {
    /// What the device took since `earlier`; `None` where its power is not
    /// known, or another device was mounted meanwhile.
    pub fn energy_since(&self, earlier: &Self) -> Option<Energy> {
        let elapsed_ns = self.elapsed_ns.checked_sub(earlier.elapsed_ns)?;
        let busy_ns = self
            .counters
            .busy_ns
            .checked_sub(earlier.counters.busy_ns)?;
        let draw = self.draw.filter(|_| self.draw == earlier.draw)?;
        Some(draw.energy(Duration::from_nanos(elapsed_ns), busy_ns))
    }
}

impl Location {
    /// The facts about the storage under `path`, or under its nearest
    /// ancestor that exists. Facts that cannot be read are `None`.
    pub fn find(path: &Path) -> Self {
        let mut location = Self::default();
        let Some(existing) = path
            .ancestors()
            .map(|ancestor| {
                if ancestor.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    ancestor
                }
            })
            .find_map(|ancestor| ancestor.canonicalize().ok())
        else {
            return location;
        };
        let mount = fs::read("/proc/thread-self/mountinfo")
            .ok()
            .and_then(|table| holding(&existing, &table));
        let mut number = fs::metadata(&existing)
            .ok()
            .map(|metadata| device_number(metadata.dev()));
        if let Some(mount) = mount {
            // btrfs and others give files a device number that no device has
            // (major 0); the mounted source is a device all the same.
            if number.is_none_or(|number| number.major == 0) {
                number = fs::metadata(&mount.source)
                    .ok()
                    .map(|metadata| device_number(metadata.rdev()))
                    .filter(|number| number.major != 0);
            }
            if mount.file_system == EMULATED {
                location.facts.device = Some(mount.source.to_string_lossy().into_owned());
                location.facts.device_driver = Some("octavo emulate".to_owned());
                location.emulated_at = Some(mount.point);
                number = None;
            }
            location.facts.file_system = Some(mount.file_system);
            location.facts.file_system_block_bytes =
                statvfs(&existing).ok().map(|about| about.f_bsize);
            location.facts.mount_options =
                Some(format!("{}; {}", mount.options, mount.own_options));
        }
        if let Some(number) = number {
            add_device(&mut location.facts, number, Path::new("/sys/dev/block"));
        }
        location
    }

    /// Whether `octavo emulate` stands in for the device.
    pub fn is_emulated(&self) -> bool {
        self.emulated_at.is_some()
    }

    /// What an emulated device tells of itself; `None` of real ones.
    pub fn emulated_reading(&self) -> Option<EmulatedReading> {
        let mut text = vec![0; 4096];
        let at = self.emulated_at.as_ref()?;
        let length = rustix::fs::getxattr(at, EMULATED_COUNTERS, &mut text).ok()?;
        toml::from_str(str::from_utf8(text.get(..length)?).ok()?).ok()
    }

    /// What a real device has done since it appeared, from /proc/diskstats: its
    /// reads and writes, after the kernel merged neighbours, and its flushes (0
    /// before Linux 5.5), those of every other program too. `None` when the
    /// device is unknown.
    pub fn disk_stats(&self) -> Option<Counters> {
        let table = fs::read_to_string("/proc/diskstats").ok()?;
        parse_disk_stats(&table, self.facts.device_number?)
    }
}

/// Adds what `registry` (/sys/dev/block) tells of a device.
fn add_device(facts: &mut StorageFacts, number: DeviceNumber, registry: &Path) {
    let link = registry.join(format!("{}:{}", number.major, number.minor));
    let Ok(own) = link.canonicalize() else {
        return;
    };
    let whole = whole(&own);
    let fact = |file: &str| text(&whole.join(file));
    let count = |file: &str| fact(file)?.parse::<u64>().ok();
    facts.device_number = Some(number);
    facts.device = name(&own);
    facts.whole_device = name(whole);
    facts.model = fact("device/model");
    facts.vendor = fact("device/vendor").filter(|vendor| !vendor.starts_with("0x"));
    facts.firmware = firmware(whole);
    // NVMe has its controller between the disk and the device on the bus.
    facts.device_driver = ["device/driver", "device/device/driver"]
        .into_iter()
        .find_map(|link| name(&fs::read_link(whole.join(link)).ok()?));
    facts.stack = is_made(whole).then(|| stack(&own, 0));
    facts.scheduler = fact("queue/scheduler").map(|line| chosen(&line).to_owned());
    facts.queue_requests = count("queue/nr_requests");
    facts.read_ahead_kib = count("queue/read_ahead_kb");
    facts.logical_block_bytes = count("queue/logical_block_size");
    facts.physical_block_bytes = count("queue/physical_block_size");
    facts.atomic_write_bytes = count("queue/atomic_write_unit_max_bytes");
    facts.offset_bytes = Some(offset(&own));
    facts.rotational = count("queue/rotational").map(|flag| flag != 0);
    facts.write_cache = fact("queue/write_cache");
    facts.discard = count("queue/discard_max_bytes").map(|bytes| bytes > 0);
}

/// Where a device begins on what it is a part of, in bytes.
fn offset(own: &Path) -> u64 {
    let count = |file: &str| text(&own.join(file))?.parse::<u64>().ok();
    // Partitions tell sectors, loop devices bytes of their file.
    let of_partition = count("start").map(|sectors| sectors.saturating_mul(SECTOR_BYTES));
    of_partition.or_else(|| count("loop/offset")).unwrap_or(0)
}

/// The scheduler in brackets of a line like `none [mq-deadline] bfq`.
fn chosen(line: &str) -> &str {
    line.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(line, |(name, _)| name)
}

/// The directory in /sys of the whole device that a partition is of.
fn whole(own: &Path) -> &Path {
    match own.parent() {
        Some(parent) if own.join("partition").exists() => parent,
        _ => own,
    }
}

fn name(path: &Path) -> Option<String> {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
}

/// A file's text without blanks around; `None` when there is none. Models
/// may hold bytes that are no text.
fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// SCSI calls it `rev`, NVMe `firmware_rev`, eMMC `fwrev`.
fn firmware(whole: &Path) -> Option<String> {
    ["device/firmware_rev", "device/rev", "device/fwrev"]
        .into_iter()
        .find_map(|file| text(&whole.join(file)))
}

/// Whether the kernel makes the device of others or of a file.
fn is_made(whole: &Path) -> bool {
    ["dm", "md", "loop"]
        .into_iter()
        .any(|directory| whole.join(directory).is_dir())
        || !below(whole).is_empty()
}

/// The devices that a device is made of, as their directories in /sys, by
/// name.
fn below(whole: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(whole.join("slaves")) else {
        return Vec::new();
    };
    let mut devices: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok()?.path().canonicalize().ok())
        .collect();
    devices.sort();
    devices
}

/// Deeper than any sensible stack, should /sys have a circle.
const STACK_DEPTH_MAX: usize = 8;

/// A device in words, with those that it is made of: `dm-0 (LVM vg-data) on
/// md0 (raid1) on [sda1 (model), sdb1 (model)]`.
fn stack(own: &Path, depth: usize) -> String {
    let whole = whole(own);
    let mut words = name(own).unwrap_or_default();
    if let Some(kind) = kind(whole) {
        words = format!("{words} ({kind})");
    }
    let below = below(whole);
    if depth == STACK_DEPTH_MAX || below.is_empty() {
        return words;
    }
    let parts: Vec<String> = below
        .iter()
        .map(|device| stack(device, depth + 1))
        .collect();
    match parts.as_slice() {
        [part] => format!("{words} on {part}"),
        _ => format!("{words} on [{}]", parts.join(", ")),
    }
}

fn kind(whole: &Path) -> Option<String> {
    let fact = |file: &str| text(&whole.join(file));
    if let Some(mapped) = fact("dm/name") {
        // What made a mapping begins its uuid, like "LVM-" or "CRYPT-LUKS2-".
        let maker = fact("dm/uuid")
            .and_then(|uuid| Some(uuid.split_once('-')?.0.to_owned()))
            .unwrap_or_else(|| "device mapper".into());
        return Some(format!("{maker} {mapped}"));
    }
    if let Some(level) = fact("md/level") {
        return Some(level);
    }
    if let Some(file) = fact("loop/backing_file") {
        return Some(format!("file {file}"));
    }
    let model = fact("device/model")?;
    Some(match firmware(whole) {
        Some(firmware) => format!("{model}, firmware {firmware}"),
        None => model,
    })
}

/// The mount with the longest mount point above `path`; of several on the same
/// point the last, which hides the others.
fn holding(path: &Path, table: &[u8]) -> Option<Mount> {
    // Of equals the last is taken.
    mounts(table)
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.as_os_str().len())
}

/// The unit of /proc/diskstats and of partitions in /sys, whatever the device's own sector.
const SECTOR_BYTES: u64 = 512;

fn parse_disk_stats(table: &str, number: DeviceNumber) -> Option<Counters> {
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
        if field(0)? != u64::from(number.major) || field(1)? != u64::from(number.minor) {
            return None;
        }
        Some(Counters {
            reads: field(3)?,
            read_bytes: field(5)?.saturating_mul(SECTOR_BYTES),
            writes: field(7)?,
            written_bytes: field(9)?.saturating_mul(SECTOR_BYTES),
            flushes: field(18).unwrap_or(0),
            ..Counters::default()
        })
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let table = b"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n\
            30 22 0:25 / /my\\040data rw - tmpfs none rw,size=1g\n\
            31 22 254:16 / /my\\040data rw,noatime - xfs /dev/vdb rw\n\
            broken line\n";
        let mount = holding(Path::new("/my data/x"), table).unwrap();
        assert_eq!(mount.file_system, "xfs");
        assert_eq!(mount.source, Path::new("/dev/vdb"));
        assert_eq!((&*mount.options, &*mount.own_options), ("rw,noatime", "rw"));
        let mount = holding(Path::new("/my"), table).unwrap();
        assert_eq!(mount.file_system, "ext4");
        assert_eq!(mount.options, "rw,relatime");
        assert_eq!(mount.own_options, "rw,discard");
    }

    #[test]
    fn counters_are_found_by_number() {
        let table = "   7 0 loop0 1 0 2 0 0 0 0 0 0 0 0\n \
             254 0 vda 10 1 80 5 20 2 400 9 0 8 14 3 0 512 4 6 7\n";
        let vda = DeviceNumber {
            major: 254,
            minor: 0,
        };
        let stats = parse_disk_stats(table, vda).unwrap();
        assert_eq!(
            stats,
            Counters {
                reads: 10,
                read_bytes: 40960,
                writes: 20,
                written_bytes: 204_800,
                flushes: 6,
                ..Counters::default()
            }
        );
        let old = parse_disk_stats(table, DeviceNumber { major: 7, minor: 0 }).unwrap();
        assert_eq!((old.read_bytes, old.flushes), (1024, 0));
        assert!(parse_disk_stats("254 0 vda 1", vda).is_none());
    }

    #[test]
    fn a_partition_has_its_parents_facts() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("sda");
        fs::create_dir_all(disk.join("sda1")).unwrap();
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::write(disk.join("sda1/partition"), "1\n").unwrap();
        fs::write(disk.join("sda1/start"), "63\n").unwrap();
        fs::write(disk.join("queue/scheduler"), "none [bfq]\n").unwrap();
        fs::write(disk.join("queue/rotational"), "0\n").unwrap();
        symlink(disk.join("sda1"), root.path().join("8:1")).unwrap();
        let location = location(root.path(), 8, 1);
        assert_eq!(location.device.as_deref(), Some("sda1"));
        assert_eq!(location.whole_device.as_deref(), Some("sda"));
        assert_eq!(location.scheduler.as_deref(), Some("bfq"));
        // As of old partitions, which begin after 63 sectors.
        assert_eq!(location.offset_bytes, Some(32_256));
        assert_eq!(location.rotational, Some(false));
        assert_eq!(location.write_cache, None);
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn location(registry: &Path, major: u32, minor: u32) -> StorageFacts {
        let mut facts = StorageFacts::default();
        add_device(&mut facts, DeviceNumber { major, minor }, registry);
        facts
    }

    #[test]
    fn an_nvme_disk_has_its_controllers_facts() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("nvme0n1");
        for (file, content) in [
            ("device/model", "Samsung SSD 980 PRO 1TB                 \n"),
            ("device/firmware_rev", "5B2QGXA7\n"),
            ("device/vendor", "0x144d\n"),
            ("queue/nr_requests", "1023\n"),
            ("queue/discard_max_bytes", "2199023255040\n"),
            ("queue/write_cache", "write back\n"),
            ("queue/scheduler", "[none] mq-deadline\n"),
        ] {
            write(&disk.join(file), content);
        }
        fs::create_dir_all(disk.join("device/device")).unwrap();
        symlink(
            "../../../../bus/pci/drivers/nvme",
            disk.join("device/device/driver"),
        )
        .unwrap();
        symlink(&disk, root.path().join("259:0")).unwrap();
        let location = location(root.path(), 259, 0);
        assert_eq!(location.model.as_deref(), Some("Samsung SSD 980 PRO 1TB"));
        assert_eq!(location.firmware.as_deref(), Some("5B2QGXA7"));
        assert_eq!(location.vendor, None);
        assert_eq!(location.device_driver.as_deref(), Some("nvme"));
        assert_eq!(location.queue_requests, Some(1023));
        assert_eq!(location.discard, Some(true));
        assert_eq!(location.stack, None);
        assert!(location.known().contains(&("firmware", "5B2QGXA7".into())));
    }

    #[test]
    fn a_stack_names_what_it_is_made_of() {
        let root = tempfile::tempdir().unwrap();
        let device = |name: &str| root.path().join(name);
        write(&device("dm-0/dm/name"), "vg-data\n");
        write(&device("dm-0/dm/uuid"), "LVM-abcdef\n");
        write(&device("dm-1/dm/name"), "secret\n");
        write(&device("dm-1/dm/uuid"), "CRYPT-LUKS2-0123-secret\n");
        write(&device("md0/md/level"), "raid1\n");
        for (disk, model) in [("sda", "ST4000"), ("sdb", "ST8000")] {
            write(&device(disk).join("device/model"), model);
            write(&device(disk).join("device/rev"), "SN01\n");
            write(&device(disk).join(format!("{disk}1/partition")), "1\n");
        }
        write(&device("loop0/loop/backing_file"), "/data/disk.img\n");
        write(&device("loop0/loop/offset"), "512\n");
        for (above, below, path) in [
            ("dm-0", "dm-1", "dm-1"),
            ("dm-1", "md0", "md0"),
            ("md0", "sdb1", "sdb/sdb1"),
            ("md0", "sda1", "sda/sda1"),
        ] {
            fs::create_dir_all(device(above).join("slaves")).unwrap();
            symlink(device(path), device(above).join("slaves").join(below)).unwrap();
        }
        symlink(device("dm-0"), root.path().join("253:0")).unwrap();
        symlink(device("loop0"), root.path().join("7:0")).unwrap();
        assert_eq!(
            location(root.path(), 253, 0).stack.as_deref(),
            Some(
                "dm-0 (LVM vg-data) on dm-1 (CRYPT secret) on md0 (raid1) on \
                 [sda1 (ST4000, firmware SN01), sdb1 (ST8000, firmware SN01)]"
            )
        );
        assert_eq!(
            location(root.path(), 7, 0).stack.as_deref(),
            Some("loop0 (file /data/disk.img)")
        );
        assert_eq!(location(root.path(), 7, 0).offset_bytes, Some(512));
        // A circle ends.
        fs::create_dir_all(device("sda/slaves")).unwrap();
        symlink(device("dm-0"), device("sda/slaves/dm-0")).unwrap();
        let circle = location(root.path(), 253, 0).stack.unwrap();
        assert_eq!(circle.matches("dm-0").count(), 3, "{circle}");
    }

    #[test]
    fn odd_files_of_a_device_leave_facts_out() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("sda");
        for file in ["nr_requests", "discard_max_bytes", "rotational"] {
            write(&disk.join("queue").join(file), "many\n");
        }
        write(&disk.join("device/rev"), " \n");
        fs::create_dir_all(disk.join("device")).unwrap();
        fs::write(disk.join("device/model"), b"SSD \xff 1\n").unwrap();
        symlink(&disk, root.path().join("8:0")).unwrap();
        let location = location(root.path(), 8, 0);
        assert_eq!(location.model.as_deref(), Some("SSD \u{fffd} 1"));
        assert_eq!(
            (location.queue_requests, location.discard, location.firmware),
            (None, None, None)
        );
        assert_eq!(location.rotational, None);
        assert_eq!(location.device_driver, None);
    }

    #[test]
    fn a_path_that_does_not_exist_yet_has_its_parents_facts() {
        let directory = tempfile::tempdir().unwrap();
        let here = Location::find(directory.path());
        assert!(here.facts.file_system.is_some());
        assert_eq!(Location::find(&directory.path().join("a/b")), here);
    }
}
