//! The checker on made-up sources that break each rule, and on innocent ones that look alike.

use super::scan::test_files;
use super::*;

fn whats(file: &str, source: &str) -> Vec<String> {
    breaches(file, source, false).into_iter().map(|breach| breach.what).collect()
}

#[track_caller]
fn broken(file: &str, source: &str, expected: &str) {
    let found = whats(file, source);
    assert!(found.iter().any(|what| what.contains(expected)), "{expected:?} is not among {found:?}");
}

#[track_caller]
fn clean(file: &str, source: &str) {
    assert_eq!(whats(file, source), Vec::<String>::new());
}

#[test]
fn upward_arrows_are_seen_in_every_form() {
    broken("fabric/value.rs", "use crate::probe::Probe;", "fabric imports from probe");
    broken("config/mod.rs", "use crate::{fabric::Text, app::Message};", "config imports from app");
    broken("app/model.rs", "use crate::fabric::Text;\nuse crate::{\n    tui::{self},\n};", "app imports from tui");
    broken("probe/linux/rdma.rs", "fn f() { crate::collect::poller::start(); }", "probe imports from collect");
    broken("probe/mod.rs", "use super::config::Settings;", "probe imports from config");
    broken("collect/transport/ssh/mod.rs", "use super::super::super::engine::Engine;", "collect imports from engine");
    broken("engine/mod.rs", "pub(crate) use crate::cli as commands;", "engine imports from cli");
    broken("fabric/mod.rs", "type X = crate :: app :: Message;", "fabric imports from app");
    broken("fabric/mod.rs", "#[cfg(test)]\nmod tests {\n    use crate::app::Message;\n}", "fabric imports from app");
    broken("tui/mod.rs", "use rdmascope::cli::Command;", "tui imports from cli");
    broken("probe.rs", "use crate::app::Message;", "probe imports from app");
}

#[test]
fn downward_and_level_arrows_are_fine() {
    clean("app/model.rs", "use crate::fabric::{Fabric, Text};\nuse crate::probe::Probe;\nuse super::message::Message;");
    clean("cli/snapshot.rs", "use crate::engine::Engine;\nuse crate::tui::theme;");
    clean("main.rs", "fn main() { rdmascope::cli::run() }");
    clean("fabric/text.rs", "mod app {}\nuse self::app::Thing;\nuse std::fmt;");
}

#[test]
fn the_order_of_the_floors_is_the_written_one() {
    for (low, lower) in FLOORS.iter().enumerate() {
        for (high, higher) in FLOORS.iter().enumerate() {
            let found = whats(&format!("{lower}/mod.rs"), &format!("use crate::{higher}::Thing;"));
            assert_eq!(found.is_empty(), high <= low, "{lower} imports {higher}: {found:?}");
        }
    }
}

#[test]
fn comments_and_texts_break_nothing() {
    clean("fabric/a.rs", "// use crate::app::Message;\n/* crate::tui::x /* nested */ std::fs */\n//! tokio::spawn\n");
    clean("fabric/a.rs", "const A: &str = \"use crate::app::Message; \\\" std::fs::read\";");
    clean(
        "fabric/a.rs",
        "const A: &str = r#\"crate::app::X \" tokio::spawn\"#;\nconst B: char = '\"';\nconst C: char = '\\'';",
    );
    broken("fabric/a.rs", "const B: char = '\"';\nuse crate::app::Message;", "imports from app");
    broken("fabric/a.rs", "fn f<'a>(x: &'a str) -> &'a str { std::fs::read(x); x }", "names std::fs");
    broken("fabric/a.rs", "const A: &str = \"\\\\\"; use tokio::sync;", "names tokio");
    broken("fabric/a.rs", "const A: &str = r\"\\\"; use tokio::sync;", "names tokio");
}

#[test]
fn lines_are_told_right() {
    let source =
        "//! One.\n\nuse crate::fabric::Text;\n\nconst T: &str = \"a\nb\";\nuse crate::{\n    app::Message,\n};\n";
    let found = breaches("fabric/a.rs", source, false);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].line, 7);
    assert_eq!(found[0].file, "fabric/a.rs");
}

#[test]
fn every_impure_name_is_seen_in_every_pure_floor() {
    for floor in PURE {
        let file = format!("{floor}/mod.rs");
        for name in IMPURE {
            broken(&file, &format!("fn f() {{ {name}::thing(); }}"), &format!("{floor} is pure and names {name}"));
            broken(&file, &format!("use {name};"), "is pure and names");
        }
        for call in CLOCK_CALLS {
            broken(&file, &format!("fn f() {{ let t = {call}(); }}"), "is pure and");
            broken(&file, &format!("fn f() {{ let t = jiff::{call}(); }}"), "asks the clock");
        }
    }
}

#[test]
fn pure_things_with_similar_names_are_fine() {
    clean("fabric/a.rs", "use std::net::{Ipv4Addr, Ipv6Addr};\nuse std::time::Duration;\nuse jiff::Timestamp;");
    clean("probe/a.rs", "use std::fmt::Write;\nuse crate::fabric::Text;\nmod tokio_notes {}");
    clean("app/a.rs", "fn now(at: Timestamp) -> Timestamp { at }\nfn f() { self::now(x); Clock::known(); }");
}

#[test]
fn a_hidden_use_of_a_clock_or_a_file_is_seen() {
    broken("app/a.rs", "use std::{fmt, fs::File};", "names std::fs");
    broken(
        "app/a.rs",
        "use std::{\n    fmt,\n    time::{Duration, Instant},\n};\nfn f() { Instant::now(); }",
        "Instant::now",
    );
    broken("probe/a.rs", "extern crate tokio;", "names tokio");
    broken("diagnose/check/a.rs", "use ratatui::style::Color;", "names ratatui");
    broken("fabric/a.rs", "#[cfg(test)]\nmod tests { }\nuse std::fs;", "names std::fs");
    broken("fabric/a.rs", "#[cfg(test)]\nuse std::fmt;\nuse std::fs;", "names std::fs");
    broken("fabric/a.rs", "#[cfg(not(test))]\nuse std::fs;", "names std::fs");
}

#[test]
fn tests_of_pure_floors_may_read_fixtures() {
    clean(
        "probe/a.rs",
        "#[cfg(test)]\nmod tests {\n    use std::fs;\n    fn f() { fs::read(\"x\"); if true { } }\n}\n",
    );
    clean("probe/a.rs", "#[cfg(test)]\n#[allow(clippy::all)]\nmod tests {\n    use std::fs;\n}\n");
    clean("probe/a.rs", "#[cfg(test)] mod tests { use std::fs; }\n");
    clean("probe/a.rs", "#[cfg(test)]\nmod testing;\n");
}

#[test]
fn a_file_for_tests_only_may_read_fixtures_but_keeps_to_its_floor() {
    let tree = |declaration: &str, file: &str, source: &str| {
        let all = [("probe/mod.rs".to_owned(), declaration.to_owned()), (file.to_owned(), source.to_owned())];
        all_breaches(&all).into_iter().map(|breach| breach.what).collect::<Vec<_>>()
    };
    let nothing = Vec::<String>::new();
    assert_eq!(tree("#[cfg(test)]\npub(crate) mod testing;", "probe/testing.rs", "use std::fs;"), nothing);
    assert_eq!(tree("#[cfg(test)]\nmod testing;", "probe/testing/mod.rs", "use std::fs;"), nothing);
    assert_eq!(tree("mod testing;", "probe/testing.rs", "use std::fs;").len(), 1);
    assert_eq!(tree("#[cfg(test)]\nmod tests { }\nmod testing;", "probe/testing.rs", "use std::fs;").len(), 1);
    assert_eq!(tree("#[cfg(test)]\nmod testing;", "probe/testing.rs", "use crate::app::X;").len(), 1);
    assert_eq!(test_files("probe/linux.rs", "#[cfg(test)] mod t;")[0], "probe/linux/t.rs");
    assert_eq!(test_files("lib.rs", "#[cfg(test)] mod t;")[0], "t.rs");
}

#[test]
fn impure_floors_may_do_what_they_are_for() {
    clean("collect/local.rs", "use std::fs;\nuse tokio::sync::mpsc;\nfn f() { std::time::Instant::now(); }");
    clean("engine/clock.rs", "fn f() { jiff::Timestamp::now(); }");
}

#[test]
fn walls_are_held() {
    broken("collect/transport/local.rs", "use russh::client;", "russh is named outside");
    broken("collect/transport/ssh_like.rs", "use russh::client;", "russh is named outside");
    broken("engine/mod.rs", "fn f() { crossterm::terminal::size(); }", "crossterm is named outside");
    broken("cli/doctor.rs", "use ratatui::crossterm::terminal;", "crossterm is named outside");
    broken("main.rs", "use crossterm::execute;", "crossterm is named outside");
    broken("collect/gpu.rs", "use nvml_wrapper::Nvml;", "nvml_wrapper is named outside");
    clean("collect/transport/ssh/client.rs", "use russh::client;");
    clean("collect/transport/ssh.rs", "use russh::client;");
    clean("lab/server.rs", "use russh::server;");
    clean("tui/event_loop.rs", "use crossterm::event::EventStream;");
    clean("collect/nvml.rs", "use nvml_wrapper::Nvml;");
}

#[test]
fn a_file_that_grew_too_long_is_seen() {
    clean("fabric/a.rs", &"\n".repeat(LONGEST));
    broken("fabric/a.rs", &"\n".repeat(LONGEST + 1), "split it by meaning");
}
