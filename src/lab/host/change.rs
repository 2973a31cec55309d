//! What an administrator can set on a host of the lab. What is set is kept as what the host suffers or no longer does, so
//! that a later read shows it, and a way back leads back.

use super::esxcli::Call;
use super::{Host, NO_AGENT, Said};
use crate::lab::machine::{HostTrouble, Machine as _, Trouble};

impl Host {
    /// Sets something; `None` if the words only ask. A command that sets says nothing where it ends well.
    pub(super) fn change(&self, words: &[&str]) -> Option<Said> {
        let ["esxcli", rest @ ..] = words else { return None };
        let owned: Vec<String> = rest.iter().map(|&word| word.to_owned()).collect();
        let call = Call::new(&owned);
        let (trouble, on) = match call.words() {
            ["network", "firewall", "ruleset", "set"] => {
                let name = call.option("-r", "--ruleset-id").unwrap_or_default();
                // UNSOURCED wording.
                if name != "pvrdma" {
                    return Some(Err(format!("Error: the lab has only the ruleset pvrdma to set, not {name}")));
                }
                (HostTrouble::RulesetClosed, call.option("-e", "--enabled") != Some("true"))
            }
            ["system", "settings", "advanced", "set"] => {
                let option = call.option("-o", "--option").unwrap_or_default();
                // UNSOURCED wording.
                if option != "/Net/PVRDMAVmknic" {
                    return Some(Err(format!("Unable to find option {option}")));
                }
                match call.option("-s", "--string-value") {
                    Some("vmk1") => (HostTrouble::VmknicUntagged, false),
                    Some("") => (HostTrouble::VmknicUntagged, true),
                    other => {
                        let other = other.unwrap_or_default();
                        return Some(Err(format!("Error: the lab can tag vmk1 or nothing, not {other}")));
                    }
                }
            }
            ["network", "nic", verb @ ("up" | "down")] => {
                let name = call.option("-n", "--nic-name").unwrap_or_default();
                if !self.state().dvs_uplinks.contains(&name) {
                    return Some(Err(format!(
                        "Error: the lab can set only the uplinks of its distributed switch, not {name}"
                    )));
                }
                (HostTrouble::UplinkDown, *verb == "down")
            }
            _ => return None,
        };
        if self.state().hostd_dead {
            return Some(Err(NO_AGENT.to_owned()));
        }
        self.suffer(Trouble::Host(trouble), on);
        Some(Ok(String::new()))
    }
}
