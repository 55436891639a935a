//! Facts from recorded files of several kinds of machines.

use std::{fs, os::unix::fs::symlink, path::Path};

use octavo_units::ByteCount;

use super::*;

fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in files {
        write(root.path(), path, content);
    }
    root
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn fact(root: &Path, name: &str) -> Option<String> {
    describe_below(root)
        .into_iter()
        .find_map(|(other, value)| (other == name).then_some(value))
}

#[track_caller]
fn assert_facts(root: &Path, wanted: &[(&str, &str)]) {
    for (name, value) in wanted {
        assert_eq!(fact(root, name).as_deref(), Some(*value), "{name}");
    }
}

/// A server with two sockets of two cores of two threads, the last thread
/// off.
fn bare_metal() -> tempfile::TempDir {
    let root = machine(&[
        (
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n\
             model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\n\
             flags\t\t: fpu vme de pse tsc msr ssse3 hle arat\n",
        ),
        (
            "proc/meminfo",
            "MemTotal:       263812344 kB\nMemFree:        1 kB\n",
        ),
        (
            "proc/swaps",
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
             /dev/sda3                               partition\t8388604\t\t1234\t\t-2\n",
        ),
        (
            "proc/self/status",
            "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-127\n",
        ),
        (
            "proc/self/cgroup",
            "0::/user.slice/user-1000.slice/session-3.scope\n",
        ),
        (
            "proc/self/mountinfo",
            "23 27 0:22 / /sys rw,relatime - sysfs sysfs rw\n\
             24 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
        ),
        ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
        ("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
        ("sys/devices/system/cpu/online", "0-6\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ("sys/devices/system/node/online", "0-1\n"),
        ("sys/class/dmi/id/sys_vendor", "Dell Inc.\n"),
        ("sys/class/dmi/id/product_name", "PowerEdge R650\n"),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc\n",
        ),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never\n",
        ),
    ]);
    for cpu in 0..7 {
        let below = |file: &str| format!("sys/devices/system/cpu/cpu{cpu}/{file}");
        let put = |file: &str, value: &str| write(root.path(), &below(file), value);
        put("topology/physical_package_id", &format!("{}\n", cpu / 4));
        let first = cpu / 2 * 2;
        put(
            "topology/core_cpus_list",
            &format!("{first}-{}\n", first + 1),
        );
        let governor = if cpu < 5 { "performance" } else { "powersave" };
        put("cpufreq/scaling_governor", governor);
        put("cpufreq/energy_performance_preference", "performance\n");
        put("cpufreq/scaling_driver", "intel_pstate\n");
        put("cpufreq/cpuinfo_min_freq", "800000\n");
        put("cpufreq/cpuinfo_max_freq", "3200000\n");
        put("cpufreq/scaling_min_freq", "800000\n");
        put("cpufreq/scaling_max_freq", "2000000\n");
    }
    write(root.path(), "sys/devices/system/cpu/cpu7/online", "0\n");
    root
}

#[test]
fn a_server_is_described() {
    let root = bare_metal();
    assert_facts(
        root.path(),
        &[
            ("cpu", "7 x Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"),
            ("cpu topology", "2 sockets, 4 cores, 7 threads"),
            ("cpu governor", "performance on 5 CPUs, powersave on 2 CPUs"),
            ("cpu energy preference", "performance"),
            ("cpu frequency driver", "intel_pstate"),
            ("cpu boost", "off"),
            (
                "cpu frequency",
                "800 to 3200 MHz, allowed are 800 to 2000 MHz",
            ),
            ("clock source", "tsc"),
            ("memory", "251.6 GiB"),
            ("swap", "8.0 GiB on /dev/sda3"),
            ("transparent huge pages", "always"),
            ("numa nodes", "2"),
            ("hardware", "Dell Inc. PowerEdge R650"),
            ("virtual machine", "no"),
            ("container", "no"),
            ("energy counters", "not reported by this machine"),
            ("cpu limit", "none"),
            ("memory limit", "none"),
        ],
    );
    // All CPUs that are there may be used.
    assert_eq!(fact(root.path(), "cpus allowed"), None);
}

#[test]
fn a_narrower_affinity_is_told() {
    let root = bare_metal();
    write(
        root.path(),
        "proc/self/status",
        "Cpus_allowed_list:\t2-3,6\n",
    );
    assert_facts(root.path(), &[("cpus allowed", "3 of 7: 2-3,6")]);
}

const GUEST_CPU: &str = "processor\t: 0\nmodel name\t: AMD EPYC\n\
    flags\t\t: fpu vme hypervisor lahf_lm\n\nprocessor\t: 1\nmodel name\t: AMD EPYC\n";

#[test]
fn a_kvm_guest_is_described() {
    let root = machine(&[
        ("proc/cpuinfo", GUEST_CPU),
        (
            "proc/swaps",
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
        ),
        ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
        (
            "sys/class/dmi/id/product_name",
            "Standard PC (Q35 + ICH9, 2009)\n",
        ),
    ]);
    assert_facts(
        root.path(),
        &[
            ("cpu", "2 x AMD EPYC"),
            ("swap", "none"),
            ("virtual machine", "yes, QEMU"),
            ("hardware", "QEMU Standard PC (Q35 + ICH9, 2009)"),
        ],
    );
    for absent in [
        "cpu governor",
        "cpu boost",
        "cpu limit",
        "memory",
        "numa nodes",
    ] {
        assert_eq!(fact(root.path(), absent), None);
    }
}

#[test]
fn hypervisors_are_known_by_several_traces() {
    let guest = |files: &[(&str, &str)]| {
        let root = machine(files);
        guest::virtual_machine(root.path())
    };
    let cpu = ("proc/cpuinfo", GUEST_CPU);
    let host = ("proc/cpuinfo", "flags\t\t: fpu vme lahf_lm\n");
    let arm = ("proc/cpuinfo", "CPU implementer\t: 0x41\n");
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    // Firecracker.
    assert_eq!(guest(&[cpu, (clocks, "tsc kvm-clock \n")]), "yes, KVM");
    assert_eq!(guest(&[cpu]), "yes");
    assert_eq!(guest(&[cpu, ("sys/hypervisor/type", "xen\n")]), "yes, xen");
    let vendor = |name| ("sys/class/dmi/id/sys_vendor", name);
    let product = |name| ("sys/class/dmi/id/product_name", name);
    let microsoft = vendor("Microsoft Corporation\n");
    assert_eq!(
        guest(&[cpu, microsoft, product("Virtual Machine\n")]),
        "yes, Hyper-V"
    );
    assert_eq!(guest(&[host, microsoft, product("Surface Book\n")]), "no");
    let amazon = vendor("Amazon EC2\n");
    assert_eq!(
        guest(&[arm, amazon, product("m7g.large\n")]),
        "yes, Amazon EC2"
    );
    assert_eq!(guest(&[arm, amazon, product("m7g.metal\n")]), "no");
    assert_eq!(
        guest(&[
            arm,
            ("proc/device-tree/hypervisor/compatible", "linux,kvm\0")
        ]),
        "yes, KVM"
    );
    assert_eq!(guest(&[arm]), "no");
    // Xen's first domain has the hardware and tells of Xen all the same.
    assert_eq!(
        guest(&[
            host,
            ("sys/hypervisor/type", "xen\n"),
            ("proc/xen/capabilities", "control_d\n")
        ]),
        "no"
    );
}

#[test]
fn containers_are_known_by_several_traces() {
    let container = |files: &[(&str, &str)]| guest::container(machine(files).path());
    let groups = |text| ("proc/self/cgroup", text);
    assert_eq!(container(&[(".dockerenv", ""), groups("0::/\n")]), "docker");
    assert_eq!(
        container(&[("run/.containerenv", "engine=\"podman-5.2.0\"\n")]),
        "podman"
    );
    assert_eq!(
        container(&[
            groups("12:cpu,cpuacct:/kubepods/burstable/pod1/2\n"),
            (".dockerenv", "")
        ]),
        "kubernetes"
    );
    assert_eq!(
        container(&[groups("4:memory:/docker/9cda14bb\n")]),
        "docker"
    );
    assert_eq!(
        container(&[("run/systemd/container", "systemd-nspawn\n")]),
        "systemd-nspawn"
    );
    assert_eq!(
        container(&[("proc/1/environ", "PATH=/bin\0container=lxc\0HOME=/\0")]),
        "lxc"
    );
    assert_eq!(
        container(&[("proc/1/environ", "PATH=/bin\0xcontainer=lxc\0")]),
        "no"
    );
    assert_eq!(container(&[groups("0::/init.scope\n")]), "no");
    let namespace = |link: &str| {
        let root = machine(&[groups("0::/\n")]);
        fs::create_dir_all(root.path().join("proc/self/ns")).unwrap();
        symlink(link, root.path().join("proc/self/ns/cgroup")).unwrap();
        guest::container(root.path())
    };
    assert_eq!(namespace("cgroup:[4026531835]"), "no");
    assert_eq!(
        namespace("cgroup:[4026532700]"),
        "yes, by its control group namespace"
    );
}

const VERSION_2: &str = "31 23 0:28 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";

#[test]
fn limits_of_version_2_are_the_narrowest_above() {
    // A container with its own namespace sees its group as the root.
    let root = machine(&[
        ("proc/self/cgroup", "0::/\n"),
        ("proc/self/mountinfo", VERSION_2),
        ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/memory.max", "536870912\n"),
        ("sys/fs/cgroup/memory.high", "max\n"),
        (
            "sys/fs/cgroup/cpu.stat",
            "usage_usec 9\nnr_periods 40\nnr_throttled 7\nthrottled_usec 5\n",
        ),
    ]);
    assert_facts(
        root.path(),
        &[("cpu limit", "1.50 CPUs"), ("memory limit", "512 MiB")],
    );
    let group = cgroup::narrowest_cpu_group(root.path()).unwrap();
    assert_eq!(cgroup::throttling(&group), Some((40, 7)));

    let root = machine(&[
        ("proc/self/cgroup", "0::/a.slice/b.service\n"),
        ("proc/self/mountinfo", VERSION_2),
        ("sys/fs/cgroup/a.slice/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/a.slice/b.service/cpu.max", "200000 100000\n"),
        ("sys/fs/cgroup/a.slice/memory.high", "1073741824\n"),
        ("sys/fs/cgroup/a.slice/b.service/memory.max", "2147483648\n"),
        ("sys/fs/cgroup/a.slice/c.service/memory.max", "1\n"),
    ]);
    assert_facts(
        root.path(),
        &[("cpu limit", "0.50 CPUs"), ("memory limit", "1 GiB")],
    );
    assert_eq!(
        cgroup::narrowest_cpu_group(root.path()),
        Some(root.path().join("sys/fs/cgroup/a.slice"))
    );
}

#[test]
fn limits_of_version_1_are_found_where_its_mounts_show_them() {
    let mounts = |shown: &str| {
        format!(
            "30 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n\
             31 30 0:28 {shown} /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
             32 30 0:29 {shown} /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
             33 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        )
    };
    let groups = "5:cpu,cpuacct:/docker/9cda\n4:memory:/docker/9cda\n1:name=systemd:/x\n0::/\n";
    let limits = |below: &str, shown: &str| {
        let file = |group: &str, name: &str| format!("sys/fs/cgroup/{group}{below}/{name}");
        let root = machine(&[
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", &mounts(shown)),
            (&file("cpu,cpuacct", "cpu.cfs_quota_us"), "250000\n"),
            (&file("cpu,cpuacct", "cpu.cfs_period_us"), "100000\n"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            (&file("memory", "memory.limit_in_bytes"), "67108864\n"),
        ]);
        cgroup::Limits::read(root.path())
    };
    let wanted = cgroup::Limits {
        cpus: Some(2.5),
        memory: Some(ByteCount::mib(64)),
        known: true,
    };
    // From the host, and from in the container, where the group is mounted.
    assert_eq!(limits("/docker/9cda", "/"), wanted);
    assert_eq!(limits("", "/docker/9cda"), wanted);

    let root = machine(&[
        ("proc/self/cgroup", "5:cpu:/\n4:memory:/\n"),
        (
            "proc/self/mountinfo",
            "31 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
        ),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
    ]);
    assert_facts(root.path(), &[("cpu limit", "none")]);
    assert_eq!(cgroup::narrowest_cpu_group(root.path()), None);
}

#[test]
fn odd_files_leave_facts_out() {
    let odd = "\u{0}-\n: :\n,,,[\n0::\n";
    let empty = machine(&[]);
    let names = |root: &Path| -> Vec<_> {
        describe_below(root)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    let known = ["cpu", "virtual machine", "container", "energy counters"];
    assert_eq!(names(empty.path()), known);
    let paths = [
        "proc/cpuinfo",
        "proc/meminfo",
        "proc/self/status",
        "proc/self/cgroup",
        "proc/self/mountinfo",
        "sys/devices/system/cpu/online",
        "sys/devices/system/cpu/cpu0/topology/physical_package_id",
        "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
        "sys/devices/system/cpu/cpufreq/boost",
        "sys/devices/system/node/online",
        "sys/kernel/mm/transparent_hugepage/enabled",
        "sys/class/powercap/intel-rapl:0/name",
    ];
    let files: Vec<(&str, &str)> = paths.iter().map(|path| (*path, odd)).collect();
    let root = machine(&files);
    assert_eq!(names(root.path()), known);
    for path in paths {
        let path = root.path().join(path);
        fs::write(path, [0xff, 0xfe, b'\n', 0x80]).unwrap();
    }
    assert_eq!(names(root.path()), known);
}

#[test]
fn two_descriptions_of_this_machine_are_the_same() {
    let one = describe();
    assert_eq!(one, describe());
    let mut names: Vec<_> = one.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), one.len(), "a name appears twice: {one:?}");
    for (name, value) in &one {
        eprintln!("{name}: {value}");
    }
}
