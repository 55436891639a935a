//! Flags of the commands about storage: calibrate, devices and emulate.

use std::{num::NonZeroU32, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use octavo_device::point::PointSpec;
use octavo_emulate::Faults;
use octavo_storage::file_system::FileSystem;
use octavo_units::{ByteCount, RequestSize};

use super::shared::{DeviceFlag, SeedFlag, device_help, directory};
use crate::{print::FormatFlag, progress::ProgressFlags};

/// The device that a command is about.
#[derive(Debug, Args)]
pub(crate) struct EntryArgument {
    /// A name that octavo devices lists, or the path of a file
    pub(crate) device: String,
}

/// Flags of commands that measure or simulate storage for a while.
#[derive(Debug, Args)]
pub(crate) struct SimulationFlags {
    #[command(flatten)]
    pub(crate) random: SeedFlag,

    #[command(flatten)]
    pub(crate) format: FormatFlag,

    #[command(flatten)]
    pub(crate) progress: ProgressFlags,
}

#[derive(Debug, Args)]
#[command(mut_arg("device", |flag| {
    device_help(flag, "Measure the model of this device instead")
        .conflicts_with_all(["directory", "engine"])
}))]
pub(crate) struct CalibrateFlags {
    /// A directory on the storage to measure. A file is made there, and removed
    #[arg(required_unless_present = "device", value_parser = directory())]
    pub(crate) directory: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) device: DeviceFlag,

    /// Make this file system in a file in the directory, and measure in it,
    /// like ext4:4K,offset=512 (docs/file-systems.md); takes root's rights
    #[arg(long, value_name = "FILE_SYSTEM", conflicts_with = "device")]
    pub(crate) file_system: Option<FileSystem>,

    /// Measure this instead of the usual points, like 'random read 8K, depth
    /// 32, range 1GiB'; may be repeated
    ///
    /// Append ', shifted 512' to begin requests 512 bytes past multiples of
    /// their size.
    #[arg(long, value_name = "POINT", conflicts_with_all = ["quick", "full"])]
    pub(crate) point: Vec<PointSpec>,

    /// The important points in under 60 seconds (the default)
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,

    /// The whole grid, each point until it is steady
    #[arg(long)]
    pub(crate) full: bool,

    /// Passes over all points, for shared storage. Their medians count
    #[arg(long, value_name = "N", default_value_t = NonZeroU32::MIN, conflicts_with = "device")]
    pub(crate) passes: NonZeroU32,

    /// Size of the file to measure on [default: 1 GiB, with --full 8 GiB], or
    /// the range of a device [default: 16 GiB, or all of a smaller one]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<ByteCount>,

    /// I/O engine
    #[arg(long, value_name = "NAME", value_enum, default_value_t = EngineName::Auto, hide_short_help = true)]
    pub(crate) engine: EngineName,

    /// Write the device profile (TOML) to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) simulation: SimulationFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// io_uring, or threads where it is not allowed
    Auto,
    /// io_uring only
    IoUring,
    /// One thread with pread and pwrite for each request in flight
    Threads,
}

#[derive(Debug, Args)]
pub(crate) struct DevicesFlags {
    #[command(subcommand)]
    pub(crate) command: Option<DevicesCommand>,

    /// List machines instead, with their power and its sources, for octavo
    /// predict --machine
    #[arg(long)]
    pub(crate) machines: bool,

    #[command(flatten)]
    pub(crate) format: FormatFlag,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DevicesCommand {
    /// Show a device's parameters with their sources
    Show(ShowFlags),
    /// Fit a model to calibrated storage: a twin of your disk
    Fit(FitFlags),
}

#[derive(Debug, Args)]
pub(crate) struct ShowFlags {
    #[command(flatten)]
    pub(crate) entry: EntryArgument,

    /// Print the entry as it is written, to copy and change
    #[arg(long, conflicts_with = "json")]
    pub(crate) toml: bool,

    #[command(flatten)]
    pub(crate) simulation: SimulationFlags,
}

#[derive(Debug, Args)]
pub(crate) struct FitFlags {
    /// A device profile, as octavo calibrate --output writes it
    pub(crate) profile: PathBuf,

    /// Name of the twin [default: the profile's name without its ending]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Write the twin to this file, which then works as a device
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) simulation: SimulationFlags,
}

#[derive(Debug, Args)]
#[command(mut_arg("json", |flag| flag.help("Print statistics as JSON when it is unmounted")))]
pub(crate) struct EmulateFlags {
    #[command(flatten)]
    pub(crate) entry: EntryArgument,

    /// Where files are stored: a new or empty directory, or one of an earlier emulation. It is
    /// kept. Use storage that is faster than the device
    #[arg(long, value_name = "DIR")]
    pub(crate) backing: PathBuf,

    /// Mount point: an empty directory, created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) mount: PathBuf,

    /// Slow time down by this factor, for devices that are too fast for this machine
    #[arg(long, value_name = "F", default_value_t = 1.0, hide_short_help = true)]
    pub(crate) time_scale: f64,

    /// Do not sync --backing when programs sync. They wait for the device alone, and a crash of
    /// this machine can lose synced data
    #[arg(long, hide_short_help = true)]
    pub(crate) volatile_backing: bool,

    /// Faults to inject, such as cut=5000,lose=1/2,tear=1/4 or eio=write:50:3;
    /// docs/emulation.md lists all
    #[arg(long, value_name = "SPEC")]
    pub(crate) faults: Option<Faults>,

    /// Begin with a device that has had long random writes of this size [default: a new one]
    #[arg(long, value_name = "SIZE")]
    pub(crate) precondition: Option<RequestSize>,

    /// Range of these writes, from the device's start [default: 16 GiB, or all of a smaller
    /// device]
    #[arg(
        long,
        value_name = "SIZE",
        requires = "precondition",
        hide_short_help = true
    )]
    pub(crate) precondition_range: Option<ByteCount>,

    /// Unmount and end with the parent process
    #[arg(long, hide_short_help = true)]
    pub(crate) end_with_parent: bool,

    #[command(flatten)]
    pub(crate) random: SeedFlag,

    #[command(flatten)]
    pub(crate) format: FormatFlag,
}

#[derive(Debug, Args)]
pub(crate) struct HoldFlags {
    /// Which file system
    pub(crate) file_system: FileSystem,

    /// Of its file, where that is not there yet
    #[arg(long)]
    pub(crate) size: ByteCount,

    /// The directory of its file
    #[arg(long)]
    pub(crate) backing: PathBuf,

    /// Where to mount it
    #[arg(long)]
    pub(crate) mount: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct LeadFlags {
    /// Where the device is mounted
    pub(crate) mount: PathBuf,

    /// The process that mounted it, which starts this one
    pub(crate) emulator: i32,
}
