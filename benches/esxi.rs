//! What the parsers of ESXi cost: two megabytes of `esxcli hardware pci list` into blocks, and into facts. More than 50 MB a
//! second is the goal.

use std::sync::Arc;

use divan::counter::BytesCount;
use rdmascope::fabric::Observation;
use rdmascope::probe::esxi::{PROBES, block};

fn main() {
    divan::main();
}

/// Two megabytes of blocks as a host prints them, each with another address.
fn list() -> String {
    const BLOCK: &str = include_str!("../tests/fixtures/esxi/103-hardware-pci-list-blocks.txt");
    let block = BLOCK.split_once("\n\n").map_or(BLOCK, |(_, block)| block);
    let mut text = String::new();
    let mut number = 0u32;
    while text.len() < 2_000_000 {
        let address = format!("{:04x}:{:02x}:{:02x}.0", number >> 13, (number >> 5) & 0xff, number & 0x1f);
        text.push_str(&block.replace("0000:04:00.0", &address));
        text.push('\n');
        number += 1;
    }
    text
}

#[divan::bench]
fn pci_list_into_blocks(bencher: divan::Bencher) {
    let text = list();
    bencher.counter(BytesCount::of_str(&text)).bench(|| block::blocks(&text, 1));
}

#[divan::bench]
fn pci_list_into_facts(bencher: divan::Bencher) {
    let text = list();
    let Some(probe) = PROBES.iter().find(|probe| probe.name == "esxi.pci") else { return };
    let observations: Vec<Arc<Observation>> = probe
        .sources
        .iter()
        .map(|source| {
            Arc::new(Observation::of_text(source.name, if source.name == "esxi.pci-list" { &text } else { "" }))
        })
        .collect();
    bencher.counter(BytesCount::of_str(&text)).bench(|| (probe.parse)(&observations));
}
