//! The list of what changed since the last healthy snapshot, at all sizes.

use super::*;

use std::collections::BTreeMap;

use rdmascope::app::healthy::{HealthyNews, HealthyRead, KeptTarget};
use rdmascope::fabric::{Attribute, Entity, Fact, Report, SourceId, Value};
use rdmascope::probe::linux;

const SIZES: [(u16, u16); 3] = [(20, 5), (80, 24), (200, 50)];

fn news(model: &mut Model, news: HealthyNews) {
    update(model, Message::Healthy { at: at(60), news });
}

/// The guests of yesterday: as they are, but for an MTU, the governor of power and a module.
fn compared() -> Model {
    let mut model = running();
    model.options.keeps_healthy = true;
    let mut targets = BTreeMap::new();
    for name in ["softroce1", "softroce2"] {
        let target = TargetId::new(name);
        for probe in linux::PROBES {
            let probe = SourceId::new(probe.name);
            if !model.targets[&target].read.contains(&probe) {
                let report = Report { target: target.clone(), probe, observations: Vec::new(), facts: Vec::new() };
                update(&mut model, Message::Report { at: at(60), report });
            }
        }
        let mut facts = Vec::new();
        for entity in model.fabric.entities(&target) {
            let id = rdmascope::fabric::EntityId::new(&target, entity.clone());
            for (attribute, reading) in model.fabric.readings(&id) {
                let mut reading = reading.clone();
                let is_mtu =
                    attribute == Attribute::Mtu && matches!(entity, Entity::Netdev(name) if name.starts_with("ens"));
                if is_mtu && name == "softroce2" {
                    reading.state = rdmascope::fabric::State::Known(Value::Count(9000));
                }
                facts.push(Fact { entity: entity.clone(), attribute, reading });
            }
        }
        if name == "softroce1" {
            let reading = facts[0].reading.clone();
            facts.push(Fact {
                entity: Entity::Module("ib_uverbs_of_yesterday".into()),
                attribute: Attribute::DriverVersion,
                reading,
            });
        }
        let probe = SourceId::new("snapshot");
        news(&mut model, HealthyNews::Part(Report { target: target.clone(), probe, observations: Vec::new(), facts }));
        let file = Text::new("/root/.local/state/rdmascope/healthy/lab-1f2e3d4c5b6a7988/1970-01-01.json");
        targets.insert(target, KeptTarget { at: at(0), file });
    }
    let passed_over = vec![Text::new(
        "/root/.local/state/rdmascope/healthy/lab-1f2e3d4c5b6a7988/1970-01-02.json: it is a damaged snapshot: EOF while parsing a value at line 1 column 77",
    )];
    news(&mut model, HealthyNews::Read(Box::new(HealthyRead { targets, passed_over, is_new: false })));
    update(&mut model, Message::Clock(at(100)));
    model
}

#[test]
fn what_changed_since_the_last_healthy_snapshot() {
    let mut model = compared();
    act(&mut model, &["what-changed"]);
    for (columns, rows) in SIZES {
        let buffer = drawn(&mut model, columns, rows, GlyphSet::Braille);
        insta::assert_snapshot!(format!("what_changed_{columns}x{rows}"), text(&buffer));
    }
    act(&mut model, &["right"]);
    insta::assert_snapshot!("what_changed_styles", styles(&drawn(&mut model, 80, 24, GlyphSet::Braille)));
    let ascii = text(&drawn(&mut model, 80, 24, GlyphSet::Ascii));
    assert!(ascii.is_ascii(), "{ascii}");
}

#[test]
fn without_a_snapshot_the_list_says_why() {
    let mut model = running();
    act(&mut model, &["what-changed"]);
    assert!(shown(&mut model, 80, 24).contains("no healthy snapshots are kept here"));
    model.options.keeps_healthy = true;
    assert!(shown(&mut model, 80, 24).contains("healthy snapshots are being read"));
    news(&mut model, HealthyNews::Read(Box::default()));
    assert!(shown(&mut model, 80, 24).contains("there is no healthy snapshot yet"));
    for columns in 1..30 {
        for rows in 1..9 {
            drawn(&mut model, columns, rows, GlyphSet::Braille);
        }
    }
}
