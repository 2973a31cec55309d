//! What single lines, tables, blocks and dumps say.

use super::*;

#[test]
fn devices_of_a_dump_are_named() {
    let dump = "[root@esx1:~] vim-cmd vmsvc/device.getdevices 7\n(vim.vm.VirtualHardware) {\n   device = (vim.vm.device.VirtualDevice) [\n      (vim.vm.device.VirtualVmxnet3Vrdma) {\n         key = 4001,\n         deviceInfo = (vim.Description) {\n            label = \"Network adapter 2\",\n            summary = \"DVSwitch\"\n         },\n         macAddress = \"00:50:56:80:00:01\",\n         deviceProtocol = \"rocev2\"\n      },\n      (vim.vm.device.VirtualPCIPassthrough) {\n         key = 13000,\n         deviceInfo = (vim.Description) {\n            label = \"PCI device 0\",\n            summary = \"\"\n         }\n      }\n   ]\n}\n";
    for text in [dump.to_owned(), dump.replace('\n', "\r\n")] {
        let explained = explain("-", text.as_bytes());
        assert_eq!(checks(&explained), ["vm.pvrdma-adapter", "vm.passthrough-device"]);
        assert_eq!(fact(&explained, "Network adapter 2.protocol"), self::text("rocev2"));
        assert_eq!(explained.kinds, [Kind::VimCmd]);
    }
}

#[test]
fn errors_of_drivers_are_told_by_module() {
    let log = "2025-01-19T19:12:20.894Z Al(177) vmkalert: cpu66:2097709)ALERT: <NMLX_ERR> nmlx5_coreQueryTir:268 command failed: IO was aborted\n";
    let explained = explain("-", log.as_bytes());
    assert_eq!((checks(&explained), explained.kinds.clone()), (vec!["host.vmkernel-errors"], vec![Kind::VmkernelLog]));
}

pub(super) fn fact(explained: &Explained, name: &str) -> Option<State<Value>> {
    explained.facts.iter().find(|fact| fact.name.as_str() == name).map(|fact| fact.state.clone())
}

#[allow(clippy::unnecessary_wraps, reason = "compared with what `fact` gives")]
pub(super) fn text(word: &str) -> Option<State<Value>> {
    Some(State::Known(Value::Text(Text::new(word))))
}

#[test]
fn values_keep_what_they_are() {
    let of = |text: &str| explain("-", text.as_bytes());
    let options = of(fixture!("08-esxi-advanced-options-table"));
    assert_eq!(fact(&options, "Net.PVRDMAVmknic"), Some(State::Empty), "an empty cell is a value");
    let quoted = of("| `/Net/PVRDMAVmknic` | `Vmknic for PVRDMA` | `` | `` |\n");
    assert_eq!(
        (fact(&quoted, "Net.PVRDMAVmknic"), checks(&quoted)),
        (Some(State::Empty), vec!["host.pvrdma-vmknic-empty"])
    );
    let tagged = of("| Net.PVRDMAVmknic | Vmknic for PVRDMA | vmk2 |  | N/A | N/A | True |\n");
    assert_eq!((fact(&tagged, "Net.PVRDMAVmknic"), checks(&tagged)), (text("vmk2"), vec![]));
    let options = of(fixture!("17-esxcfg-module-g"));
    assert_eq!(fact(&options, "nmlx5_core.pfctx"), Some(State::Known(Value::Number(8))), "0x08 and 8 are one mask");
    assert_eq!(fact(&options, "nmlx5_rdma.dscp_force"), Some(State::Known(Value::Number(26))));
    let tables = of(fixture!("15-esxcli-rdma-nic-adapter-tables"));
    assert_eq!(fact(&tables, "hostA:vmrdma0.speed"), text("50 Gbps"), "a value with a blank inside");
    assert_eq!(fact(&tables, "hostA:vmrdma0.paired-uplink"), text("vmnic1"));
    assert!(
        !tables.facts.iter().any(|fact| fact.name.contains("---") || fact.name.contains(":Name.")),
        "no device called Name"
    );
    let log = of(fixture!("62-vmware-log-new-format"));
    assert_eq!(fact(&log, "mmio.pages-needed"), Some(State::Known(Value::Number(33_566_722))));
    let message = &log.findings[0];
    assert!(message.cause.contains("128.05 GiB") && message.cause.contains("3.50 GiB"), "{}", message.cause);
    assert!(message.remedies[0].commands.iter().any(|line| line.ends_with("\"256\"")), "{:?}", message.remedies);
    let old = of(fixture!("61-vmware-log-old-format"));
    assert!(old.findings[0].cause.contains("16.05 GiB"), "{}", old.findings[0].cause);
    let blocks = of(fixture!("103-esxcli-hardware-pci-list-blocks"));
    assert_eq!(fact(&blocks, "0000:04:00.0.vendor-id"), text("0x1000"), "SubVendor ID is another key");
}

#[test]
fn other_columns_names_and_orders_do_not_matter() {
    let of = |text: &str| explain("-", text.as_bytes());
    // A further column, and the columns in another order.
    let wide = of("Enabled  Device ID     Note\n-------  ------------  ----\n   true  0000:3b:00.0  new\n");
    assert!(wide.is_recognised());
    let pause = "NIC     Pause TX  New Column  Pause RX\n------  --------  ----------  --------\nvmnic0     false        some     false\n";
    assert_eq!(checks(&of(pause)), ["host.pause-off"]);
    // Blocks with their keys in another order, and one key renamed.
    let dcb = "vmnic5:\n   PFC Enabled: false\n   DCBX Mode: x\n   Mode: CEE Mode\nvmnic3:\n   PFC Enabled: true\n   Mode: IEEE Mode\n";
    assert_eq!(checks(&of(dcb)), ["host.pfc-not-in-force"]);
    let named =
        of("[root@a:~] esxcli network nic dcb status get -n vmnic5\n   Mode: CEE Mode\n   PFC Enabled: false\n");
    assert_eq!(fact(&named, "vmnic5.pfc-enabled"), Some(State::Known(Value::Flag(false))));
    let owners = "0000:af:00.0\n   Address: 0000:af:00.0\n   Current Owner: VMkernel\n   Configured Owner: VM Passthru\n   Module Name: nmlx5_core\n";
    assert_eq!(checks(&of(owners)), ["host.owner-pending"]);
    let kernel = "Name             Type  Configured  Runtime  Default  Description\n---------------  ----  ----------  -------  -------  -----------\ndisableACSCheck  Bool  TRUE        FALSE    FALSE    Bypass ACS\nnoIOMMU          Bool  FALSE       FALSE    FALSE    x\n";
    assert_eq!(checks(&of(kernel)), ["host.reboot-pending"]);
    // Where the default is configured the kernel chooses, and `Unknown` is no owner that waits.
    let chosen = "Name     Type    Configured  Runtime  Default  Description\n-------  ------  ----------  -------  -------  -----------\nlogPort  String  default     none     default  Port\nlogAddr  String              none     none     Address\n";
    assert_eq!(checks(&of(chosen)), [""; 0]);
    assert_eq!(checks(&of(&chosen.replace("default     none", "com1        none"))), ["host.reboot-pending"]);
    assert_eq!(checks(&of(&owners.replace("VM Passthru", "Unknown"))), [""; 0]);
    assert_eq!(checks(&of(&owners.replace("VMkernel", "Unknown"))), [""; 0]);
}

#[test]
fn a_second_set_that_wipes_the_first_is_told() {
    let script = "#!/bin/sh\nesxcli system module parameters set -m nmlx5_core -p \"dcbx=1\"\nesxcli system module parameters set -m nmlx5_core -p \"pfctx=8 pfcrx=8 trust_state=2 max_vfs=4\"\n";
    let explained = explain("local.sh", script.as_bytes());
    assert_eq!(checks(&explained), ["host.module-parameters-wiped"]);
    assert!(explained.findings[0].title.contains("dcbx"));
    assert_eq!(explained.kinds, [Kind::LocalSh]);
    let right = "esxcli system module parameters set -m nmlx5_core -p \"dcbx=1\"\nesxcli system module parameters set -a -m nmlx5_core -p \"pfctx=8 pfcrx=8\"\n";
    assert_eq!(checks(&explain("-", right.as_bytes())), Vec::<&str>::new());
    let python = "for d in [line.split()[0] for line in output.splitlines() if line.strip()]:\n";
    assert_eq!(checks(&explain("-", python.as_bytes())), ["tool.first-word-of-every-line"]);
}

#[test]
fn scripts_boot_lines_and_settings_files_are_judged() {
    let of = |path: &str, text: &str| {
        let explained = explain(path, text.as_bytes());
        let checks: Vec<String> = explained.findings.iter().map(|finding| finding.check.clone()).collect();
        (explained.kinds, checks)
    };
    let local = "#!/bin/sh ++group=host/vim/vmvisor/boot\n# local configuration options\n# vmkload_mod vmw_pvrdma\nesxcli system module load -m vmw_pvrdma\nexit 0\n";
    assert_eq!(of("-", local), (vec![Kind::LocalSh], vec!["host.myth-vmw-pvrdma-module".to_owned()]));
    let conf = "/opt/proc/sys/kernel/modules_load_order = vfio-pci nvidia_vgpu_vfio\n/vmkernel/module/nmlx5_core.so/options = \"pfctx=8\"\n";
    assert_eq!(of("-", conf), (vec![Kind::EsxConf], vec!["host.myth-modules-load-order".to_owned()]));
    let grub = "GRUB_CMDLINE_LINUX=\"intel_iommu=on vfio-pci.ids=10de:20f1 pcie_acs_override=downstream\"\n";
    assert_eq!(of("-", grub), (vec![Kind::BootArguments], vec!["host.myth-kvm-boot-arguments".to_owned()]));
    assert_eq!(of("-", "pfctx=0x08 pfcrx=0x08 trust_state=2\n"), (vec![Kind::ModuleOptions], vec![]));
    assert_eq!(of("-", "kernelopt=autoPartition=FALSE\n"), (vec![Kind::BootArguments], vec![]));
    assert_eq!(of("-", "Dear all,\nthe meeting is at nine.\n"), (vec![], vec![]));
    assert_eq!(of("-", ""), (vec![], vec![]));
}
