//! `esxcli system`, `esxcli software` and `esxcli vm`.

use super::super::Said;
use super::super::print::{Column, blocks, fields, row, table, truth};
use super::super::state::{Module, Release, State};
use super::super::vm::Vm;
use super::{Call, unknown};

pub fn answer(state: &State, words: &[&str], call: &Call<'_>) -> Said {
    let wanted = call.option("-m", "--module");
    let module = || {
        let name = wanted.unwrap_or_default();
        state.module(name).ok_or_else(|| format!("Unable to find module {name}: Not found"))
    };
    let option = call.option("-o", "--option");
    Ok(match words {
        ["version", "get"] => version(state),
        ["hostname", "get"] => fields(&[
            ("Domain Name", "lab.example".to_owned()),
            ("Fully Qualified Domain Name", format!("{}.lab.example", state.name)),
            ("Host Name", state.name.to_owned()),
        ]),
        ["uuid", "get"] => format!("{}\n", state.uuid),
        ["module", "list"] => {
            let rows: Vec<Vec<String>> = state
                .modules
                .iter()
                .map(|module| vec![module.name.to_owned(), truth(module.loaded), truth(module.enabled)])
                .collect();
            table(&[Column::Left("Name"), Column::Right("Is Loaded"), Column::Right("Is Enabled")], &rows)
        }
        ["module", "get"] => described(module()?),
        ["module", "parameters", "list"] => parameters(module()?),
        ["settings", "advanced", "list"] => advanced(state, option, call.option("-d", "--delta").is_some())?,
        ["settings", "kernel", "list"] => kernel(state, option)?,
        ["maintenanceMode", "get"] => "Disabled\n".to_owned(),
        _ => return unknown(&[&["system"], words].concat()),
    })
}

/// Source: a published output of 5.5; `Patch` is printed from 6.x on.
fn version(state: &State) -> String {
    let (version, update, build) = state.release.version();
    fields(&[
        ("Product", "VMware ESXi".to_owned()),
        ("Version", version.to_owned()),
        ("Build", format!("Releasebuild-{build}")),
        ("Update", update.to_owned()),
        ("Patch", state.release.patch().to_owned()),
    ])
}

/// Source: published outputs, names of the fields; the order is that of the names there.
fn described(module: &Module) -> String {
    let name = module.name;
    let digest = "5a:1c:0e:9b:77:42:d3:60:aa:e1:2f:90:5d:88:03:be";
    fields(&[
        ("Module", name.to_owned()),
        ("Module File", format!("/usr/lib/vmware/vmkmod/{name}")),
        ("License", if name.starts_with("nmlx") { "BSD" } else { "VMware" }.to_owned()),
        ("Version", module.version.to_owned()),
        ("Build Type", "release".to_owned()),
        ("Signed Status", "VMware Signed".to_owned()),
        ("Signature Issuer", "vmware.com".to_owned()),
        ("Signature Digest", digest.to_owned()),
        ("Signature FingerPrint", digest.to_owned()),
        ("Provided Namespaces", String::new()),
        ("Required Namespaces", "com.vmware.vmkapi@v2_7_0_0".to_owned()),
    ])
}

/// Source: texts of the driver's manual.
///
/// The parameters that a module knows: name, type, description.
pub fn known_parameters(module: &str) -> &'static [(&'static str, &'static str, &'static str)] {
    const CORE: [(&str, &str, &str); 6] = [
        ("DRSS", "int", "Number of hardware queues for Default Queue (DEFQ) RSS"),
        (
            "max_vfs",
            "array of uint",
            "Number of PCI VFs to initialize\n   Values : 0 - disabled, up to the number that the firmware allows\n   Default: 0",
        ),
        (
            "pfcrx",
            "int",
            "Priority based Flow Control policy on RX.\nIt is an 8 bits bit mask, each bit indicates a priority [0-7]\n   Values : 0 - 255\n   Default: 0",
        ),
        (
            "pfctx",
            "int",
            "Priority based Flow Control policy on TX.\nIt is an 8 bits bit mask, each bit indicates a priority [0-7]\n   Values : 0 - 255\n   Default: 0",
        ),
        ("supported_num_ports", "int", "Number of supported ports"),
        ("trust_state", "int", "Port policy to calculate the switch priority\n   1 - PCP, 2 - DSCP\n   Default: 1"),
    ];
    const RDMA: [(&str, &str, &str); 2] = [
        (
            "dscp_force",
            "int",
            "DSCP value to force on outgoing RoCE traffic\n   Values : (-1) - 63, -1 - default, 0-63 forced\n   Default: -1",
        ),
        ("pcp_force", "int", "PCP value to force on outgoing RoCE traffic\n   Values : (-1) - 7\n   Default: -1"),
    ];
    match module {
        "nmlx5_core" => &CORE,
        "nmlx5_rdma" => &RDMA,
        _ => &[("debug", "int", "Debug level"), ("heap_max", "int", "Maximum attainable heap size")],
    }
}

/// Source: published outputs: a description goes on in further lines.
fn parameters(module: &Module) -> String {
    let known = known_parameters(module.name);
    let set = |name: &str| {
        let mut options = module.options.split(' ').filter_map(|option| option.split_once('='));
        options.find(|(known, _)| *known == name).map_or(String::new(), |(_, value)| value.to_owned())
    };
    let rows: Vec<Vec<String>> = known
        .iter()
        .map(|(name, kind, description)| row([name, kind, &set(name), description.lines().next().unwrap_or_default()]))
        .collect();
    let titles = ["Name", "Type", "Value", "Description"].map(Column::Left);
    let mut text = String::new();
    // The further lines of a description stand at the left of everything, below their row.
    for (number, line) in table(&titles, &rows).lines().enumerate() {
        text.push_str(line);
        text.push('\n');
        if let Some((_, _, description)) = number.checked_sub(2).and_then(|place| known.get(place)) {
            for more in description.lines().skip(1) {
                text.push_str(more);
                text.push('\n');
            }
        }
    }
    text
}

/// `esxcfg-module -g M`.
///
/// Source: capture "esxcfg-module -g `nmlx5_core`".
pub fn options(state: &State, name: &str) -> Said {
    let module = state.module(name).ok_or_else(|| format!("Unable to get options for module {name}: Not found"))?;
    Ok(format!("{name} enabled = {} options = '{}'\n", u8::from(module.enabled), module.options))
}

/// An option of the host: path, true for a text, value, default, what it is.
type Setting = (&'static str, bool, String, &'static str, &'static str);

fn settings(state: &State) -> Vec<Setting> {
    let number = |path, value: &str, default, about| (path, false, value.to_owned(), default, about);
    vec![
        ("/Net/PVRDMAVmknic", true, state.tagged.clone(), "", "Vmknic for PVRDMA"),
        number("/Net/NotifySwitch", "1", "1", "Broadcasts an arp request on net handle enable"),
        number("/Mem/ShareForceSalting", "2", "2", "PShare salting levels"),
        number(
            "/UserVars/SuppressShellWarning",
            "1",
            "0",
            "Don't show warning for enabled local and remote shell access",
        ),
        number(
            "/UserVars/ESXiShellTimeOut",
            "0",
            "0",
            "Time before automatically disabling local and remote shell access (in seconds, 0 disables).",
        ),
        number(
            "/UserVars/ESXiShellInteractiveTimeOut",
            "0",
            "0",
            "Idle time before an interactive shell is automatically logged out (in seconds, 0 disables).",
        ),
        number(
            "/Security/AccountLockFailures",
            "5",
            "5",
            "Maximum allowed failed login attempts before locking out a user's account.",
        ),
        number(
            "/Security/AccountUnlockTime",
            "900",
            "900",
            "Duration in seconds to lock out a user's account after exceeding the maximum allowed failed login attempts.",
        ),
        number(
            "/VMkernel/Boot/disableACSCheck",
            if state.kernel("disableACSCheck").0 { "1" } else { "0" },
            "0",
            "Bypass ACS capability checks on all PCIE devices",
        ),
    ]
}

/// Source: published outputs. UNSOURCED from 8.0 on: the lines `Host Specific` and `Impact`.
fn advanced(state: &State, option: Option<&str>, changed: bool) -> Result<String, String> {
    let all = settings(state);
    let chosen: Vec<&Setting> = all
        .iter()
        .filter(|setting| option.is_none_or(|option| option == setting.0))
        .filter(|(_, _, value, default, _)| !changed || value != default)
        .collect();
    if chosen.is_empty() {
        return Err(format!("Unable to find option {}", option.unwrap_or_default()));
    }
    let shown = chosen.into_iter().map(|(path, is_text, value, default, about)| {
        let of = |wanted: bool, text: &str| if wanted { text.to_owned() } else { String::new() };
        let number = |text: &str| if *is_text { "0".to_owned() } else { text.to_owned() };
        let mut pairs = vec![
            ("Path", (*path).to_owned()),
            ("Type", if *is_text { "string" } else { "integer" }.to_owned()),
            ("Int Value", number(value)),
            ("Default Int Value", number(default)),
            ("Min Value", "0".to_owned()),
            ("Max Value", number("2147483647")),
            ("String Value", of(*is_text, value)),
            ("Default String Value", of(*is_text, default)),
            ("Valid Characters", of(*is_text, "*")),
            ("Description", (*about).to_owned()),
        ];
        if state.release == Release::Eight {
            pairs.push(("Host Specific", truth(*is_text)));
            pairs.push(("Impact", "none".to_owned()));
        }
        fields(&pairs)
    });
    Ok(shown.collect::<Vec<_>>().join("\n"))
}

/// Source: published outputs.
fn kernel(state: &State, option: Option<&str>) -> Result<String, String> {
    let truth = |value: bool| if value { "TRUE" } else { "FALSE" };
    let flag = |name: &'static str, default: bool, about: &'static str| {
        let (configured, runtime) = state.kernel(name);
        [name, "Bool", truth(configured), truth(runtime), truth(default), about]
    };
    let all = [
        flag("disableACSCheck", false, "Bypass ACS capability checks on all PCIE devices"),
        flag("enableACSCheckForRP", false, "Enable ACS capability checks on root ports"),
        flag("execInstalledOnly", false, "Execute only installed binaries"),
        flag("netNetqueueEnabled", true, "Enable/Disable NetQueue support."),
        flag("iovDisableIR", false, "Disable Interrupt Routing in the IOMMU"),
        // UNSOURCED: the default is configured, and what the kernel made of it has another name.
        ["logPort", "String", "default", "none", "default", "Serial port to use for logging"],
    ];
    let rows: Vec<Vec<String>> =
        all.into_iter().filter(|cells| option.is_none_or(|option| option == cells[0])).map(row).collect();
    if rows.is_empty() {
        return Err(format!("Unable to find kernel option {}", option.unwrap_or_default()));
    }
    Ok(table(&["Name", "Type", "Configured", "Runtime", "Default", "Description"].map(Column::Left), &rows))
}

/// Source: published outputs; the last column from 8.0 on is UNSOURCED.
pub fn vibs(state: &State) -> String {
    let nmlx5 = state.module("nmlx5_core").map_or("", |module| module.version);
    let (base, oem, date) = match state.release {
        Release::Seven => ("7.0.3-0.40.19482537", "1OEM.703.0.0.18644231", "2022-04-12"),
        Release::Eight => ("8.0.3-0.0.24022510", "1OEM.800.1.0.20613240", "2024-07-02"),
    };
    let vibs = [
        ("nmlx5-core", format!("{nmlx5}-{oem}"), "MEL", "VMwareCertified"),
        ("nmlx5-rdma", format!("{nmlx5}-{oem}"), "MEL", "VMwareCertified"),
        ("nmst", format!("4.18.0.12-{oem}"), "MEL", "PartnerSupported"),
        ("esx-base", base.to_owned(), "VMware", "VMwareCertified"),
        ("vmkusb", "0.1-7vmw.703.0.20.19193900".to_owned(), "VMW", "VMwareCertified"),
    ];
    let mut titles = ["Name", "Version", "Vendor", "Acceptance Level", "Install Date"].map(Column::Left).to_vec();
    let mut rows: Vec<Vec<String>> =
        vibs.iter().map(|(name, version, vendor, level)| row([name, version, vendor, level, date])).collect();
    if state.release == Release::Eight {
        titles.push(Column::Left("Platforms"));
        for row in &mut rows {
            row.push("host".to_owned());
        }
    }
    table(&titles, &rows)
}

/// Source: a published output with the row of a GPU driver; these hosts have none.
pub fn components(state: &State) -> String {
    let nmlx5 = state.module("nmlx5_core").map_or("", |module| module.version);
    let rows = [row([
        "Mellanox-nmlx5",
        "Mellanox Native OFED ConnectX-4/5/6 Drivers",
        nmlx5,
        nmlx5,
        "MEL",
        "07-02-2024",
        "VMwareCertified",
        "host",
    ])];
    let titles = [
        "Name",
        "Display Name",
        "Version",
        "Human Readable Version",
        "Vendor",
        "Creation Date",
        "Acceptance Level",
        "Platforms",
    ];
    table(&titles.map(Column::Left), &rows)
}

/// `vm process list`.
///
/// Source: published outputs; empty where nothing runs.
pub fn processes(state: &State) -> String {
    let running = state.vms.iter().filter(|vm| vm.on);
    let shown: Vec<(String, String)> = running
        .map(|vm| {
            let (world, cartel) = vm.worlds();
            let fields = fields(&[
                ("World ID", world.to_string()),
                ("Process ID", "0".to_owned()),
                ("VMX Cartel ID", cartel.to_string()),
                ("UUID", Vm::spaced(&vm.uuid)),
                ("Display Name", vm.name.clone()),
                ("Config File", vm.file_by_id()),
            ]);
            (vm.name.clone(), fields)
        })
        .collect();
    blocks(&shown)
}
