//! Whether this machine is a virtual one, or a container on one.
//!
//! Containers and hypervisors do not have to show themselves: "no" means that
//! none of the usual traces was found.

use std::{fs, path::Path};

use super::source::{cpuinfo, text};

/// `no`, `yes`, or `yes, ` and what the hypervisor is called.
///
/// On x86 the CPU tells (CPUID leaf 1, ECX bit 31, `hypervisor` in
/// /proc/cpuinfo); elsewhere the firmware's tables and the device tree do.
/// Xen's first domain (`control_d`) is a guest that has the hardware.
pub(super) fn virtual_machine(root: &Path) -> String {
    let info = text(root, "proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo(&info, "flags").next();
    let first_domain = text(root, "proc/xen/capabilities")
        .is_some_and(|capabilities| capabilities.contains("control_d"));
    let name = hypervisor(root);
    let guest = match flags {
        _ if first_domain => false,
        Some(flags) => flags.split(' ').any(|flag| flag == "hypervisor"),
        None => name.is_some(),
    };
    match name {
        _ if !guest => "no".into(),
        None => "yes".into(),
        Some(name) => format!("yes, {name}"),
    }
}

/// What firmware says of the maker and the product, like `Dell Inc. PowerEdge
/// R740`. Placeholders of board makers are taken as they are.
pub(super) fn hardware(root: &Path) -> Option<String> {
    let dmi = |file: &str| text(root, &format!("sys/class/dmi/id/{file}"));
    match (dmi("sys_vendor"), dmi("product_name")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (one, other) => one.or(other),
    }
    // Ends with a NUL byte.
    .or_else(|| {
        let model = text(root, "proc/device-tree/model")?;
        Some(model.trim_end_matches('\0').to_owned())
    })
}

/// Words in the firmware's tables that only virtual machines have, and what
/// they mean; of systemd's `src/basic/virt.c` (`detect_vm_dmi_vendor`).
const FIRMWARE: [(&str, &str); 12] = [
    ("KVM", "KVM"),
    ("OpenStack", "KVM"),
    ("KubeVirt", "KVM"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("QEMU", "QEMU"),
    ("VMware", "VMware"),
    ("VMW", "VMware"),
    ("innotek GmbH", "VirtualBox"),
    ("VirtualBox", "VirtualBox"),
    ("Xen", "Xen"),
    ("Parallels", "Parallels"),
];

fn hypervisor(root: &Path) -> Option<String> {
    if let Some(kind) = text(root, "sys/hypervisor/type") {
        return Some(kind);
    }
    let dmi = |file: &str| text(root, &format!("sys/class/dmi/id/{file}")).unwrap_or_default();
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    // Microsoft also makes hardware, and Amazon rents whole machines.
    if vendor == "Microsoft Corporation" && product == "Virtual Machine" {
        return Some("Hyper-V".into());
    }
    if !product.ends_with(".metal") {
        let tables = [vendor, product, dmi("board_vendor"), dmi("bios_vendor")];
        for (word, name) in FIRMWARE {
            if tables.iter().any(|table| table.contains(word)) {
                return Some(name.into());
            }
        }
    }
    if let Some(tree) = text(root, "proc/device-tree/hypervisor/compatible") {
        return Some(match tree.trim_end_matches('\0') {
            "linux,kvm" => "KVM".into(),
            other => other.replace('\0', " "),
        });
    }
    // Small hypervisors like Firecracker have no firmware, but a clock.
    let clocks = text(
        root,
        "sys/devices/system/clocksource/clocksource0/available_clocksource",
    )?;
    clocks.split(' ').find_map(|clock| {
        Some(
            match clock {
                "kvm-clock" => "KVM",
                "xen" => "Xen",
                _ if clock.starts_with("hyperv") => "Hyper-V",
                _ => return None,
            }
            .into(),
        )
    })
}

/// Traces of containers in the path of a control group.
const GROUPS: [(&str, &str); 7] = [
    ("kubepods", "kubernetes"),
    ("/docker", "docker"),
    ("libpod", "podman"),
    ("/lxc", "lxc"),
    (".slice/machine-", "systemd-nspawn"),
    ("/ecs/", "ecs"),
    ("/containerd", "containerd"),
];

/// The cgroup namespace that exists from boot (`PROC_CGROUP_INIT_INO` in
/// `include/linux/proc_ns.h`).
const FIRST_CGROUP_NAMESPACE: &str = "cgroup:[4026531835]";

/// `no`, or what runs the container.
pub(super) fn container(root: &Path) -> String {
    let groups = text(root, "proc/self/cgroup").unwrap_or_default();
    if let Some((_, name)) = GROUPS.iter().find(|(trace, _)| groups.contains(trace)) {
        return (*name).to_owned();
    }
    if root.join("run/.containerenv").exists() {
        return "podman".into();
    }
    if root.join(".dockerenv").exists() {
        return "docker".into();
    }
    if let Some(name) = text(root, "run/systemd/container") {
        return name;
    }
    // Last, and only this one variable: it is another process's environment,
    // which only the superuser may read.
    if let Some(name) = text(root, "proc/1/environ").and_then(|environment| {
        environment
            .split('\0')
            .find_map(|variable| variable.strip_prefix("container="))
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
    }) {
        return name;
    }
    let namespace = fs::read_link(root.join("proc/self/ns/cgroup"));
    match namespace {
        Ok(namespace) if namespace != Path::new(FIRST_CGROUP_NAMESPACE) => {
            "yes, by its control group namespace".into()
        }
        _ => "no".into(),
    }
}
