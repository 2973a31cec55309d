//! Sites that the samples of several checks of guests start from.

use crate::diagnose::check::testing::{Site, fails, says};

/// A guest of the sound site whose kernel has no RDMA device.
pub fn without_rdma(site: Site, name: &str) -> Site {
    let none = "grep: /sys/class/infiniband/*/node_type: No such file or directory\n";
    site.with(name, says("linux.rdma-link", "[]\n"))
        .with(name, says("linux.rdma-dev", "[]\n"))
        .with(name, says("linux.rdma-resources", "[]\n"))
        .with(name, says("linux.queue-pairs", "[]\n"))
        .with(name, fails("linux.device-limits", 255, "No IB devices found\n"))
        .with(name, fails("linux.rdma-sysfs", 2, none))
        .with(
            name,
            fails(
                "linux.rdma-links",
                1,
                "stat: cannot statx '/sys/class/infiniband/*/device': No such file or directory\n",
            ),
        )
        .with(
            name,
            fails("linux.gids", 2, "grep: /sys/class/infiniband/*/ports/*/gids/[0-9]: No such file or directory\n"),
        )
        .with(name, fails("linux.rdma-counters", 2, none))
        .with(
            name,
            fails(
                "linux.rdma-counter-links",
                1,
                "stat: cannot statx '/sys/class/infiniband/*/device': No such file or directory\n",
            ),
        )
        .with(
            name,
            says("linux.verbs-devices", "    device          \t   node GUID\n    ------          \t----------------\n"),
        )
        .with(name, fails("linux.verbs-kernel", 2, none))
}

/// Only these guests of the sound site, and no host.
pub fn only(names: &[&str]) -> Site {
    let all = ["esx01", "esx02", "pv-a", "pv-b", "hca-a", "hca-b", "vf-a"];
    all.iter().filter(|name| !names.contains(name)).fold(Site::sound(), |site, name| site.without_target(name))
}

/// The PVRDMA guest of the sound site with another state of its port.
pub fn port_state(site: Site, name: &str, state: &str, physical: &str, words: (&str, &str)) -> Site {
    site.replacing(name, "linux.rdma-link", "\"ACTIVE\"", &format!("\"{state}\""))
        .replacing(name, "linux.rdma-link", "\"LINK_UP\"", &format!("\"{physical}\""))
        .replacing(name, "linux.rdma-sysfs", "4: ACTIVE", words.0)
        .replacing(name, "linux.rdma-sysfs", "5: LinkUp", words.1)
}

/// A soft-RoCE guest: a KVM machine of a lab with `rxe0` over `eth1`, as real ones print it.
pub fn soft_roce(site: Site, name: &str, last: u8) -> Site {
    let files = SOFT_SYSFS.replace("0111", &format!("01{last:02x}"));
    let gid = format!("c0a8:64{last:02x}");
    let gids = SOFT_GIDS.replace("0111", &format!("01{last:02x}")).replace("c0a8:640a", &gid);
    let netdevs = SOFT_NETDEVS.replace(":11\n", &format!(":{last:02x}\n"));
    let addresses = SOFT_ADDRESSES.replace("192.168.100.10", &format!("192.168.100.{last}"));
    site.guest(
        name,
        &[
            says("linux.rdma-link", SOFT_LINK),
            says("linux.rdma-dev", SOFT_DEV),
            says("linux.rdma-netdev-mtu", "/sys/class/net/eth0/mtu:1500\n/sys/class/net/eth1/mtu:1500\n"),
            says("linux.rdma-sysfs", &files),
            says("linux.rdma-links", "'/sys/class/infiniband'\n"),
            says("linux.gids", &gids),
            fails("linux.gids-to-99", 2, ""),
            fails("linux.gids-rest", 2, ""),
            says("linux.rdma-counters", SOFT_COUNTERS),
            says("linux.rdma-counter-links", "'/sys/class/infiniband'\n"),
            says("linux.netdev-files", &netdevs),
            says("linux.netdev-links", SOFT_NETDEV_LINKS),
            says("linux.ip-addresses", &addresses),
            says(
                "linux.limits-login",
                "/proc/self/limits:Max locked memory         8388608              8388608              bytes     \n",
            ),
            says("linux.limits-launchers", ""),
        ],
    )
}

const SOFT_LINK: &str = "[{\"ifindex\":0,\"ifname\":\"rxe0\",\"port\":1,\"state\":\"ACTIVE\",\"physical_state\":\"LINK_UP\",\"netdev\":\"eth1\",\"netdev_index\":3}]\n";
const SOFT_DEV: &str = "[{\"ifindex\":0,\"ifname\":\"rxe0\",\"node_type\":\"ca\",\"node_guid\":\"5054:00ff:fe00:0111\",\"sys_image_guid\":\"5054:00ff:fe00:0111\",\"adaptive-moderation\":false}]\n";
const SOFT_SYSFS: &str = "/sys/class/infiniband/rxe0/node_type:1: CA\n/sys/class/infiniband/rxe0/node_guid:5054:00ff:fe00:0111\n\
    /sys/class/infiniband/rxe0/parent:eth1\n/sys/class/infiniband/rxe0/ports/1/state:4: ACTIVE\n\
    /sys/class/infiniband/rxe0/ports/1/phys_state:5: LinkUp\n/sys/class/infiniband/rxe0/ports/1/rate:2.5 Gb/sec (1X SDR)\n\
    /sys/class/infiniband/rxe0/ports/1/link_layer:Ethernet\n/sys/class/infiniband/rxe0/ports/1/lid:0x0\n\
    /sys/class/infiniband/rxe0/ports/1/sm_lid:0x0\n/sys/class/infiniband/rxe0/ports/1/cap_mask:0x00010000\n\
    /sys/class/infiniband/rxe0/ports/1/pkeys/0:0xffff\n/sys/class/infiniband_verbs/uverbs0/ibdev:rxe0\n\
    /sys/class/infiniband_verbs/uverbs0/abi_version:2\n";
const SOFT_GIDS: &str = "/sys/class/infiniband/rxe0/ports/1/gids/0:fe80:0000:0000:0000:5054:00ff:fe00:0111\n\
    /sys/class/infiniband/rxe0/ports/1/gids/1:0000:0000:0000:0000:0000:ffff:c0a8:640a\n\
    /sys/class/infiniband/rxe0/ports/1/gids/2:0000:0000:0000:0000:0000:0000:0000:0000\n\
    /sys/class/infiniband/rxe0/ports/1/gid_attrs/types/0:RoCE v2\n/sys/class/infiniband/rxe0/ports/1/gid_attrs/types/1:RoCE v2\n\
    /sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0:eth1\n/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1:eth1\n";
const SOFT_COUNTERS: &str = "/sys/class/infiniband/rxe0/node_type:1: CA\n/sys/class/infiniband/rxe0/parent:eth1\n\
    /sys/class/infiniband/rxe0/ports/1/state:4: ACTIVE\n/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts:127272\n\
    /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts:2026\n/sys/class/infiniband/rxe0/ports/1/hw_counters/duplicate_request:0\n\
    /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_seq_err:0\n/sys/class/infiniband/rxe0/ports/1/hw_counters/retry_exceeded_err:0\n\
    /sys/class/infiniband/rxe0/ports/1/hw_counters/completer_retry_err:0\n/sys/class/infiniband/rxe0/ports/1/hw_counters/link_downed:0\n";
const SOFT_NETDEVS: &str = "/sys/class/net/eth0/address:52:54:00:00:00:11\n/sys/class/net/eth1/address:52:54:00:00:01:11\n\
    /sys/class/net/eth0/mtu:1500\n/sys/class/net/eth1/mtu:1500\n/sys/class/net/eth0/operstate:up\n/sys/class/net/eth1/operstate:up\n\
    /sys/class/net/eth0/carrier:1\n/sys/class/net/eth1/carrier:1\n/sys/class/net/eth0/speed:-1\n/sys/class/net/eth1/speed:-1\n\
    /sys/class/net/eth0/flags:0x1003\n/sys/class/net/eth1/flags:0x1003\n/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0:eth1\n";
const SOFT_NETDEV_LINKS: &str = "'/sys/class/net/eth0' -> '../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0'\n\
    '/sys/class/net/eth1' -> '../../devices/pci0000:00/0000:00:04.0/virtio1/net/eth1'\n\
    '/sys/class/net/eth0/device/driver' -> '../../../../bus/virtio/drivers/virtio_net'\n\
    '/sys/class/net/eth1/device/driver' -> '../../../../bus/virtio/drivers/virtio_net'\n";
const SOFT_ADDRESSES: &str = "[{\"ifindex\":3,\"ifname\":\"eth1\",\"flags\":[\"BROADCAST\",\"MULTICAST\",\"UP\",\"LOWER_UP\"],\"mtu\":1500,\"operstate\":\"UP\",\"link_type\":\"ether\",\"addr_info\":[{\"family\":\"inet\",\"local\":\"192.168.100.10\",\"prefixlen\":24,\"scope\":\"global\",\"label\":\"eth1\"},{\"family\":\"inet6\",\"local\":\"fe80::5054:ff:fe00:111\",\"prefixlen\":64,\"scope\":\"link\"}]}]\n";
