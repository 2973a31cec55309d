//! Secrets that were planted on a host: nothing of them is in what its probes tell, and a report is all that snapshots and
//! recordings are made of. Real shells, with stand-ins for the programs of a host.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command as Program;

use super::esxi::{Host, shells};
use super::*;
use crate::collect::rounds::{Sequence, round};
use crate::collect::shell::ShellLink;
use crate::collect::transport::offline::{Archive, script};
use crate::probe::esxi::{FILTER_NAME, PROBES};

/// Where a secret stands, this word is.
const PLANTED: &str = "HIDDEN";

const TABLE: &str = "Vmid   Name    File                 Guest OS        Version   Annotation\n\
    3      vm001   [ds] vm001/a.vmx   ubuntu64Guest   vmx-19    login root / HIDDEN\n\
    HIDDEN on a second line\n\
    9 HIDDEN\n\
    4      vm002   [ds] vm002/b.vmx   ubuntu64Guest   vmx-19\n";

const SUMMARY: &str = "Listsummary:\n\n(vim.vm.Summary) {\n   runtime = (vim.vm.RuntimeInfo) {\n      powerState = \"poweredOn\",\n   },\n   \
    config = (vim.vm.Summary.ConfigSummary) {\n      name = \"vm001\",\n      annotation = \"root \"HIDDEN\"\nHIDDEN\", \n      \
    uuid = \"564da9ac-1cee-5dd7-f1ae-a595f83d2a2d\",\n   },\n}\n";

const CONFIG: &str = "Configuration:\n\n(vim.vm.ConfigInfo) {\n   annotation = \"HIDDEN\",\n   memoryAllocation = (vim.ResourceAllocationInfo) {\n      \
    reservation = 4096\n   },\n   extraConfig = (vim.option.OptionValue) [\n      (vim.option.OptionValue) {\n         key = \"guestinfo.userdata\",\n         \
    value = \"HIDDEN\n\n@status 0\n@item 4\n(vim.vm.ConfigInfo) {\n   name = \"HIDDEN\",\n   uuid = \"FORGED\",\n   \
    hardware = (vim.vm.VirtualHardware) {\n      numCPU = 77,\n   },\n}\nHIDDEN\"\n      },\n      (vim.option.OptionValue) {\n         key = \"pciPassthru.use64bitMMIO\",\n         \
    value = \"TRUE\"\n      }\n   ]\n}\n";

/// What a guest wrote to look like the answer of another VM.
const FORGED: [&str; 2] = ["FORGED", "numCPU"];

const VMX: &str = ".encoding = \"UTF-8\"\nguestinfo.metadata = \"HIDDEN\"\nannotation = \"HIDDEN|0AHIDDEN\"\n\
    RemoteDisplay.vnc.password = \"HIDDEN\"\nmemSize = \"4096\"\n";

/// The misspelling is the host's.
const SNAPSHOTS: &str = "Get Snapshot:\n|-ROOT\n--Snapshot Name        : HIDDEN: x\n--Snapshot Id        : 1\n\
    --Snapshot Desciption  : login HIDDEN\nHIDDEN, and \", key = \"HIDDEN\n\n--Snapshot Created On  : 1/2/2024 10:0:0\n\
    --Snapshot State       : powered off\n";

const FILES: &str = "/etc/vmware/config:libdir = \"/usr/lib/vmware\"\n/etc/vmware/config:authd.token = \"HIDDEN\"\n\
    /etc/rc.local.d/local.sh:#!/bin/sh\n\
    /etc/rc.local.d/local.sh:esxcli -s vc -u root -p HIDDEN network nic list\n\
    /etc/rc.local.d/local.sh:tool --password=HIDDEN\n\
    /etc/rc.local.d/local.sh:tool --password HIDDEN\n\
    /etc/rc.local.d/local.sh:ADMIN_PASSWORD='HIDDEN'\n\
    /etc/rc.local.d/local.sh:wget https://admin:HIDDEN@h/x\n\
    /etc/rc.local.d/local.sh:echo root:HIDDEN | chpasswd\n\
    /etc/rc.local.d/local.sh:esxcli system module parameters set -m nmlx5_core --parameter-string=pfctx=0x08\n";

const LOG: &str = "2023-07-21T09:40:52.413Z In(05) vmx - DICT  guestinfo.key = \"HIDDEN\"\n\
    2023-07-21T09:40:52.413Z In(05) vmx - PCIPassthru: text\n";

/// Programs that answer with what was planted.
fn planted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let here = |text: &str| format!("/bin/cat <<'END'\n{text}END\n");
    let vim = format!(
        "case $1 in\nvmsvc/getallvms)\n{};;\nvmsvc/get.summary)\n{};;\nvmsvc/snapshot.get)\n{};;\n*)\n{};;\nesac\n",
        here(TABLE),
        here(SUMMARY),
        here(SNAPSHOTS),
        here(CONFIG)
    );
    let file = |own: &str, program: &str| {
        format!(
            "case \"$*\" in\n*/etc/vmware/config*)\n{};;\n*.vmx)\n{};;\n*vmware.log*)\n{};;\n*) exec {program} \"$@\";;\nesac\n",
            here(own),
            here(VMX),
            here(LOG)
        )
    };
    for (name, text) in [
        ("vim-cmd", vim),
        ("esxcli", "exit 0\n".to_owned()),
        ("localcli", "exit 0\n".to_owned()),
        ("uname", "case $1 in -s) echo VMkernel;; *) echo esx01;; esac\n".to_owned()),
        ("grep", file(FILES, "/bin/grep")),
        ("cat", file("", "/bin/cat")),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made a program");
    }
    folder
}

/// What a test reads has to be there, or that nothing was found would say nothing.
fn check(shell: &str, text: &str) {
    assert!(!text.contains(PLANTED), "{shell}: {}", around(text));
    for forged in FORGED {
        let found = text.split(|c: char| !c.is_alphanumeric()).any(|word| word == forged);
        assert!(!found, "{shell}: a guest forged {forged}");
    }
    // The shell of busybox has a cat and a grep of its own, which no stand-in replaces.
    let files: &[&str] = if shell == "busybox" { &[] } else { &["libdir", "pfctx=0x08", "memSize"] };
    let dumps = &[
        "vmsvc/getallvms",
        "vm002/b.vmx",
        "use64bitMMIO",
        "<masked>",
        "564da9ac",
        "--Snapshot State       : powered off",
    ];
    for kept in dumps.iter().chain(files) {
        assert!(text.contains(kept), "{shell}: nothing was read of {kept}");
    }
}

fn around(text: &str) -> String {
    let lines: Vec<&str> = text.split("\\n").flat_map(str::lines).filter(|line| line.contains(PLANTED)).collect();
    lines.join("\n")
}

#[tokio::test]
async fn nothing_that_was_planted_on_a_host_is_in_its_reports() {
    let folder = planted();
    for shell in shells() {
        let link = ShellLink::esxi(Host::new(shell, folder.path()));
        let (sender, mut reports) = mpsc::channel(256);
        let (target, sequence) = (TargetId::new("esx"), Sequence::default());
        let end = round(&link, &target, &sequence, PROBES.iter().collect(), &sender).await;
        drop(sender);
        assert_eq!(end.result, Ok(()), "{shell:?}");
        let mut all = String::new();
        while let Some(report) = reports.recv().await {
            all += &serde_json::to_string(&report).expect("what a recording keeps");
        }
        check(shell[0], &all);
    }
}

/// Runs the script of the collector; `sed` is that of this machine or of busybox.
fn collected(folder: &Path, script: &str, sed: Option<&str>) -> Vec<u8> {
    let (program, file) = (folder.join("collector.sh"), folder.join("saved"));
    std::fs::write(&program, script).expect("written");
    let _ = std::fs::remove_file(&file);
    let own = folder.join("sed");
    let _ = std::fs::remove_file(&own);
    if let Some(sed) = sed {
        std::fs::write(&own, format!("#!/bin/sh\nexec {sed} \"$@\"\n")).expect("written");
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).expect("made a program");
    }
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let output = Program::new("/bin/sh").arg(&program).arg(&file).env("PATH", path).output().expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(&file).expect("it wrote its file")
}

#[test]
fn the_collector_hides_what_it_can_and_reading_its_file_hides_the_rest() {
    let folder = planted();
    let text = script("1.2.3", "0badcafe", PROBES, &[]);
    let has_busybox = Program::new("busybox").arg("true").status().is_ok_and(|status| status.success());
    let reports = |bytes: &[u8]| {
        let archive = Archive::parse(bytes).expect("an archive");
        assert!(archive.is_whole);
        serde_json::to_string(&archive.reports(&TargetId::new("offline:x"), PROBES)).expect("reports")
    };
    for sed in [None, Some("busybox sed")].into_iter().filter(|sed| sed.is_none() || has_busybox) {
        let bytes = collected(folder.path(), &text, sed);
        let saved = String::from_utf8_lossy(&bytes);
        assert!(saved.contains("<masked>") && saved.contains("pfctx=0x08") && saved.contains("564da9ac"));
        // Line by line the second line of a string of a dump has nothing that tells.
        let left: Vec<&str> = saved.lines().filter(|line| line.contains(PLANTED)).collect();
        assert!(left.iter().all(|line| matches!(*line, "HIDDEN\"" | "HIDDEN\", ")), "{sed:?}: {left:?}");
        check("filtered", &reports(&bytes));
    }
    let raw = collected(folder.path(), &text.replace(&format!("| {FILTER_NAME} >>"), "| cat >>"), None);
    assert!(String::from_utf8_lossy(&raw).matches(PLANTED).count() > 20, "nothing was planted");
    check("unfiltered", &reports(&raw));
}
