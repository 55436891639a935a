//! What is known of storage: its file system and the block device below. A
//! profile carries these facts; reading them from the system is not done here.

use octavo_units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The facts about the storage under a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StorageFacts {
    /// Type of the file system, like `ext4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// Its unit of allocation as statvfs(3) tells it (`f_bsize`), in bytes: ext4's and XFS's block,
    /// ZFS's record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system_block_bytes: Option<u64>,
    /// Mount options, those of the mount before those of the file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_options: Option<String>,
    /// Name of the block device that holds the file system, perhaps a
    /// partition, like `nvme0n1p2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Name of the whole device: the partition's parent, or the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_device: Option<String>,
    /// The device's model as it states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The maker of a SCSI device; virtual and NVMe devices have a number
    /// there, which is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// The revision of the device's firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// The kernel's driver of the device, like `nvme` or `virtio_blk`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_driver: Option<String>,
    /// What a device that the kernel puts together is made of, from the top:
    /// device mapper (with LVM and encryption), software RAID, files. `None`
    /// for any other device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The I/O scheduler in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Requests that the scheduler's queue holds, for reads and for writes
    /// each (`nr_requests`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_requests: Option<u64>,
    /// Read-ahead of buffered reads in KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ahead_kib: Option<u64>,
    /// The smallest request that the device takes, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_block_bytes: Option<u64>,
    /// The unit that the device says it writes without reading, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_block_bytes: Option<u64>,
    /// The largest write that the device says it does whole or not at all, in bytes; 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomic_write_bytes: Option<u64>,
    /// Where the partition, or the part of a file that a loop device has, begins on what it is part of,
    /// in bytes; 0 of whole devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_bytes: Option<u64>,
    /// Whether the device calls itself rotating. Virtual disks often do,
    /// whatever they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// `write back` when the device has a volatile cache that must be
    /// flushed, `write through` when not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// Whether the device can be told that blocks are no longer used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discard: Option<bool>,
    /// Major and minor number of `device`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_number: Option<DeviceNumber>,
}

/// A block device's major and minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct DeviceNumber {
    /// The major number: which driver.
    pub major: u32,
    /// The minor number: which device of that driver.
    pub minor: u32,
}

/// The block of a device across whose ends pages lie on a file system that begins at `offset`: of
/// 4 KiB, which flash pages and the sectors of disks since 2011 (Advanced Format) have or exceed
/// whatever a device says, or what it says if that is more. `None` where the file system begins with
/// a block.
pub fn misaligned_block(offset: ByteCount, physical: Option<ByteCount>) -> Option<ByteCount> {
    let block = physical.unwrap_or_default().max(ByteCount::kib(4));
    (!offset.get().is_multiple_of(block.get())).then_some(block)
}

impl StorageFacts {
    /// The known facts as names and values, for a store or a table.
    pub fn known(&self) -> Vec<(&'static str, String)> {
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        [
            ("file_system", self.file_system.clone()),
            (
                "file_system_block_bytes",
                number(self.file_system_block_bytes),
            ),
            ("mount_options", self.mount_options.clone()),
            ("device", self.device.clone()),
            ("whole_device", self.whole_device.clone()),
            ("model", self.model.clone()),
            ("vendor", self.vendor.clone()),
            ("firmware", self.firmware.clone()),
            ("device_driver", self.device_driver.clone()),
            ("stack", self.stack.clone()),
            ("scheduler", self.scheduler.clone()),
            ("queue_requests", number(self.queue_requests)),
            ("read_ahead_kib", number(self.read_ahead_kib)),
            ("logical_block_bytes", number(self.logical_block_bytes)),
            ("physical_block_bytes", number(self.physical_block_bytes)),
            ("atomic_write_bytes", number(self.atomic_write_bytes)),
            ("offset_bytes", number(self.offset_bytes)),
            ("rotational", self.rotational.map(|flag| flag.to_string())),
            ("write_cache", self.write_cache.clone()),
            ("discard", self.discard.map(|flag| flag.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }
}
