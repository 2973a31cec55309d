//! What `explain` makes of every public input: which of them are known, what is said of them, and that what guests print
//! is not taken for something else.

#[path = "explain/broken.rs"]
mod broken;
#[path = "explain/ordinary.rs"]
mod ordinary;
#[path = "explain/quoted.rs"]
mod quoted;
#[path = "explain/variants.rs"]
mod variants;

use std::path::{Path, PathBuf};

use rdmascope::diagnose::explain::{Explained, Value, explain};
use rdmascope::fabric::State;

/// The begin of each input's name, what it is, and all that is found in it.
type Expected = (&'static str, &'static [&'static str], &'static [&'static str]);

/// All inputs that are known, and all that is found in each.
const KNOWN: &[Expected] = &[
    ("01-", &["ibv_devinfo"], &["guest.pvrdma-limits"]),
    ("02-", &["dmesg"], &["guest.kernel-messages"]),
    ("07-", &["perftest", "ibv_devinfo"], &["guest.provider-library"]),
    ("14-", &["rdma"], &[]),
    ("21-", &["mlnx_qos"], &["guest.traffic-class"]),
    ("25-", &["perftest"], &["guest.perftest-result"]),
    ("25b-", &["perftest"], &["guest.perftest-exchange"]),
    ("26-", &["perftest"], &[]),
    ("27-", &["perftest"], &["guest.perftest-queue-pair"]),
    ("28-", &["perftest"], &["guest.perftest-side-channel"]),
    ("35-", &["perftest"], &["guest.port-active"]),
    ("36-", &["rdma", "ibv_devinfo", "perftest"], &["guest.port-active", "guest.verbs-abi"]),
    ("42-", &["rdma"], &["guest.port-active"]),
    ("43-", &["ibv_devinfo"], &["guest.roce-mtu"]),
    ("46-", &["ucx"], &["mpi.ucx-tls"]),
    ("47-", &["ucx"], &["guest.gid-index"]),
    ("49-", &["ucx"], &["mpi.interface-choice"]),
    ("51-", &["open-mpi"], &["mpi.interface-choice", "mpi.openib-noise"]),
    ("53-", &["open-mpi"], &["mpi.pml"]),
    ("58-", &["show_gids"], &["guest.gid-index"]),
    ("76-", &["dmesg"], &["gpu.driver-support"]),
    ("77-", &["nvidia-smi"], &["gpu.licence"]),
    ("78-", &["dmesg"], &["gpu.fell-off-bus"]),
    ("79-", &["journal"], &["gpu.fell-off-bus"]),
    ("82-", &["nvidia-smi"], &["gpu.topology"]),
    ("87-", &["nccl"], &["gpu.peer-memory"]),
    ("91-", &["nvidia-smi"], &["gpu.pcie-link"]),
    ("92-", &["lspci"], &["guest.pcie-link"]),
    ("93-", &["lspci"], &[]),
    ("115-", &["lspci"], &["gpu.acs"]),
    ("116-", &["open-mpi"], &["guest.port-active"]),
    ("118-", &["dmesg"], &["gpu.driver-bound"]),
    ("121-", &["journal"], &["gpu.licence"]),
    ("03-", &["vmx"], &["vm.myth-pvrdma-keys", "vm.myth-remove-vmxnet3", "vmx.no-equals"]),
    ("08-", &["settings-table"], &["host.pvrdma-vmknic-empty"]),
    ("10-", &["esxcli"], &["host.pfc-not-in-force"]),
    ("11-", &["esxcli", "vmkernel.log"], &["host.pause-excluded-by-pfc"]),
    ("15-", &["esxcli"], &["host.rdma-pairing-disagrees", "host.rdma-pairing-disagrees"]),
    ("16-", &["esxcli"], &["host.pause-off", "host.pause-on"]),
    ("17-", &["esxcfg"], &["host.module-parameters"]),
    ("19-", &["vmkernel.log"], &["host.nvme-rdma-rejected"]),
    ("61-", &["vmware.log"], &["vm.mmio-window"]),
    ("62-", &["vmware.log"], &["vm.mmio-window"]),
    ("63-", &["lspci", "dmesg"], &["vm.bar-unassigned"]),
    ("63c-", &["vmx"], &["vmx.efi-missing"]),
    ("65-", &["vmkernel.log"], &["host.pcie-link-down"]),
    ("66-", &["vmkernel.log"], &["host.pcie-hotplug-at-power-on"]),
    ("68-", &["vmx"], &["vmx.duplicate-key", "vmx.passthrough-id-form", "vmx.trailing-comment"]),
    ("69-", &["power-on-error"], &["vm.no-pcie-slot"]),
    ("70-", &["power-on-error"], &["vm.memory-not-reserved"]),
    ("75-", &["vmx"], &["vmx.hypervisor-shown", "vmx.odd-quotes", "vmx.unquoted-value"]),
    ("97-", &["esxtop"], &["tool.esxtop-without-rdma"]),
    ("101-", &["esxcli"], &[]),
    ("103-", &["esxcli"], &["host.passthrough-in-force"]),
    ("105-", &["vmx"], &["vmx.duplicate-key"]),
    ("106-", &["vmx"], &["vmx.byte-order-mark", "vmx.duplicate-key", "vmx.odd-quotes"]),
    ("107-", &["vmx"], &[]),
    ("110-", &["vmx"], &[]),
    ("111-", &["vmx"], &["vmx.passthrough-id-form", "vmx.placeholder", "vmx.trailing-comment"]),
    ("112-", &["vmsd"], &["vm.snapshots"]),
    ("113-", &["vmware.log"], &["vm.configuration-in-log"]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/public")
}

fn inputs() -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder()).expect("the fixtures").flatten();
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).expect("a name");
    let mut all: Vec<_> =
        entries.map(|entry| (name(&entry.path()), std::fs::read(entry.path()).expect("a fixture"))).collect();
    all.sort();
    assert!(all.len() > 50, "{} fixtures", all.len());
    all
}

fn checks(explained: &Explained) -> Vec<&str> {
    let mut checks: Vec<&str> = explained.findings.iter().map(|finding| finding.check.as_str()).collect();
    checks.sort_unstable();
    checks
}

#[test]
fn each_input_is_what_it_is_and_nothing_else_is_found_in_it() {
    let mut seen = 0;
    for (name, bytes) in inputs() {
        let expected = KNOWN.iter().find(|(begin, ..)| name.starts_with(begin));
        let (_, kinds, findings) = expected.copied().unwrap_or_default();
        seen += usize::from(expected.is_some());
        let explained = explain("-", &bytes);
        let found: Vec<&str> = explained.kinds.iter().map(|kind| kind.name()).collect();
        assert_eq!((found.as_slice(), checks(&explained).as_slice()), (kinds, findings), "{name}");
        assert_eq!((explained.is_recognised(), explained.not_read), (expected.is_some(), vec![]), "{name}");
    }
    assert_eq!(seen, KNOWN.len(), "each of them is there");
}

/// Each id of the paste in a VMX of its own: the value, and what is said of it.
#[test]
fn each_form_of_an_id_is_judged_right() {
    let text = std::fs::read_to_string(folder().join("68-vmx-pcipassthru-id-formats.txt")).expect("the fixture");
    let expected: &[(&str, Option<&str>)] = &[
        ("00000:013:00.0", None),
        ("0:66:0.0", None),
        ("00000:002:00.0", None),
        ("00000:002:00.1", None),
        ("00000:026:01.2", None),
        ("0000:03:00.0", Some("00000:003:00.0")),
        ("0000:04:00.0", Some("00000:004:00.0")),
    ];
    assert_eq!(text.lines().count(), expected.len());
    for (line, (id, written)) in text.lines().zip(expected) {
        let explained = explain("-", format!("{line}\n").as_bytes());
        let value = explained.facts.iter().find(|fact| fact.name.ends_with(".id")).map(|fact| &fact.state);
        let State::Known(Value::Text(value)) = value.expect("the id is a fact") else { panic!("{line}") };
        assert_eq!(value.as_str(), *id, "{line}");
        let about: Vec<_> =
            explained.findings.iter().filter(|finding| finding.check.starts_with("vmx.passthrough-id")).collect();
        match written {
            None => assert!(about.is_empty(), "{line}: {about:?}"),
            Some(written) => {
                assert_eq!((about.len(), about[0].check.as_str()), (1, "vmx.passthrough-id-form"), "{line}");
                assert!(about[0].cause.contains(written), "{line}: {}", about[0].cause);
            }
        }
    }
    // What only hexadecimal can be, and what can be both.
    let of = |id: &str| explain("-", format!("pciPassthru0.id = \"{id}\"\n").as_bytes());
    assert!(checks(&of("0000:0d:00.0")).contains(&"vmx.passthrough-id-hex"));
    let both = of("0000:41:00.0");
    assert!(checks(&both).contains(&"vmx.passthrough-id-form"));
    let cause = &both.findings.iter().find(|finding| finding.check == "vmx.passthrough-id-form").expect("it").cause;
    assert!(cause.contains("0000:29:00.0") && cause.contains("00000:065:00.0"), "{cause}");
}
