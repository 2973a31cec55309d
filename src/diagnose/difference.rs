//! What differs between two snapshots of the same targets. The comparison itself stands a floor lower, where baselines use
//! it, too; its tests are here, where whole sites are made for checks.

pub use crate::tune::settings::*;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Site, fails, says};
    use crate::fabric::{State, TargetId, Value};

    fn told(before: &Site, after: &Site) -> (Vec<String>, Differences) {
        let targets: Vec<TargetId> = ["esx01", "esx02", "pv-a", "pv-b"].into_iter().map(TargetId::new).collect();
        let found = differences(before.fabric(), after.fabric(), &targets);
        let word = |state: &Option<State<Value>>| match state {
            Some(State::Known(value)) => value.to_string(),
            Some(missing) => missing.name().to_owned(),
            None => "nothing".to_owned(),
        };
        let changed = found.changed.iter().map(|one| {
            let layer = layer_of(&one.id, after.fabric());
            format!("{layer} {} {}: {} -> {}", one.id, one.attribute.name(), word(&one.before), word(&one.after))
        });
        (changed.collect(), found)
    }

    #[test]
    fn a_site_does_not_differ_from_itself() {
        assert!(told(&Site::sound(), &Site::sound()).1.is_empty());
    }

    #[test]
    fn a_setting_that_was_changed_is_told_by_layer() {
        let after = Site::sound()
            .replacing("pv-a", "linux.netdev-files", "ens192/mtu:9000", "ens192/mtu:1500")
            .with("esx02", says("esxi.firewall-rulesets", "Name    Enabled\n------  -------\npvrdma    false\n"));
        let (changed, found) = told(&Site::sound(), &after);
        assert!(changed.contains(&"host esx02 ruleset pvrdma ruleset-enabled: yes -> no".to_owned()), "{changed:?}");
        assert!(
            changed.iter().any(|line| line.starts_with("guest pv-a netdev ens192 mtu: 9000 -> 1500")),
            "{changed:?}"
        );
        let host = changed.iter().position(|line| line.starts_with("host ")).expect("there");
        let guest = changed.iter().position(|line| line.starts_with("guest ")).expect("there");
        assert!(host < guest, "from the wire up: {changed:?}");
        assert!(found.removed.iter().any(|id| id.to_string() == "esx02 ruleset sshServer"), "{:?}", found.removed);
        let back = differences(after.fabric(), Site::sound().fabric(), &[TargetId::new("esx02")]);
        assert!(!back.added.is_empty());
    }

    #[test]
    fn what_could_not_be_read_is_no_difference() {
        let before = Site::new().guest("g", &[says("linux.rdma-system", "netns shared copy-on-fork on\n")]);
        let after = Site::new().guest("g", &[fails("linux.rdma-system", 1, "error: something else")]);
        let found = differences(before.fabric(), after.fabric(), &[TargetId::new("g")]);
        assert!(found.changed.is_empty(), "{found:?}");
    }
}
