//! How fast pasted and saved texts are explained: a log of a VM of 50 MB shall take less than two seconds, and texts that
//! are made to be slow no longer than others of their size.

use std::fmt::Write as _;

use rdmascope::diagnose::explain::explain;

fn main() {
    divan::main();
}

/// Lines until the text is so large, in MB.
fn text(megabytes: usize, mut line: impl FnMut(&mut String, usize)) -> String {
    let mut text = String::with_capacity((megabytes << 20) + 4096);
    for number in 0.. {
        if text.len() >= megabytes << 20 {
            break;
        }
        line(&mut text, number);
    }
    text
}

/// A log of a VM.
fn vmware_log(megabytes: usize) -> String {
    const SAID: [&str; 5] = [
        "PCIPassthru: Device 0000:42:00.0 reset",
        "VCPU-0 RDMA region mapped",
        "Vix: [12345 mainDispatch.c:4127]: VMAutomationPowerOff",
        "DISKLIB-VMFS: opened",
        "vmxnet3 user: Ethernet1 Driver Info: version = 65540",
    ];
    text(megabytes, |text, number| {
        let (minute, second, said) = (number / 60 % 60, number % 60, SAID[number % SAID.len()]);
        let _ = writeln!(text, "2024-02-01T10:{minute:02}:{second:02}.000Z In(05) vmx - {said} {number}");
    })
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn vmware_log_of_50_mb(bencher: divan::Bencher<'_, '_>) {
    let text = vmware_log(50);
    bencher.bench(|| explain("-", text.as_bytes()).findings.len());
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn vmkernel_log_of_50_mb(bencher: divan::Bencher<'_, '_>) {
    let text = text(50, |text, number| {
        let (second, cpu) = (number % 60, number % 64);
        let _ = writeln!(
            text,
            "2025-01-19T19:12:{second:02}.894Z In(182) vmkernel: cpu{cpu}:2097768)nmlx5_rdma: QueryPort:12 port {number} rdma link active"
        );
    });
    bencher.bench(|| explain("-", text.as_bytes()).findings.len());
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn vmx_of_50_mb_of_one_line(bencher: divan::Bencher<'_, '_>) {
    let text = text(50, |text, _| text.push_str("ethernet0.present = \"TRUE\"\n"));
    bencher.bench(|| explain("-", text.as_bytes()).findings.len());
}

/// Texts that a reading which looks back, or to the end, from every place would take minutes for.
#[divan::bench(args = ["[", "[root@esx1:~] ", "cpu1", "(vim.vm.X) {\n", "(vim.vm.X) [\"", "\r", "[root@esx1:~] x\nfirmware = \"efi\"\n",
    "vmnic1:\n  PFC Enabled: false\n  Mode: CEE Mode\n", "Name  Driver\n----  ------\nvmnic1  x\n", "A: b\n\n", "{\n", "leaf1#show version\n",
    "Port Name Status Vlan Duplex Speed Type\n", "Nov 30 12:00:01 n1 x[1]: a\n", "> a\n", "a {\n b:1\n"], sample_count = 3, sample_size = 1)]
fn odd_texts_of_4_mb(bencher: divan::Bencher<'_, '_>, piece: &str) {
    let text = piece.repeat((4 << 20) / piece.len());
    bencher.bench(|| explain("-", text.as_bytes()).findings.len());
}

/// The same, as large as texts are that are tried unwrapped and by their sources.
#[divan::bench(args = ["n1: a\nn2: b\n", "[1,0]<stdout>:a\n[1,1]<stderr>:b\n", "> 1. a\n", "==> a <==\nb\n", "a=3D\n", "&gt;&quot;\n"], sample_count = 3, sample_size = 1)]
fn odd_pastes_of_1_mb(bencher: divan::Bencher<'_, '_>, piece: &str) {
    let text = piece.repeat((1 << 20) / piece.len());
    bencher.bench(|| explain("-", text.as_bytes()).findings.len());
}

/// What people paste.
#[divan::bench]
fn a_paste(bencher: divan::Bencher<'_, '_>) {
    let text = include_str!("../tests/fixtures/public/15-esxcli-rdma-nic-adapter-tables.txt");
    bencher.bench(|| explain("-", text.as_bytes()).findings.len());
}
