//! The matrix and the places of the sound site and of altered ones.

use super::*;
use crate::diagnose::check::all;
use crate::diagnose::check::testing::{Site, fails, says};

const CLOSED: &str = "Name                      Enabled\n------------------------  -------\nsshServer                    true\n\
                      pvrdma                      false\n";

fn rows(site: &Site) -> Vec<Row> {
    let joined = site.joined();
    let scene = site.scene(&joined);
    matrix(&scene, &judgements(&scene))
}

fn places_of(site: &Site) -> Vec<Place> {
    let joined = site.joined();
    let scene = site.scene(&joined);
    places(&scene, &judgements(&scene))
}

fn status(row: &Row, requirement: Requirement) -> Status {
    row.cell(requirement).map_or(Status::Unknown, |cell| cell.status)
}

#[test]
fn both_sound_hosts_meet_every_requirement() {
    let rows = rows(&Site::sound());
    assert_eq!(rows.iter().map(|row| row.host.as_str()).collect::<Vec<_>>(), ["esx01", "esx02"]);
    for row in &rows {
        assert_eq!(row.status(), Status::Pass, "{row:#?}");
        for requirement in Requirement::ALL {
            // Two releases side by side are told, and nothing is wrong with them.
            let told = requirement == Requirement::Version && status(row, requirement) == Status::Info;
            assert!(told || status(row, requirement) == Status::Pass, "{requirement:?}: {row:#?}");
        }
        let site = Site::sound();
        for cell in &row.cells {
            assert!(cell.check.is_some() || cell.exhibits.iter().any(|one| site.leads_to_a_line(one)), "{cell:#?}");
        }
    }
}

#[test]
fn each_requirement_fails_for_its_own_reason() {
    let sound = Site::sound;
    for (site, requirement, wanted) in [
        (
            sound().replacing("esx02", "esxi.pvrdma-vmknic", "String Value: vmk1", "String Value:").replacing(
                "esx02",
                "esxi.advanced-changed",
                "String Value: vmk1",
                "String Value:",
            ),
            Requirement::Tag,
            Status::Fail,
        ),
        (
            sound().replacing("esx02", "esxi.pvrdma-vmknic", "String Value: vmk1", "String Value: vmk7").replacing(
                "esx02",
                "esxi.advanced-changed",
                "String Value: vmk1",
                "String Value: vmk7",
            ),
            Requirement::Tag,
            Status::Fail,
        ),
        (sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)), Requirement::Ruleset, Status::Fail),
        (
            sound().replacing("esx02", "esxi.distributed-switches", "Uplinks: vmnic2", "Uplinks: vmnic2, vmnic3"),
            Requirement::SoleUplink,
            Status::Fail,
        ),
        (
            sound().replacing("esx02", "esxi.rdma-devices", "Active  4096  100 Gbps", "Down    1024  0       "),
            Requirement::Hca,
            Status::Fail,
        ),
        (
            sound().with("esx02", fails("esxi.rdma-devices", 1, "Connect to localhost failed")),
            Requirement::Hca,
            Status::Unknown,
        ),
        (
            sound().replacing("esx02", "esxi.nic-dcb", "PFC Enabled: true", "PFC Enabled: false"),
            Requirement::Pfc,
            Status::Warn,
        ),
    ] {
        let rows = rows(&site);
        let row = rows.iter().find(|row| row.host.as_str() == "esx02").expect("a row");
        assert_eq!(status(row, requirement), wanted, "{requirement:?}: {row:#?}");
        assert_eq!(row.status(), if requirement.is_needed() { wanted } else { Status::Pass }, "{requirement:?}");
        let other = rows.iter().find(|row| row.host.as_str() == "esx01").expect("a row");
        assert_eq!(other.status(), Status::Pass, "{requirement:?}: {other:#?}");
    }
}

#[test]
fn tagged_adapters_of_one_subnet_in_two_vlans_are_both_shown() {
    let list = Site::sound().printed("esx02", "esxi.net-dvs-list");
    let (before, rest) = list.split_once("\tport 10:").expect("the port of vmk1");
    let (own, after) = rest.split_once("\tport 17:").expect("the port of pv-b");
    let list = format!("{before}\tport 10:{}\tport 17:{after}", own.replace("VLAN 100", "VLAN 300"));
    let rows = rows(&Site::sound().with("esx02", says("esxi.net-dvs-list", &list)));
    assert!(rows.iter().all(|row| status(row, Requirement::Vlan) == Status::Fail), "{rows:#?}");
}

#[test]
fn a_host_that_no_check_looks_at_is_read_all_the_same() {
    let site = Site::sound().moving_vms("esx02", "esx01").with("esx02", says("esxi.firewall-rulesets", CLOSED));
    let rows = rows(&site);
    let row = rows.iter().find(|row| row.host.as_str() == "esx02").expect("a row");
    assert_eq!(row.status(), Status::Fail, "{row:#?}");
    assert_eq!(row.cell(Requirement::Ruleset).and_then(|cell| cell.check), None);
}

#[test]
fn a_host_without_the_switch_refuses_the_vm() {
    let site = Site::sound().moving_vms("esx02", "esx01");
    let none = site.with("esx02", says("esxi.distributed-switches", "")).without("esx02", "esxi.net-dvs-list");
    let places = places_of(&none);
    let one = &places[0].moves[0];
    assert_eq!(one.keeps, Status::Fail, "{one:#?}");
    assert!(one.vmotion.starts_with("refused"), "{one:#?}");
}

#[test]
fn a_vm_with_pvrdma_moves_and_one_with_a_gpu_is_none_of_ours() {
    let places = places_of(&Site::sound());
    let told: Vec<(&str, Device, Status)> =
        places.iter().map(|place| (place.name.as_str(), place.device, place.moves[0].keeps)).collect();
    assert_eq!(told, [("pv-a", Device::Pvrdma, Status::Pass), ("pv-b", Device::Pvrdma, Status::Pass)]);
}

#[test]
fn what_is_passed_through_does_not_move() {
    // The GPU of gpu-a becomes an adapter that speaks RDMA.
    let site = Site::sound().replacing(
        "esx01",
        "esxi.pci-list",
        "Vendor ID: 0x10de\n   Device ID: 0x20f1",
        "Vendor ID: 0x15b3\n   Device ID: 0x101b",
    );
    let site = site.replacing("esx01", "esxi.pci-list", "Device Class: 0x0302", "Device Class: 0x0200");
    let places = places_of(&site);
    let place = places.iter().find(|place| place.name == "gpu-a").expect("a VM with an adapter");
    assert_eq!(place.device, Device::Passthrough);
    let one = &place.moves[0];
    assert_eq!(
        (one.keeps, one.vmotion.as_str()),
        (Status::Fail, "not possible: a function that is passed through stays with its host")
    );
}

#[test]
fn checks_of_requirements_explain_what_follows_from_them() {
    let needed =
        Requirement::ALL.into_iter().filter(|one| one.is_needed()).flat_map(|one| one.checks().iter().copied());
    let needed: Vec<&str> = needed.collect();
    let silent: Vec<&str> = all()
        .filter(|check| needed.contains(&check.id))
        .filter(|check| !["vm.host-qualifies", "guest.transport"].iter().all(|id| check.explains.contains(id)))
        .map(|check| check.id)
        .collect();
    assert!(silent.is_empty(), "these lead to TCP, and must explain vm.host-qualifies and guest.transport: {silent:?}");
}

fn untagged(site: Site, host: &str) -> Site {
    site.replacing(host, "esxi.pvrdma-vmknic", "String Value: vmk1", "String Value:").replacing(
        host,
        "esxi.advanced-changed",
        "String Value: vmk1",
        "String Value:",
    )
}

fn dead(source: &str) -> crate::diagnose::check::testing::Output<'_> {
    fails(source, 1, "Connect to localhost failed")
}

#[test]
fn what_is_known_to_be_missing_decides_whatever_else_was_not_read() {
    let unread =
        |site: Site| site.with("esx02", dead("esxi.distributed-switches")).with("esx02", dead("esxi.net-dvs-list"));
    let here = |site: &Site| {
        let places = places_of(site);
        let place = places.iter().find(|place| place.name == "pv-b").expect("pv-b").clone();
        place.here.expect("it has a PVRDMA adapter")
    };
    // Only the switches were not read: what hangs on them is open, and nothing else.
    let row = here(&unread(Site::sound()));
    assert_eq!((row.status(), row.is_member), (Status::Unknown, None), "{row:#?}");
    for (requirement, wanted) in [
        (Requirement::Hca, Status::Unknown),
        (Requirement::SoleUplink, Status::Unknown),
        (Requirement::Tag, Status::Pass),
        (Requirement::Ruleset, Status::Pass),
    ] {
        assert_eq!(status(&row, requirement), wanted, "{requirement:?}: {row:#?}");
    }
    assert!(row.needed(Status::Unknown).all(|cell| !cell.decide.is_empty() && cell.lack.is_some()), "{row:#?}");
    let closed = says("esxi.firewall-rulesets", CLOSED);
    let without = "Name  Driver  State  MTU  Speed  Paired Uplink  Description\n----  ------  -----  ---  -----  -------------  -----------\n";
    for (site, requirement) in [
        (untagged(unread(Site::sound()), "esx02"), Requirement::Tag),
        (unread(Site::sound()).with("esx02", closed), Requirement::Ruleset),
        (unread(Site::sound()).with("esx02", says("esxi.rdma-devices", without)), Requirement::Hca),
    ] {
        let row = here(&site);
        assert_eq!(
            (row.status(), status(&row, requirement)),
            (Status::Fail, Status::Fail),
            "{requirement:?}: {row:#?}"
        );
        let judged = site.judge(crate::diagnose::check::by_id("vm.host-qualifies").expect("a check"));
        assert!(judged.iter().any(|one| one.status == Status::Fail && one.title.contains("pv-b")), "{judged:#?}");
    }
}

#[test]
fn a_move_to_a_host_without_the_tag_loses_rdma_though_its_switches_were_not_read() {
    let site = Site::sound().moving_vms("esx02", "esx01").with("esx02", dead("esxi.distributed-switches"));
    let of = |site: &Site| places_of(site)[0].moves[0].clone();
    let open = of(&site);
    assert_eq!((open.keeps, open.outcome), (Status::Unknown, Outcome::NotDeterminable), "{open:#?}");
    assert!(open.decide.contains("dvs vmware list"), "{open:#?}");
    let lost = of(&untagged(site, "esx02"));
    assert_eq!((lost.keeps, lost.outcome), (Status::Fail, Outcome::Tcp), "{lost:#?}");
    assert!(lost.vmotion.starts_with("moves if the host has its switch"), "{lost:#?}");
}

#[test]
fn a_release_before_pvrdma_does_not_qualify() {
    let old = Site::sound().replacing("esx02", "esxi.system-version", "Version: 8.0.3", "Version: 6.0.0");
    let rows = rows(&old);
    let row = rows.iter().find(|row| row.host.as_str() == "esx02").expect("a row");
    assert_eq!((row.status(), status(row, Requirement::Version)), (Status::Fail, Status::Fail), "{row:#?}");
}

#[test]
fn what_a_missing_requirement_leaves_nothing_of_does_not_apply() {
    let row = |site: &Site| rows(site).into_iter().find(|row| row.host.as_str() == "esx02").expect("a row");
    let applies = |row: &Row, requirement| row.cell(requirement).is_some_and(|cell| cell.applies);
    let sound = row(&Site::sound());
    assert!(Requirement::ALL.into_iter().all(|requirement| applies(&sound, requirement)), "{sound:#?}");
    let untagged = row(&untagged(Site::sound(), "esx02"));
    assert!(!applies(&untagged, Requirement::Vlan) && applies(&untagged, Requirement::Tag), "{untagged:#?}");
    let site = Site::sound().moving_vms("esx02", "esx01");
    let none = row(&site.with("esx02", says("esxi.distributed-switches", "")).without("esx02", "esxi.net-dvs-list"));
    assert_eq!(none.is_member, Some(false), "{none:#?}");
    assert_eq!(none.needed(Status::Fail).count(), 1, "it is no member, told once: {none:#?}");
    assert!(!applies(&none, Requirement::SoleUplink) && !applies(&none, Requirement::Pfc), "{none:#?}");
}

#[test]
fn hosts_are_told_of_where_no_vm_needs_them() {
    let without = |site: Site, host: &str| {
        let devices = site.printed(host, "esxi.vm-devices").replace("VirtualVmxnet3Vrdma", "VirtualVmxnet3");
        let configs = site.printed(host, "esxi.vm-configs").replace("VirtualVmxnet3Vrdma", "VirtualVmxnet3");
        let files = site.printed(host, "esxi.vmx-files").replace("\"pvrdma\"", "\"vmxnet3\"");
        site.with(host, says("esxi.vm-devices", &devices))
            .with(host, says("esxi.vm-configs", &configs))
            .with(host, says("esxi.vmx-files", &files))
    };
    let site = without(without(Site::sound(), "esx01"), "esx02");
    let joined = site.joined();
    let scene = site.scene(&joined);
    let told = Qualification::of(&scene, &site.examine());
    assert!(!told.is_needed && told.places.iter().all(|place| place.device != Device::Pvrdma), "{:#?}", told.places);
    assert_eq!(told.rows.iter().map(|row| row.host.as_str()).collect::<Vec<_>>(), ["esx01", "esx02"]);
    assert!(told.rows.iter().all(|row| row.status() == Status::Pass), "{:#?}", told.rows);
}
