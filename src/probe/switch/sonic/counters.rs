//! What ports count. Numbers carry commas; what is not counted is `N/A`.

use crate::fabric::{Attribute, Fact, Observation};
use crate::probe::esxi::table::Table;
use crate::probe::switch::answer::{Facts, count, nothing, port, trouble};
use crate::probe::switch::names::is_port;

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::CounterValue]);
    }
    let mut facts = Facts::of(observation);
    for table in Table::all(&observation.stdout, 1) {
        for row in table.rows() {
            let Some(name) = table.get(row, &["IFACE"]).filter(|name| is_port(name)) else { continue };
            for title in ["RX_OK", "RX_ERR", "RX_DRP", "RX_OVR", "TX_OK", "TX_ERR", "TX_DRP", "TX_OVR"] {
                if let Some(word) = table.get(row, &[title]) {
                    count(&mut facts, &port(name), title, word, row.line);
                }
            }
        }
    }
    facts.said
}

pub(super) fn parse_pfc(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::CounterValue]);
    }
    let mut facts = Facts::of(observation);
    for table in Table::all(&observation.stdout, 1) {
        let direction = if table.column(&["Port Rx"]).is_some() { "rx" } else { "tx" };
        for row in table.rows() {
            let Some(name) = table.get(row, &["Port Rx", "Port Tx"]).filter(|name| is_port(name)) else { continue };
            for priority in 0..8 {
                if let Some(word) = table.get(row, &[&format!("PFC{priority}")]) {
                    count(&mut facts, &port(name), &format!("PFC{priority} {direction}"), word, row.line);
                }
            }
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::fabric::{Entity, Text};
    use crate::probe::Probe;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    fn of(name: &str) -> &'static Probe {
        PROBES.iter().find(|probe| probe.name == name).expect("a probe")
    }

    const PFC: &str = "  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0   1,200     204     N/A       0       0
Ethernet4       0       0       0       0       0       0       0       0

  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0      77       0       0       0       0
";

    #[test]
    fn frames_of_each_priority() {
        let facts = run(of("sonic.pfc-counters"), &[(PFC, "", 0)]);
        let is = |name: &str| {
            let counter = Entity::Counter { of: Text::new("Ethernet0"), name: Text::new(name) };
            shown(&facts, &counter, Attribute::CounterValue)
        };
        assert_eq!(is("PFC3 rx"), "1200");
        assert_eq!(is("PFC3 tx"), "77");
        assert_eq!(is("PFC5 rx"), "absent", "what is not counted is no zero");
    }

    #[test]
    fn errors_and_drops() {
        let text = "    IFACE    STATE       RX_OK      RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR       TX_OK      TX_BPS    TX_UTIL    TX_ERR    TX_DRP    TX_OVR
---------  -------  ----------  ----------  ---------  --------  --------  --------  ----------  ----------  ---------  --------  --------  --------
Ethernet0        U  471,729,839  653.87 MB/s     12.77%         0    18,682         0  409,682,385  556.84 MB/s     10.88%         3         0         0
";
        let facts = run(of("sonic.counters"), &[(text, "", 0)]);
        let is = |name: &str| {
            let counter = Entity::Counter { of: Text::new("Ethernet0"), name: Text::new(name) };
            shown(&facts, &counter, Attribute::CounterValue)
        };
        assert_eq!(is("TX_ERR"), "3");
        assert_eq!(is("RX_DRP"), "18682");
    }

    survives_damage!(of("sonic.pfc-counters"), PFC);
}
