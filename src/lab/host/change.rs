//! What an administrator can set on a host of the lab. A command that sets something says nothing where it ends well, and a
//! later read shows it: at once, or as something that waits for the host to start anew.
//!
//! Wording of refusals: published outputs where one is named; the others are UNSOURCED.

use super::administered::Set;
use super::esxcli::{Call, known_parameters};
use super::hosts::{GPU, HCA};
use super::state::{State, address};
use super::{Host, NO_AGENT, Said};
use crate::lab::machine::{HostTrouble, Login};

/// What a login without the privilege is told.
///
/// Source: the message of the API's fault `NoPermission`.
const NO_PERMISSION: &str = "Permission to perform this operation was denied.";

impl Host {
    /// Sets something; `None` if the words only ask.
    pub(super) fn change(&self, words: &[&str], login: &Login) -> Option<Said> {
        let said = match words {
            ["esxcli", rest @ ..] => {
                let owned: Vec<String> = rest.iter().map(|&word| word.to_owned()).collect();
                let call = Call::new(&owned);
                if !sets(call.words()) {
                    return None;
                }
                let state = self.state();
                if state.hostd_dead {
                    Err(NO_AGENT.to_owned())
                } else if !login.is_root {
                    Err(NO_PERMISSION.to_owned())
                } else {
                    self.by_esxcli(&state, &call)
                }
            }
            ["/etc/init.d/hostd", "restart"] if login.is_root => Ok(self.restart_agent()),
            ["vmkload_mod", "-u", module] => self.unload(module, login),
            _ => return None,
        };
        let now = self.clock.elapsed().as_secs_f64();
        self.lock().note(now);
        Some(said)
    }

    /// Source: what the script prints, in public reports.
    fn restart_agent(&self) -> String {
        self.lock().cluster.troubles[self.index].remove(&HostTrouble::HostdDead);
        "watchdog-hostd: Terminating watchdog process with PID 2098791\nhostd stopped.\nhostd started.\n".to_owned()
    }

    fn unload(&self, name: &str, login: &Login) -> Said {
        let state = self.state();
        let module = state.module(name).filter(|module| module.loaded && login.is_root);
        let module = module.ok_or_else(|| format!("vmkload_mod: Can not remove module {name}: module not found"))?;
        self.set(module.name, |set| set.loaded = Some(false));
        Ok(format!("Module {name} successfully unloaded\n"))
    }

    fn set(&self, module: &'static str, change: impl FnOnce(&mut Set)) {
        change(self.lock().cluster.administered[self.index].modules.entry(module).or_default());
    }

    fn by_esxcli(&self, state: &State, call: &Call<'_>) -> Said {
        match call.words() {
            ["network", "firewall", "ruleset", "set"] => {
                let name = needed(call, "-r", "--ruleset-id")?;
                let open = truth(needed(call, "-e", "--enabled")?)?;
                let known = state.rulesets.iter().find(|(known, _)| *known == name);
                let (known, _) = known.ok_or_else(|| format!("Ruleset with id {name} not found"))?;
                self.lock().cluster.administered[self.index].rulesets.insert(known, open);
            }
            ["system", "settings", "advanced", "set"] => self.advanced(call)?,
            ["system", "settings", "kernel", "set"] => {
                let name = needed(call, "-s", "--setting")?;
                let value = truth(needed(call, "-v", "--value")?)?;
                let known = state.kernel.iter().find(|(known, _)| *known == name);
                let (known, (_, runtime)) = known.ok_or_else(|| format!("Invalid Key: {name}"))?;
                self.lock().cluster.administered[self.index].kernel.insert(known, (value, *runtime));
            }
            ["system", "module", rest @ ..] => self.module(state, rest, call)?,
            ["network", "nic", verb @ ("up" | "down")] => {
                let uplink = uplink(state, needed(call, "-n", "--nic-name")?)?;
                self.lock().cluster.administered[self.index].uplinks.insert(uplink, *verb == "up");
            }
            ["network", "nic", "pauseParams", "set"] => {
                let uplink = uplink(state, needed(call, "-n", "--nic-name")?)?;
                let (rx, tx) = (truth(needed(call, "-r", "--rx")?)?, truth(needed(call, "-t", "--tx")?)?);
                self.lock().cluster.administered[self.index].pause.insert(uplink, (rx, tx));
            }
            ["network", "ip", "interface", "set"] => self.vmknic(state, call)?,
            _ => self.passthrough(state, call)?,
        }
        Ok(String::new())
    }

    fn advanced(&self, call: &Call<'_>) -> Result<(), String> {
        let option = needed(call, "-o", "--option")?;
        if option != "/Net/PVRDMAVmknic" {
            return Err(format!("Unable to find option {option}"));
        }
        // Any text is taken, also the name of an adapter that is not there; no value at all only with `-d`.
        let value = match (call.option("-s", "--string-value"), call.has("-d", "--default")) {
            (Some(value), false) => value,
            (None, true) => "",
            _ => return Err("Error: Either a value or the default must be given".to_owned()),
        };
        self.lock().cluster.administered[self.index].tagged = Some(value.to_owned());
        Ok(())
    }

    fn module(&self, state: &State, verb: &[&str], call: &Call<'_>) -> Result<(), String> {
        let name = needed(call, "-m", "--module")?;
        let module = state.module(name).ok_or_else(|| format!("Unable to find module {name}: Not found"))?;
        match verb {
            ["set"] => {
                let enabled = truth(needed(call, "-e", "--enabled")?)?;
                self.set(module.name, |set| set.enabled = Some(enabled));
            }
            ["load"] => {
                if module.loaded {
                    return Err(format!("Unable to load module /usr/lib/vmware/vmkmod/{name}: Busy"));
                }
                if !module.enabled && !call.has("-f", "--force") {
                    return Err(format!("Module {name} is disabled, use force to override"));
                }
                self.set(module.name, |set| set.loaded = Some(true));
            }
            _ => {
                let text = needed(call, "-p", "--parameter-string")?;
                let known = known_parameters(module.name);
                let is_known = |part: &&str| known.iter().any(|(name, _, _)| part.split('=').next() == Some(name));
                if let Some(wrong) = text.split_whitespace().find(|part| !is_known(part) || !part.contains('=')) {
                    let wrong = wrong.split('=').next().unwrap_or_default();
                    return Err(format!("Unable to set module parameters the following params are invalid: {wrong}"));
                }
                // Without `-a` all options are replaced.
                let options = match module.options.as_str() {
                    before if call.has("-a", "--append") && !before.is_empty() => format!("{before} {text}"),
                    _ => text.to_owned(),
                };
                self.set(module.name, |set| set.options = Some(options));
            }
        }
        Ok(())
    }

    fn vmknic(&self, state: &State, call: &Call<'_>) -> Result<(), String> {
        let name = needed(call, "-i", "--interface-name")?;
        let vmknic = state.vmknics.iter().find(|vmknic| vmknic.name == name);
        let vmknic = vmknic.ok_or_else(|| format!("Invalid vmknic specified: {name}"))?;
        let enabled = call.option("-e", "--enabled").map(truth).transpose()?;
        let mtu = call.option("-m", "--mtu").map(|word| {
            let mtu = word.parse::<u32>().ok().filter(|mtu| (1280..=9000).contains(mtu));
            mtu.ok_or_else(|| format!("Unable to set MTU to {word} on {name}: Invalid argument"))
        });
        let mtu = mtu.transpose()?;
        let mut shared = self.lock();
        let administered = &mut shared.cluster.administered[self.index];
        administered.vmknics.extend(enabled.map(|enabled| (vmknic.name, enabled)));
        administered.mtus.extend(mtu.map(|mtu| (vmknic.name, mtu)));
        Ok(())
    }

    /// A function is given away or taken back: at once where that was asked and nobody holds it, else with the next start.
    fn passthrough(&self, state: &State, call: &Call<'_>) -> Result<(), String> {
        let wanted = needed(call, "-d", "--device-id")?;
        let enable = truth(needed(call, "-e", "--enable")?)?;
        let function = state.functions.iter().find(|function| function.address() == wanted);
        let function = function.ok_or_else(|| format!("Unable to find PCI device {wanted}"))?;
        if !(HCA.contains(&function.at) || function.at == GPU) {
            return Err("Unable to configure the PCI device: Device is not passthru capable.".to_owned());
        }
        let is_given = |owner: &str| owner == "VM Passthru";
        let (next, now) = (is_given(function.owners.0), is_given(function.owners.1));
        let at_once = call.has("-a", "--apply-now");
        if next == enable && (now == enable || !at_once) {
            let owner = if enable { "passthru" } else { "vmkernel" };
            // Source: an output in public test code.
            return Err(format!("Unable to configure the PCI device: Device owner is already configured to {owner}."));
        }
        let runs_on_it = state.vms.iter().any(|vm| vm.on && vm.role == super::vm::Role::Gpu) && function.at == GPU;
        let is_uplink =
            state.uplinks.iter().any(|uplink| address(uplink.at) == wanted && state.dvs_uplinks.contains(&uplink.name));
        let now = if at_once && !runs_on_it && !is_uplink { enable } else { now };
        self.lock().cluster.administered[self.index].given.insert(function.at, (enable, now));
        Ok(())
    }
}

/// True for the commands that set something.
fn sets(words: &[&str]) -> bool {
    matches!(
        words,
        ["network", "firewall", "ruleset", "set"]
            | ["system", "settings", "advanced" | "kernel", "set"]
            | ["system", "module", "set" | "load"]
            | ["system", "module", "parameters", "set"]
            | ["network", "nic", "up" | "down"]
            | ["network", "nic", "pauseParams", "set"]
            | ["network", "ip", "interface", "set"]
            | ["hardware", "pci", "pcipassthru", "set"]
    )
}

/// The value of an option that must be there.
fn needed<'a>(call: &Call<'a>, short: &str, long: &str) -> Result<&'a str, String> {
    call.option(short, long).ok_or_else(|| format!("Error: Missing required parameter {short}|{long}"))
}

/// A yes or no, as these commands take it.
fn truth(word: &str) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Ok(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Ok(false),
        _ => Err(format!("Error: Invalid boolean value {word}")),
    }
}

fn uplink(state: &State, name: &str) -> Result<&'static str, String> {
    state.uplink(name).map(|uplink| uplink.name).ok_or_else(|| format!("Unable to find NIC {name}: Not found"))
}
