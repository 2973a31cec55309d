//! What of real texts is hidden, and what stays.

use proptest::prelude::*;

use super::*;

const DUMP: &str = "(vim.vm.ConfigInfo) {\n   name = \"secret-vm\",\n   extraConfig = (vim.option.OptionValue) [\n      \
    (vim.option.OptionValue) {\n         key = \"nvram\",\n         value = \"vm001.nvram\"\n      },\n      \
    (vim.option.OptionValue) {\n         key = \"guestinfo.userdata\",\n         value = \"HIDDEN\"\n      },\n      \
    (vim.option.OptionValue) {\n         key = \"pciPassthru.use64bitMMIO\",\n         value = \"TRUE\"\n      }\n   ]\n}\n";

#[test]
fn a_vmx_keeps_its_keys_and_loses_secrets() {
    let vmx = "memSize = \"4096\"\r\nguestinfo.user = \"HIDDEN\"\r\nGuestInfo.Userdata=\"HID\"DEN\" # HIDDEN\r\n\
               RemoteDisplay.vnc.password = HIDDEN\r\nencryption.keySafe = \"vmware:key/HIDDEN\"\r\n#guestinfo.old = HIDDEN\r\n\
               numvcpus = \"2\"\r\n";
    let shown = masked(vmx);
    assert!(!shown.contains("HID") && !shown.contains("DEN"), "{shown}");
    assert_eq!(
        shown,
        "memSize = \"4096\"\r\nguestinfo.user = \"<masked>\"\r\nGuestInfo.Userdata= \"<masked>\"\r\n\
         RemoteDisplay.vnc.password = \"<masked>\"\r\nencryption.keySafe = \"<masked>\"\r\n#guestinfo.old = \"<masked>\"\r\n\
         numvcpus = \"2\"\r\n"
    );
}

#[test]
fn what_has_no_secret_is_not_copied() {
    assert!(matches!(masked("memSize = \"4096\"\ndisplayName = \"vm001\"\n"), Cow::Borrowed(_)));
}

#[test]
fn a_lone_carriage_return_ends_a_line() {
    assert_eq!(masked("guestinfo.a = \"x\"\rmemSize = \"4\"\r"), "guestinfo.a = \"<masked>\"\rmemSize = \"4\"\r");
}

#[test]
fn a_wrapped_value_is_hidden_to_its_quote() {
    let vmx = "guestinfo.userdata = \"aHIDDEN\nbHIDDEN==\ncHIDDEN\"\nmemSize = \"4\"\n";
    assert_eq!(masked(vmx), "guestinfo.userdata = \"<masked>\"\n\n\nmemSize = \"4\"\n");
    let open = "guestinfo.userdata = \"aHIDDEN\nmemSize = \"4\"\n";
    assert_eq!(masked(open), "guestinfo.userdata = \"<masked>\"\nmemSize = \"4\"\n");
}

#[test]
fn notes_of_people_are_hidden_and_lines_keep_their_numbers() {
    let dump = "(vim.vm.Summary) {\n   config = (vim.vm.Summary.ConfigSummary) {\n      name = \"a\",\n      \
                annotation = \"login \"root\", HIDDEN\nHIDDEN = 1,\n   HIDDEN = \"x\",\n}\nHIDDEN\", \n      uuid = \"u\"\n   },\n}\n";
    let shown = masked(dump);
    assert!(!shown.contains("HIDDEN"), "{shown}");
    assert_eq!(shown.lines().count(), dump.lines().count(), "{shown}");
    assert_eq!(shown.lines().nth(8), Some("      uuid = \"u\""), "{shown}");
    let one = "   annotation = \"HIDDEN\",\n   memoryMB = 4,\n   annotation = \"\"\n}\n";
    assert!(masked(one).ends_with("   memoryMB = 4,\n   annotation = \"<masked>\"\n}\n"), "{}", masked(one));
    let two = "(vim.vm.ConfigInfo) {\n   annotation = \"HIDDEN\nHIDDEN\",\n   version = \"vmx-19\",\n}\n";
    assert_eq!(masked(two), "(vim.vm.ConfigInfo) {\n   annotation = \"<masked>\",\n\n   version = \"vmx-19\",\n}\n");
    let begun = "   annotation = \"\nHIDDEN\n\",\n   memoryMB = 4,\n";
    assert!(!masked(begun).contains("HIDDEN") && masked(begun).ends_with("\n   memoryMB = 4,\n"));
    assert_eq!(
        masked("annotation = \"HIDDEN|0AHIDDEN\"\nmemSize = \"4\"\n"),
        "annotation = \"<masked>\"\nmemSize = \"4\"\n"
    );
}

#[test]
fn log_lines_of_all_versions_lose_secrets() {
    for line in [
        "2022-04-22T03:04:15.771Z| vmx| | I005: DICT       guestinfo.metadata = \"HIDDEN\"\n",
        "2021-02-20T11:50:10.598+08:00| vmx| I125: DICT guestinfo.metadata = \"HIDDEN\"\n",
        "2023-07-21T09:40:52.413Z In(05) vmx - DICT  RemoteDisplay.vnc.password = \"HIDDEN\"\n",
    ] {
        let shown = masked(line);
        assert!(!shown.contains("HIDDEN") && shown.ends_with("= \"<masked>\"\n"), "{shown}");
    }
}

#[test]
fn a_dump_loses_the_value_beside_a_secret_key() {
    let shown = masked(DUMP);
    assert!(!shown.contains("HIDDEN"));
    assert_eq!(shown, DUMP.replace("HIDDEN", "<masked>"));
    assert_eq!(masked(&DUMP.replace('\n', "\r\n")), DUMP.replace("HIDDEN", "<masked>").replace('\n', "\r\n"));
}

#[test]
fn a_value_of_several_lines_is_hidden_to_the_end_of_its_block() {
    let json = "{\n  \"HIDDEN\": \"HIDDEN\"\n},\nHIDDEN = \"a\",\n}\nvalue = \"HIDDEN";
    let shown = masked(&DUMP.replace("HIDDEN", json)).into_owned();
    assert!(!shown.contains("HIDDEN"), "{shown}");
    assert!(shown.contains("pciPassthru.use64bitMMIO") && shown.contains("\"TRUE\""), "{shown}");
}

#[test]
fn a_value_before_its_key_and_a_setting_in_one_line() {
    let before =
        "   (vim.option.OptionValue) {\n      value = \"HIDDEN\nHIDDEN\",\n      key = \"guestinfo.a\"\n   },\n";
    let shown = masked(before);
    assert!(!shown.contains("HIDDEN") && shown.contains("guestinfo.a"), "{shown}");
    let one = "(vim.option.OptionValue) { key = \"guestinfo.a\", value = \"HIDDEN\" },\n";
    assert_eq!(masked(one), "(vim.option.OptionValue) { key = \"guestinfo.a\", value = \"<masked>\" },\n");
    let other = "(vim.option.OptionValue) { value = \"HIDDEN\", key = \"guestinfo.a\" },\n";
    assert_eq!(masked(other), "(vim.option.OptionValue) { value = \"<masked>\", key = \"guestinfo.a\" },\n");
}

#[test]
fn properties_of_an_appliance_are_secret() {
    let property = "   property = (vim.vApp.PropertyInfo) [\n      (vim.vApp.PropertyInfo) {\n         key = 0,\n         id = \"root\",\n         \
                    type = \"password\",\n         defaultValue = \"HIDDEN\",\n         value = \"HIDDEN\"\n      }\n   ],\n";
    let shown = masked(property);
    assert!(!shown.contains("HIDDEN") && shown.contains("id = \"root\""), "{shown}");
}

#[test]
fn notes_at_snapshots_are_hidden() {
    let tree = "Get Snapshot:\n|-ROOT\n--Snapshot Name        : HIDDEN: a\n--Snapshot Id        : 1\n\
                --Snapshot Desciption  : HIDDEN\n HIDDEN\n\n--Snapshot Created On  : 1/2/2024\n--|-CHILD\n\
                ----Snapshot Name        : \n----Snapshot Description : HIDDEN \", key = \"HIDDEN\n\
                @status 0\n@item 2\nGet Snapshot:\n";
    let shown = masked(tree);
    assert_eq!(
        shown,
        "Get Snapshot:\n|-ROOT\n--Snapshot Name        : <masked>\n--Snapshot Id        : 1\n\
         --Snapshot Desciption  : <masked>\n\n\n--Snapshot Created On  : 1/2/2024\n--|-CHILD\n\
         ----Snapshot Name        : <masked>\n----Snapshot Description : <masked>\n@status 0\n@item 2\nGet Snapshot:\n"
    );
    let list = "snapshot0.displayName = \"HIDDEN\"\nsnapshot0.description = \"HIDDEN\"\nsnapshot0.uid = \"1\"\n\
                displayName = \"vm001\"\n";
    let shown = masked(list);
    assert!(!shown.contains("HIDDEN") && shown.contains("\"1\"") && shown.contains("vm001"), "{shown}");
}

#[test]
fn an_indented_setting_of_a_vmx_hides_itself_only() {
    let vmx = "  annotation = \"HIDDEN\" # HIDDEN\n  guestinfo = \"HIDDEN\"\nmemSize = \"4096\"\nnumvcpus = \"2\"\n";
    let shown = masked(vmx);
    assert!(!shown.contains("HIDDEN"), "{shown}");
    assert!(shown.ends_with("\nmemSize = \"4096\"\nnumvcpus = \"2\"\n"), "{shown}");
}

#[test]
fn what_a_carriage_return_parts_is_no_line_around_an_item() {
    let text = "@item 1\n   key = \"guestinfo.a\",\n   value = \"HIDDEN\r@status 0\r@item 2\rHIDDEN\n   @item 3\nHIDDEN\n@status 0\n";
    let shown = masked(text);
    assert!(!shown.contains("HIDDEN") && shown.ends_with("\n@status 0\n"), "{shown}");
}

#[test]
fn a_damaged_value_hides_the_rest_of_its_vm_only() {
    let text = "@item 1\n   key = \"guestinfo.a\",\n   value = \"HIDDEN\nHIDDEN\n@status 0\n@item 2\n   name = \"b\"\n";
    let shown = masked(text);
    assert!(!shown.contains("HIDDEN") && shown.contains("@status 0\n@item 2\n   name = \"b\"\n"), "{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn damage_is_survived(text in crate::probe::testing::mutated_texts(&[DUMP, "guestinfo.a = \"b\"\nmemSize = \"4\"\n"])) {
        let shown = masked(&text);
        prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
        prop_assert_eq!(masked(&shown).into_owned(), masked(&masked(&shown)).into_owned());
    }

    #[test]
    fn no_secret_of_one_line_survives_in_a_vmx(key in "guestinfo\\.[a-z.]{1,10}", value in "[^\\n\\r]{0,40}", blank in " {0,2}") {
        let vmx = format!("a = \"1\"\n{key}{blank}={blank}\"SECRET{value}SECRET\"\nnumvcpus = \"2\"\n");
        let shown = masked(&vmx);
        prop_assert!(!shown.contains("SECRET"), "{}", shown);
        prop_assert!(shown.contains(&key));
    }
}
