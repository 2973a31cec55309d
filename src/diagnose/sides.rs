//! The guests of a job as the advisor sees them: what each says of itself, and beside it what its host says of where the
//! adapter really is.

use super::join::{Joined, LinkKind};
use crate::fabric::{Attribute, Entity, EntityId, Fabric, TargetId, Text, Value};
use crate::tune::advice::{HostSide, Side};

/// A guest, with its host's word where the two are joined.
pub fn side(fabric: &Fabric, joined: &Joined, guest: &TargetId) -> Side {
    let side = Side::of(fabric, guest);
    let host = host(fabric, joined, &side);
    Side { host, ..side }
}

fn host(fabric: &Fabric, joined: &Joined, side: &Side) -> Option<HostSide> {
    let vm = joined.vm_of(&side.guest)?;
    let host = &vm.target;
    let of_host = EntityId::new(host, Entity::Host);
    let port = side.port(std::slice::from_ref(side));
    let chain = port.and_then(|port| {
        let device = EntityId::new(&side.guest, Entity::RdmaDevice(Text::new(&port.device)));
        let netdev = port.netdev.as_ref().map(|name| EntityId::new(&side.guest, Entity::Netdev(Text::new(name))));
        joined.chain_of(&device).or_else(|| joined.chain_of(&netdev?))
    });
    let function = chain.and_then(|chain| chain.reaches(|entity| matches!(entity, Entity::PciFunction(_))));
    let near = chain.and_then(|chain| chain.links.iter().find(|link| link.kind == LinkKind::FunctionNuma));
    let node = near.and_then(|link| match link.to.entity {
        Entity::NumaNode(node) => Some(node),
        _ => None,
    });
    Some(HostSide {
        host: host.to_string(),
        function: function.map(|id| id.entity.name()),
        node,
        nodes: fabric.value(&of_host, Attribute::NumaNodeCount).and_then(Value::as_count),
        bound: fabric.text(vm, Attribute::NumaNode).filter(|text| !text.is_empty()).map(str::to_owned),
        // Only a stream of esxtop tells it; whoever follows one adds it.
        homes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Site, gave, says};
    use crate::tune::advice::{Adapter, Form, Job, Sure, Way, advise};
    use crate::tune::line::{self, Verdict};

    fn sides(site: &Site, names: &[&str]) -> Vec<Side> {
        let joined = site.joined();
        names.iter().map(|name| side(site.fabric(), &joined, &TargetId::new(name))).collect()
    }

    #[test]
    fn a_sound_pair_of_pvrdma_guests() {
        let sides = sides(&Site::sound(), &["pv-a", "pv-b"]);
        let port = sides[0].port(&sides).expect("a port");
        assert_eq!((port.adapter, port.shared_requests), (Adapter::Pvrdma, Some(1024)));
        let host = sides[0].host.as_ref().expect("joined with its host");
        assert!(host.node.is_some() || host.nodes.is_some() || host.function.is_some(), "{host:?}");
        let advice = advise(&sides, &Job::default());
        let words = advice.candidates[0].words().join(" ");
        assert_eq!(advice.candidates[0].way, Way::Rdma);
        for part in [
            "--mca pml ucx",
            "UCX_TLS=rc_v,ud_v,sm,self",
            &format!("UCX_NET_DEVICES={}", port.name()),
            "UCX_IB_GID_INDEX=",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(advice.items.iter().any(|item| item.reason.contains(&host.host)), "the host is named");
        // What their logins set already is right.
        for (name, value) in &sides[0].variables {
            let comments = line::judge(&format!("export {name}={value}"), &sides);
            assert!(comments.iter().all(|comment| comment.verdict <= Verdict::Better), "{comments:?}");
        }
    }

    #[test]
    fn an_adapter_that_is_passed_through_takes_what_mlx5_has() {
        let sides = sides(&Site::sound(), &["hca-a", "hca-b"]);
        assert_eq!(sides[0].port(&sides).expect("a port").adapter, Adapter::Mlx5);
        let words = advise(&sides, &Job::default()).candidates[0].words().join(" ");
        assert!(words.contains("UCX_TLS=rc_x"), "{words}");
    }

    #[test]
    fn a_shorter_queue_than_ucx_asks_for_is_seen_in_raw_text() {
        let longer = |site: Site, name| {
            let (shorter, longer) = ("UCX_RC_VERBS_RX_QUEUE_LEN=1024", "UCX_RC_VERBS_RX_QUEUE_LEN=4095");
            site.replacing(name, "linux.ucx-settings", shorter, longer)
        };
        let site = longer(longer(Site::sound(), "pv-a"), "pv-b");
        let sides = sides(&site, &["pv-a", "pv-b"]);
        let advice = advise(&sides, &Job::default());
        let queue =
            advice.candidates[0].items.iter().find(|item| item.name == "UCX_RC_VERBS_RX_QUEUE_LEN").expect("told");
        assert_eq!((queue.value.as_str(), queue.form, queue.sure), ("1023", Form::Export, Sure::Proved));
        assert!(queue.reason.contains("1024") && queue.reason.contains("4095"), "{queue:?}");
    }

    /// The captures of a guest with the driver `vmw_pvrdma`, with the limits as `ibv_devinfo -v` words them.
    fn captured(limits: Option<&str>) -> Site {
        let mut outputs = vec![
            says("linux.rdma-link", include_str!("../../tests/fixtures/pvrdma-guest/03-rdma-j-d-link-show.txt")),
            says(
                "linux.open-mpi",
                include_str!("../../tests/fixtures/pvrdma-guest/30-ompi-info-parsable-2-dev-null-grep-ie-ident.txt"),
            ),
            says("linux.ucx-version", include_str!("../../tests/fixtures/pvrdma-guest/29-ucx-info-v.txt")),
            gave("linux.ucx-settings", "UCX_IB_GID_INDEX=auto\nUCX_RC_VERBS_RX_QUEUE_LEN=4095\n", "", 0),
        ];
        if let Some(limits) = limits {
            outputs.push(says("linux.device-limits", limits));
        }
        Site::new().guest("pvrdma", &outputs)
    }

    #[test]
    fn the_captured_guest_leads_to_what_follows_from_max_srq_wr() {
        let with = |limits: Option<&str>| {
            let mut sides = sides(&captured(limits), &["pvrdma", "pvrdma"]);
            sides.iter_mut().flat_map(|side| &mut side.ports).for_each(|port| port.adapter = Adapter::Pvrdma);
            assert_eq!(sides[0].open_mpi.as_deref(), Some("4.1.4"));
            assert_eq!(sides[0].ucx.as_deref(), Some("1.13.1"));
            assert_eq!(sides[0].ports[0].device, "rocep0s16f1");
            advise(&sides, &Job::default()).candidates.remove(0)
        };
        let read = with(Some("hca_id:\trocep0s16f1\n\tmax_srq:\t\t\t64\n\tmax_srq_wr:\t\t\t1024\n"));
        assert!(read.words().join(" ").contains("UCX_RC_VERBS_RX_QUEUE_LEN=1023"), "{:?}", read.words());
        let none = with(Some("hca_id:\trocep0s16f1\n\tmax_srq:\t\t\t0\n\tmax_srq_wr:\t\t\t0\n"));
        assert!(none.words().join(" ").contains("UCX_TLS=ud_v,sm,self"), "{:?}", none.words());
        // The capture itself was made without -v.
        let unread = with(Some(include_str!("../../tests/fixtures/pvrdma-guest/17-ibv-devinfo.txt")));
        let note = unread.items.iter().find(|item| item.name == "UCX_RC_VERBS_RX_QUEUE_LEN").expect("told");
        assert!(note.value == "not known" && note.decide.contains("ibv_devinfo -v"), "{note:?}");
    }
}
