//! Questions on the screen: the table of unknown host keys and the line for a secret.

use rdmascope::app::{Message, Model, Prompt, PromptKind, SecretKind, SecretRequest, UnknownHostKey, update};
use rdmascope::fabric::{TargetId, Text};
use rdmascope::tui::Typed;

use super::guest::{at, connected, running};
use super::{act, drawn_with, styles, text};
use rdmascope::tui::GlyphSet;

fn ask(model: &mut Model, id: u64, target: &str, kind: PromptKind) {
    let prompt = Prompt { id, target: TargetId::new(target), kind };
    update(model, Message::Asked { at: at(61), prompt });
}

fn host_key(host: &str, algorithm: &str, file: &str) -> PromptKind {
    PromptKind::UnknownHostKey(UnknownHostKey {
        host: Text::new(host),
        algorithm: Text::new(algorithm),
        fingerprint: Text::new("SHA256:0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"),
        recorded_in: Text::new(file),
    })
}

fn secret(what: SecretKind, echo: bool, instruction: &str, question: &str) -> PromptKind {
    PromptKind::Secret(SecretRequest {
        may_reuse: what == SecretKind::Password,
        what,
        asked_by: Text::new("lab@192.0.2.11:22"),
        instruction: Text::new(instruction),
        question: Text::new(question),
        echo,
    })
}

fn shown(model: &mut Model, columns: u16, rows: u16, typed: Typed<'_>) -> String {
    text(&drawn_with(model, columns, rows, GlyphSet::Braille, typed))
}

const KNOWN_HOSTS: &str = "/root/.ssh/known_hosts";

/// Nine targets with keys that nobody knows.
fn nine() -> Model {
    let names: Vec<String> = (1..=9).map(|number| format!("gpu-vm-0{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut model = connected(&names);
    for (id, name) in (1..).zip(&names) {
        let algorithm = if id == 3 { "ecdsa-sha2-nistp256" } else { "ssh-ed25519" };
        ask(&mut model, id, name, host_key(&format!("[192.0.2.1{id}]:2201"), algorithm, KNOWN_HOSTS));
    }
    model
}

#[test]
fn unknown_host_keys_are_one_table() {
    let mut model = nine();
    update(&mut model, Message::Seen { questions: vec![1, 2, 3, 4] });
    act(&mut model, &["down", "down"]);
    let buffer = drawn_with(&mut model, 80, 24, GlyphSet::Braille, Typed::default());
    insta::assert_snapshot!("host_keys_80x24", text(&buffer));
    insta::assert_snapshot!("host_keys_80x24_styles", styles(&buffer));
    let buffer = drawn_with(&mut model, 120, 40, GlyphSet::Braille, Typed::default());
    insta::assert_snapshot!("host_keys_120x40", text(&buffer));
    insta::assert_snapshot!("host_keys_120x40_styles", styles(&buffer));
    insta::assert_snapshot!("host_keys_40x10", shown(&mut model, 40, 10, Typed::default()));
    insta::assert_snapshot!("host_keys_20x5", shown(&mut model, 20, 5, Typed::default()));
}

#[test]
fn keys_that_go_to_different_files_say_so() {
    let mut model = connected(&["one", "two"]);
    ask(&mut model, 1, "one", host_key("one", "ssh-rsa", KNOWN_HOSTS));
    ask(&mut model, 2, "two", host_key("two", "ssh-ed25519", "/srv/lab/known_hosts"));
    for (columns, rows) in [(80, 24), (140, 30)] {
        let screen = shown(&mut model, columns, rows, Typed::default());
        assert!(screen.contains(KNOWN_HOSTS) && screen.contains("/srv/lab/known_hosts"), "{screen}");
        assert!(screen.contains("ssh_host_rsa_key.pub"), "{screen}");
    }
}

/// The rows that count as shown are those whose fingerprints can be read on the screen, at every size.
#[test]
fn what_counts_as_shown_can_be_read() {
    let mut model = nine();
    for columns in (18..130).step_by(7) {
        for rows in (4..45).step_by(3) {
            let screen = shown(&mut model, columns, rows, Typed::default());
            let area = ratatui::layout::Rect::new(0, 0, columns, rows);
            let ids = rdmascope::tui::overlay::prompt::unseen(&model, rdmascope::tui::view::body(area));
            let ids = ids.expect("the table is open");
            for id in &ids {
                let host = format!("[192.0.2.1{id}]:2201");
                assert!(screen.contains(&host), "{columns}x{rows}: {id} in\n{screen}");
            }
            let ends = screen.matches("EFG").count();
            assert!(ends >= ids.len(), "{columns}x{rows}: {ids:?} in\n{screen}");
            assert!(!ids.is_empty() || screen.contains("enlarge") || columns < 20, "{columns}x{rows}\n{screen}");
        }
    }
}

#[test]
fn a_secret_is_asked_for_by_our_own_name_and_not_shown() {
    let mut model = running();
    let instruction = "Your account is locked. Type the password of root at \u{1b}[31mevil.example\u{1b}[0m instead.";
    ask(&mut model, 1, "softroce1-lab", secret(SecretKind::Password, false, "", ""));
    ask(&mut model, 2, "softroce1", secret(SecretKind::Interactive, true, instruction, "Verification code:"));
    let nothing = Typed::default();
    let typed = Typed { any: true, reuse: true, ..nothing };
    let buffer = drawn_with(&mut model, 80, 24, GlyphSet::Braille, nothing);
    insta::assert_snapshot!("password_80x24", text(&buffer));
    let buffer = drawn_with(&mut model, 80, 24, GlyphSet::Braille, typed);
    insta::assert_snapshot!("password_typed_80x24", text(&buffer));
    insta::assert_snapshot!("password_typed_80x24_styles", styles(&buffer));
    insta::assert_snapshot!("password_20x5", shown(&mut model, 20, 5, typed));
    update(&mut model, Message::Answered { id: 1 });
    let code = Typed { any: true, echo: Some("123456"), ..nothing };
    let buffer = drawn_with(&mut model, 120, 40, GlyphSet::Braille, code);
    insta::assert_snapshot!("code_120x40", text(&buffer));
    insta::assert_snapshot!("code_120x40_styles", styles(&buffer));
    insta::assert_snapshot!("code_20x5", shown(&mut model, 20, 5, code));
    update(&mut model, Message::Answered { id: 2 });
    let key = SecretKind::Passphrase(Text::new("/root/.ssh/id_ed25519"));
    ask(&mut model, 3, "softroce1", secret(key, false, "", ""));
    let note = Typed { note: Some("nothing is typed yet, so nothing was given"), ..nothing };
    insta::assert_snapshot!("passphrase_80x24", shown(&mut model, 80, 24, note));
}

#[test]
fn a_server_cannot_push_the_line_from_the_screen() {
    let mut model = running();
    let much = "word ".repeat(400);
    ask(&mut model, 1, "softroce1", secret(SecretKind::Interactive, false, &much, &much));
    for (columns, rows) in [(20, 5), (40, 10), (80, 24), (200, 50)] {
        let screen = shown(&mut model, columns, rows, Typed::default());
        assert!(screen.contains("> nothing"), "{columns}x{rows}\n{screen}");
        assert!(screen.contains("softroce1"), "{columns}x{rows}\n{screen}");
    }
}

#[test]
fn what_sudo_refused_stands_first_with_the_line_to_add() {
    use rdmascope::collect::privilege::{Privilege, Way};
    use rdmascope::collect::rounds::Sequence;
    use rdmascope::fabric::Outcome;
    use rdmascope::probe::dialect::sections::Section;
    use rdmascope::probe::linux::PROBES;
    use rdmascope::probe::privilege::Become;

    let mut model = running();
    let privilege = Privilege::new(Become::Sudo);
    privilege.learned(
        "@rdmascope:login uid 1000\n@rdmascope:login user lab\n@rdmascope:login restricted 1\n\
         @rdmascope:login capabilities 0\n@rdmascope:login path sudo /usr/bin/sudo\n\
         @rdmascope:login path rdma /usr/sbin/rdma\n@rdmascope:login path dmesg /usr/bin/dmesg\n@rdmascope:login end\n",
    );
    for source in PROBES.iter().flat_map(|probe| probe.sources) {
        let Way::ByRoot(command) = privilege.way(source) else { continue };
        let mut section = Section {
            index: 0,
            outcome: Outcome::Exit(1),
            duration: None,
            stdout: Vec::new(),
            stderr: b"sudo: a password is required\n".to_vec(),
            cut: 0,
            command: None,
        };
        assert!(privilege.answered(&command, &mut section));
    }
    let target = TargetId::new("softroce1-lab");
    let report = privilege.news(&target, &Sequence::default()).expect("a refusal").report;
    update(&mut model, Message::Report { at: at(61), report });
    act(&mut model, &["next-target", "panel-guest", "down"]);
    insta::assert_snapshot!("sudo_refused_80x24", shown(&mut model, 80, 24, Typed::default()));
    act(&mut model, &["evidence"]);
    let screen = shown(&mut model, 80, 24, Typed::default());
    assert!(screen.contains("$ sudo -n -- /usr/bin/dmesg") && screen.contains("a password is required"), "{screen}");
}
