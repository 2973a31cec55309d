//! What all checks of guests say of a real soft-RoCE guest in good order, as root and as an ordinary user saw it.

use crate::diagnose::check::testing::{Site, gave};
use crate::diagnose::finding::Status;
use crate::fabric::Outcome;
use crate::probe::dialect::sections::SectionReader;

const SOURCES: &str = include_str!("../../../../tests/fixtures/batch/sources.txt");

/// The guest that printed this batch.
fn read(name: &str, stdout: &[u8], stderr: &[u8]) -> Site {
    let names: Vec<&str> = SOURCES.lines().collect();
    let mut reader = SectionReader::new(names.len(), "00000000000000000000000000000000");
    let mut sections = reader.feed_stderr(stderr);
    sections.extend(reader.feed_stdout(stdout));
    let printed: Vec<(&str, String, String, i32)> = sections
        .iter()
        .map(|section| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let status = if let Outcome::Exit(status) = section.outcome { status } else { 124 };
            (names[section.index], text(&section.stdout), text(&section.stderr), status)
        })
        .collect();
    let outputs: Vec<_> =
        printed.iter().map(|(source, stdout, stderr, status)| gave(source, stdout, stderr, *status)).collect();
    Site::new().guest(name, &outputs)
}

fn root() -> Site {
    read(
        "softroce1",
        include_bytes!("../../../../tests/fixtures/batch/softroce1.stdout.txt"),
        include_bytes!("../../../../tests/fixtures/batch/softroce1.stderr.txt"),
    )
}

fn user() -> Site {
    read(
        "softroce1",
        include_bytes!("../../../../tests/fixtures/batch/softroce1-lab.stdout.txt"),
        include_bytes!("../../../../tests/fixtures/batch/softroce1-lab.stderr.txt"),
    )
}

/// The checks of guests that find trouble.
fn troubles(site: &Site) -> Vec<(&'static str, Status)> {
    let found = site.examine();
    let trouble = |status| matches!(status, Status::Fail | Status::Warn);
    found
        .into_iter()
        .filter(|found| found.check.layer() == "guest" && trouble(found.judged.status))
        .map(|found| (found.check.id, found.judged.status))
        .collect()
}

#[test]
fn a_real_guest_in_good_order_has_no_trouble_but_the_limit_of_its_user() {
    assert_eq!(troubles(&root()), []);
    assert_eq!(troubles(&user()), [("guest.memlock", Status::Warn)]);
}

#[test]
fn the_faults_of_a_real_guest_are_named() {
    let down = root()
        .replacing("softroce1", "linux.rdma-link", "\"ACTIVE\"", "\"DOWN\"")
        .replacing("softroce1", "linux.rdma-link", "\"LINK_UP\"", "\"DISABLED\"")
        .replacing("softroce1", "linux.rdma-sysfs", "4: ACTIVE", "1: DOWN")
        .replacing("softroce1", "linux.rdma-sysfs", "5: LinkUp", "3: Disabled")
        .replacing("softroce1", "linux.netdev-files", "eth1/flags:0x1003", "eth1/flags:0x1002");
    assert_eq!(troubles(&down), [("guest.netdev-up", Status::Fail), ("guest.port-active", Status::Fail)]);
}
