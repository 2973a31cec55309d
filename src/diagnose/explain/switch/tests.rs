//! Outputs of switches as they are pasted: with and without prompts, several together, in text and in JSON.

use crate::diagnose::explain::{Explained, Kind, Value, explain};
use crate::diagnose::finding::Status;
use crate::fabric::{State, Text};
use crate::probe::switch::SwitchSystem as System;

fn of(text: &str) -> Explained {
    explain("-", text.as_bytes())
}

fn fact(explained: &Explained, name: &str) -> Option<State<Value>> {
    explained.facts.iter().find(|fact| fact.name.as_str() == name).map(|fact| fact.state.clone())
}

fn text(word: &str) -> State<Value> {
    State::Known(Value::Text(Text::new(word)))
}

fn number(number: i64) -> State<Value> {
    State::Known(Value::Number(number))
}

fn flag(flag: bool) -> State<Value> {
    State::Known(Value::Flag(flag))
}

fn statuses(explained: &Explained) -> Vec<(&str, Status)> {
    explained.findings.iter().map(|finding| (finding.check.as_str(), finding.status)).collect()
}

const NXOS_PFC: &str = "============================================================
Port               Mode Oper(VL bmap)  RxPPP      TxPPP
============================================================
Ethernet1/1        Auto Off            0          0
Ethernet1/2        Auto On   (8)       4088353    1890
Ethernet1/3        On   On(18)         0          12
";

const EOS_PFC: &str = "The hardware supports PFC on priorities 0 1 2 3 4 5 6 7
The PFC watchdog action is errdisable
Global PFC : Enabled

E: PFC Enabled, D: PFC Disabled, A: PFC Active, W: PFC Watchdog Enabled
Port    Status  Priorities  Action       Timeout  Recovery        Polling
                                         Interval Interval/Mode   Config/Oper
------------------------------------------------------------------------------
Et4     E A W   3           drop         1.0      2.0 / auto      0.1 / 0.1
Et5     E - -   3           -            -        - / -           - / -
Et6/1   D - -   -           -            -        - / -           - / -
";

const SONIC_PFC: &str = "Interface    Lossless priorities
-----------  ---------------------
Ethernet0    3,4
Ethernet4    N/A
";

const ONYX_PFC: &str = "PFC: enabled
Priority Enabled List: 3
Priority Disabled List: 0 1 2 4 5 6 7

Interface      PFC admin    PFC oper
Eth1/1         Auto         Enabled
Eth1/2         Auto         Disabled
";

const CUMULUS_ROCE: &str = r#"{
  "congestion-control": {
    "congestion-mode": "ECN",
    "enabled-tc": "0,3"
  },
  "enable": "on",
  "pfc": {
    "pfc-priority": "3",
    "rx-enabled": "enabled",
    "tx-enabled": "enabled"
  },
  "trust": {
    "trust-mode": "pcp,dscp"
  }
}
"#;

const EOS_INTERFACES: &str = r#"{
    "interfaces": {
        "Ethernet4": {
            "lineProtocolStatus": "up",
            "interfaceStatus": "connected",
            "bandwidth": 100000000000,
            "mtu": 9214,
            "interfaceCounters": { "outDiscards": 45941, "totalInErrors": 0 }
        },
        "Ethernet5": {
            "lineProtocolStatus": "down",
            "interfaceStatus": "errdisabled",
            "mtu": 1500
        }
    }
}
"#;

#[test]
fn flow_control_of_each_system() {
    for (paste, system, name, enabled) in [
        (NXOS_PFC, System::NxOs, "Ethernet1/2", true),
        (EOS_PFC, System::Eos, "Ethernet4", true),
        (EOS_PFC, System::Eos, "Ethernet5", false),
        (SONIC_PFC, System::Sonic, "Ethernet0", true),
        (SONIC_PFC, System::Sonic, "Ethernet4", false),
        (ONYX_PFC, System::Onyx, "Ethernet1/1", true),
        (CUMULUS_ROCE, System::Cumulus, "switch", true),
    ] {
        let explained = of(paste);
        assert_eq!(explained.kinds, [Kind::Switch(system)], "{paste}");
        assert_eq!(fact(&explained, &format!("{name}.pfc-enabled")), Some(flag(enabled)), "{paste}");
        let lines = paste.lines().count();
        assert!(explained.facts.iter().all(|fact| fact.line > 0 && fact.line as usize <= lines));
    }
}

#[test]
fn what_the_columns_mean_is_told() {
    let explained = of(NXOS_PFC);
    assert_eq!(
        statuses(&explained),
        [("switch.pfc", Status::Warn), ("switch.pfc", Status::Pass), ("switch.pfc-priority", Status::Warn)]
    );
    assert!(
        explained.findings[0].title.contains("Ethernet1/1 is left to DCBX (auto)"),
        "{}",
        explained.findings[0].title
    );
    assert_eq!(explained.findings[0].evidence[0].line, Some(4));
    assert!(explained.findings[2].title.starts_with("Priority 3, 4 is lossless on Ethernet1/3"));
    assert_eq!(fact(&explained, "Ethernet1/2.PFC RxPPP"), Some(number(4_088_353)));
    let explained = of(EOS_PFC);
    let titles: Vec<&str> = explained.findings.iter().map(|finding| finding.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "PFC is configured on Ethernet5, and is not active",
            "PFC is off on Ethernet6/1, but is on on Ethernet4",
            "PFC is on on Ethernet4"
        ]
    );
    // All is well, and told so.
    let explained = of(CUMULUS_ROCE);
    assert_eq!(statuses(&explained), [("switch.pfc", Status::Pass)]);
    assert_eq!(fact(&explained, "switch.trusted-marking"), Some(text("pcp,dscp")));
}

#[test]
fn prompts_part_commands_and_name_switches() {
    let paste = format!(
        "leaf1#show interface priority-flow-control\n{NXOS_PFC}leaf1#show interfaces | json\n{EOS_INTERFACES}\nleaf2(config)# show pfc priority\n\
         {SONIC_PFC}\nadmin@sonic:~$ show version\n\nSONiC Software Version: SONiC.202305\nHwSKU: ACS-MSN3700\n\
         onyx1 [standalone: master] # show dcb priority-flow-control\n{ONYX_PFC}cumulus@leaf4:mgmt:~$ nv show qos roce -o json\n{CUMULUS_ROCE}"
    );
    let explained = of(&paste);
    assert_eq!(
        explained.kinds,
        [System::NxOs, System::Eos, System::Sonic, System::Onyx, System::Cumulus].map(Kind::Switch)
    );
    assert_eq!(fact(&explained, "leaf1:Ethernet1/2.pfc-enabled"), Some(flag(true)));
    assert_eq!(fact(&explained, "leaf1:Ethernet4.mtu"), Some(number(9214)));
    assert_eq!(fact(&explained, "leaf2:Ethernet0.pfc-priorities"), Some(text("3, 4")));
    assert_eq!(fact(&explained, "sonic:switch.switch-model"), Some(text("ACS-MSN3700")));
    assert_eq!(fact(&explained, "onyx1:Ethernet1/1.pfc-enabled"), Some(flag(true)));
    assert_eq!(fact(&explained, "leaf4:switch.pfc-enabled"), Some(flag(true)));
    let error = explained.findings.iter().find(|finding| finding.status == Status::Fail).expect("one");
    assert!(error.title.starts_with("leaf1:Ethernet5: disabled by the switch"), "{}", error.title);
}

#[test]
fn outputs_that_follow_each_other_without_prompts_are_told_apart() {
    let paste = format!("{NXOS_PFC}{SONIC_PFC}\n{EOS_INTERFACES}{ONYX_PFC}");
    let explained = of(&paste);
    assert_eq!(explained.kinds, [System::NxOs, System::Sonic, System::Eos, System::Onyx].map(Kind::Switch));
    let mtu = explained.facts.iter().find(|fact| fact.name.as_str() == "Ethernet4.mtu").expect("a fact");
    assert_eq!(paste.lines().nth(mtu.line as usize - 1).map(str::trim), Some("\"mtu\": 9214,"));
    // Beside what a host prints.
    let host = "[root@esx01:~] esxcli network nic dcb status get -n vmnic5\n   Mode: CEE Mode\n   PFC Enabled: false\n";
    let explained = of(&format!("{host}leaf1#show interface priority-flow-control\n{NXOS_PFC}"));
    assert_eq!(explained.kinds, [Kind::Esxcli, Kind::Switch(System::NxOs)]);
    assert!(
        explained.findings.iter().any(|finding| finding.check == "host.pfc-not-in-force"),
        "{:?}",
        statuses(&explained)
    );
}

#[test]
fn a_refused_command_says_nothing_of_the_switch() {
    for refusal in [
        "% Invalid input (at token 1: 'queuing')",
        "                  ^\n% Invalid command at '^' marker.",
        "Error: No such command \"pfc\".",
    ] {
        let explained = of(&format!("leaf1#show queuing interface\n{refusal}\nleaf1#\n"));
        assert_eq!(explained.kinds, [Kind::SwitchCommand], "{refusal}");
        assert_eq!(statuses(&explained), [("tool.switch-refused", Status::Info)], "{refusal}");
        assert_eq!(explained.facts, []);
    }
    let denied = of("leaf1>show running-config\n% Permission denied for the role\n");
    assert!(denied.findings[0].title.contains("does not let this login"), "{:?}", denied.findings);
}

/// What a switch prints for people is read as what it prints for programs.
#[test]
fn printed_forms_are_read_too() {
    let explained = of(
        "leaf1#show interfaces\nEthernet4 is up, line protocol is up (connected)\n  Ethernet MTU 9214 bytes , BW 100000000 kbit\n\
                        Ethernet5 is down, line protocol is down (errdisabled)\n  Ethernet MTU 1500 bytes\n",
    );
    assert_eq!(explained.kinds, [Kind::Switch(System::Eos)]);
    assert_eq!(fact(&explained, "Ethernet4.mtu"), Some(number(9214)));
    assert_eq!(explained.findings[0].title, "Ethernet5: disabled by the switch because of an error");
    let list = "Port       Name           Status       Vlan       Duplex Speed  Type            Flags Encapsulation\n\
                Et1        esx01 vmnic4   connected    trunk      full   100G   100GBASE-CR4\n";
    assert_eq!(of(list).kinds, [Kind::Switch(System::Eos)]);
    assert_eq!(of(&list.replace("Et1  ", "Eth1/1")).kinds, [Kind::Switch(System::NxOs)]);
    let roce = "cumulus@leaf4:mgmt:~$ nv show qos roce\n                    operational  applied\n------------------  -----------  --------\n\
                congestion-control\n  congestion-mode   ECN          ECN\npfc\n  pfc-priority      4            4\n  rx-enabled        enabled      enabled\n";
    let explained = of(roce);
    assert_eq!(explained.kinds, [Kind::Switch(System::Cumulus)]);
    assert_eq!(statuses(&explained), [("switch.pfc", Status::Pass), ("switch.pfc-priority", Status::Info)]);
    assert_eq!(explained.findings[1].evidence[0].line, Some(7));
    assert_eq!(of("  Port   RxPfc   TxPfc\nEt4   12   0\n").kinds, [Kind::Switch(System::Eos)]);
    assert!(!of("GigabitEthernet1/0/1 is up, line protocol is up (connected)\n").is_recognised());
}

#[test]
fn what_is_no_switch_is_none() {
    for text in [
        "Port Mode\n",
        "leaf1#reload\n",
        "show me the interface of the program\n",
        "{\"hostname\": \"a\"}\n",
        "{\n \"interfaces\": 3\n",
        "Name: Ethernet\nSwitchport: no\n",
        "The link is up, and the port is down\n",
    ] {
        let explained = of(text);
        assert_eq!((explained.kinds, explained.findings), (vec![], vec![]), "{text}");
    }
}

#[test]
fn counters_and_sizes_are_told_with_what_they_do_not_say() {
    let explained = of(EOS_INTERFACES);
    let of = |check: &str| explained.findings.iter().find(|finding| finding.check == check).expect("a finding");
    assert_eq!(of("switch.drops").status, Status::Info);
    assert!(of("switch.drops").decide.contains("twice"));
    assert_eq!(of("switch.mtu").title, "The MTU of Ethernet5 is 1500, that of Ethernet4 is large");
    assert!(explained.findings.iter().all(|finding| finding.check != "switch.errors"), "a zero is no error");
}

proptest::proptest! {
    #[test]
    fn damage_is_survived(text in crate::probe::testing::mutated_texts(&[NXOS_PFC, EOS_PFC, SONIC_PFC, ONYX_PFC, CUMULUS_ROCE, EOS_INTERFACES])) {
        // A carriage return by itself ends a line, too.
        let lines = text.split(['\n', '\r']).count();
        let explained = explain("-", text.as_bytes());
        proptest::prop_assert!(explained.facts.iter().all(|fact| fact.line as usize <= lines.max(1)));
    }
}
