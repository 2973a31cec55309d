//! Which hosts qualify for PVRDMA and where each VM would keep RDMA, at all sizes: words, what is behind them, evidence.

use rdmascope::app::host_binding;
use rdmascope::app::screen::{Focus, Overlay};
use rdmascope::app::table;
use rdmascope::config::Configuration;
use rdmascope::diagnose::check::SiteSays;
use rdmascope::fabric::{Attribute as A, Entity, PortState, Value};

use super::hosts::{other_vm, tell, twins};
use super::*;

const SIZES: [(u16, u16); 4] = [(20, 5), (80, 24), (120, 40), (200, 50)];

/// The twins, each with a VM: the second has no tag, and all lists were read.
fn matrix() -> Model {
    let mut model = twins();
    tell(&mut model, "esx02", "esxi.vms", "", other_vm());
    for host in ["esx01", "esx02"] {
        for source in ["esxi.distributed-switches", "esxi.net-dvs-list", "esxi.rdma-devices", "esxi.firewall-rulesets"]
        {
            tell(&mut model, host, source, "\n", Vec::new());
        }
        let vmknic = Entity::Vmknic("vmk1".into());
        let address = Value::List(vec![Text::new(if host == "esx01" { "10.0.0.1/24" } else { "10.0.0.2/24" })]);
        let on = vec![(vmknic.clone(), A::OnSwitch, Value::from("dvs-rdma")), (vmknic, A::Addresses, address)];
        tell(&mut model, host, "esxi.vmknic-list", "vmk1\n", on);
        let state = (Entity::RdmaDevice("vmrdma0".into()), A::PortState, Value::from(PortState::from_word("Active")));
        tell(&mut model, host, "esxi.rdma", "vmrdma0\n", vec![state]);
    }
    update(&mut model, Message::Clock(at(10)));
    act(&mut model, &["qualification"]);
    model
}

#[test]
fn hosts_by_requirements_and_vms_by_hosts() {
    let mut model = matrix();
    for (columns, rows) in SIZES {
        let buffer = drawn(&mut model, columns, rows, GlyphSet::Braille);
        insta::assert_snapshot!(format!("qualification_{columns}x{rows}"), text(&buffer));
    }
    let ascii = text(&drawn(&mut model, 80, 24, GlyphSet::Ascii));
    assert!(ascii.is_ascii() && ascii.contains("FAIL"), "{ascii}");
    let wide = shown(&mut model, 200, 50);
    for words in ["sole uplink", "namespace", "here, RDMA", "here, TCP", "TCP fallback", "keeps RDMA", "not observable"]
    {
        assert!(wide.contains(words), "{words}: {wide}");
    }
}

#[test]
fn the_cell_that_is_chosen_is_told_in_a_sentence_and_has_its_evidence() {
    let mut model = matrix();
    // Nobody chose one: the gravest is told.
    let screen = shown(&mut model, 120, 40);
    assert!(screen.contains("esx02 tag FAIL: ") && screen.contains("esx02 does not qualify"), "{screen}");
    act(&mut model, &["top"]);
    assert_eq!(model.screen.focus, Focus::Panel);
    let (row, cell) = table::selected(&model).expect("a row");
    assert_eq!((row.label.as_str(), cell.text.as_str()), ("esx02", "ok"), "what is wrong comes first");
    act(&mut model, &["right", "right"]);
    let (_, cell) = table::selected(&model).expect("a row");
    assert_eq!(cell.text, "FAIL");
    act(&mut model, &["evidence"]);
    let Some(Overlay::Evidence(evidence)) = model.screen.top() else { panic!("no evidence") };
    assert!(evidence.title.contains("PVRDMAVmknic"), "{}", evidence.title);
    act(&mut model, &["close", "right", "right"]);
    let screen = shown(&mut model, 120, 40);
    assert!(screen.contains("esx02 VLAN n/a: no VMkernel adapter is tagged"), "{screen}");
    // What a move to it would do.
    act(&mut model, &["down", "down", "down"]);
    let (row, _) = table::selected(&model).expect("a row");
    assert_eq!(row.label, "hpc-b");
    let screen = shown(&mut model, 120, 40);
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("vMotion") && flat.contains("DRS") && flat.contains("HA"), "{screen}");
}

#[test]
fn words_are_copied_with_what_they_are_of_and_the_filter_keeps_rows() {
    let mut model = matrix();
    act(&mut model, &["top", "right", "right"]);
    let copied = |model: &Model, whole| {
        rdmascope::app::copy::selected(model, whole).expect("something").text.as_str().to_owned()
    };
    assert!(copied(&model, false).starts_with("esx02 tag FAIL: "), "{}", copied(&model, false));
    assert!(copied(&model, true).starts_with("esx02: HCA ok  sole uplink ok  tag FAIL  "), "{}", copied(&model, true));
    act(&mut model, &["filter"]);
    for character in "hpc-b".chars() {
        update(&mut model, Message::Edit(rdmascope::app::Edit::Insert(character)));
    }
    act(&mut model, &["accept"]);
    let rows = table::rows(&model).expect("rows");
    let labels: Vec<&str> = rows.iter().filter(|row| !row.is_section()).map(|row| row.label.as_str()).collect();
    assert_eq!(labels, ["hpc-b"]);
}

#[test]
fn again_it_shows_one_host_and_what_was_not_read_is_no_failure() {
    let mut model = twins();
    act(&mut model, &["qualification"]);
    assert!(host_binding::shows_qualification(&model));
    let screen = shown(&mut model, 200, 50);
    assert!(screen.contains('?'), "{screen}");
    act(&mut model, &["qualification"]);
    assert!(!host_binding::shows_qualification(&model));
}

#[test]
fn what_is_declared_is_compared_and_the_rest_is_said_to_be_out_of_sight() {
    let mut model = matrix();
    let wide = shown(&mut model, 200, 50);
    for words in ["DRS rules", "HA settings", "[[drs]]", "[ha]"] {
        assert!(wide.contains(words), "{words}: {wide}");
    }
    let text = "[[drs]]\nkind = \"keep-together\"\nvms = [\"hpc-a\", \"hpc-b\"]\n";
    let declared = Configuration::parse("c.toml", text).expect("it is right").declared;
    model.options.site = SiteSays { declared, ..SiteSays::default() };
    model.unjudged = true;
    update(&mut model, Message::Clock(at(20)));
    let wide = shown(&mut model, 200, 50);
    assert!(!wide.contains("DRS rules") && wide.contains("VMs run against the rule keep-together"), "{wide}");
    assert!(wide.contains("HA settings"), "{wide}");
}
