//! How fast a VMX is read and judged: one shall take less than 20 ms, a thousand less than half a second.

use rdmascope::diagnose::lint::{Subject, lint};
use rdmascope::probe::vmx::Dictionary;

fn main() {
    divan::main();
}

/// A VMX of the length of real ones, about 150 lines.
fn vmx() -> Vec<u8> {
    let mut text = String::from(include_str!("../tests/fixtures/public/110-vmx-sriov-bypass.txt"));
    text.push_str("config.version = \"8\"\nvirtualHW.version = \"19\"\nfirmware = \"efi\"\nmemSize = \"65536\"\n");
    for number in 0..30 {
        for (key, value) in
            [("present", "TRUE"), ("fileName", "vm_1.vmdk"), ("deviceType", "scsi-hardDisk"), ("redo", "")]
        {
            text.push_str("scsi0:");
            text.push_str(&number.to_string());
            text.push_str(&[".", key, " = \"", value, "\"\n"].concat());
        }
    }
    text.into_bytes()
}

/// Reads one file.
#[divan::bench]
fn read(bencher: divan::Bencher<'_, '_>) {
    let bytes = vmx();
    bencher.bench(|| Dictionary::parse(&bytes));
}

/// Reads one file and runs all rules over it.
#[divan::bench]
fn read_and_judge(bencher: divan::Bencher<'_, '_>) {
    let bytes = vmx();
    bencher.bench(|| {
        let vmx = Dictionary::parse(&bytes);
        lint(&Subject { vmx: &vmx, host: None, snapshots: None }).len()
    });
}

/// A thousand of them.
#[divan::bench(sample_count = 10)]
fn a_thousand_files(bencher: divan::Bencher<'_, '_>) {
    let bytes = vmx();
    bencher.bench(|| {
        (0..1000)
            .map(|_| {
                let vmx = Dictionary::parse(&bytes);
                lint(&Subject { vmx: &vmx, host: None, snapshots: None }).len()
            })
            .sum::<usize>()
    });
}
