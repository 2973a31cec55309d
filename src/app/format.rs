//! How numbers, times and values are written on the screen and in text documents: short, with units, never rounded to
//! a false zero.

use std::time::Duration;

use crate::fabric::{Attribute, Entity, EntityId, Fabric, State, Timestamp, Unit, Value};

/// A thing without its target; a VM by what it is called, for nobody knows its UUID.
pub fn named(fabric: &Fabric, id: &EntityId) -> String {
    let called = |vm: &EntityId| {
        let name = fabric.text(vm, Attribute::VmName).filter(|name| !name.is_empty());
        name.map(str::to_owned)
    };
    match &id.entity {
        Entity::Vm(_) => called(id).map_or_else(|| id.entity.to_string(), |called| format!("VM {called}")),
        Entity::VmDevice { vm, key } => {
            let vm = EntityId::new(&id.target, Entity::Vm(vm.clone()));
            called(&vm).map_or_else(|| id.entity.to_string(), |called| format!("device {key} of VM {called}"))
        }
        other => other.to_string(),
    }
}

/// A number with a decimal prefix: `12.3 k`, `1.04 G`. Three significant digits; an exact small number stays whole.
pub fn decimal(value: f64) -> String {
    scaled(value, 1000.0, &["", "k", "M", "G", "T", "P", "E"])
}

/// A number of bytes with a binary prefix: `8 Mi`.
fn binary(value: f64) -> String {
    scaled(value, 1024.0, &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
}

fn scaled(value: f64, step: f64, prefixes: &[&str]) -> String {
    let mut value = value;
    let mut index = 0;
    // 999.6 would be drawn as "1000": it moves on to the next prefix.
    while value.abs() >= step - 0.5 && index + 1 < prefixes.len() {
        value /= step;
        index += 1;
    }
    let number = if value == 0.0 {
        "0".to_owned()
    } else if (index == 0 && value.fract() == 0.0) || value.abs() >= 99.95 {
        format!("{value:.0}")
    } else if value.abs() >= 9.995 {
        trimmed(&format!("{value:.1}"))
    } else if value.abs() >= 0.01 {
        trimmed(&format!("{value:.2}"))
    } else {
        "<0.01".to_owned()
    };
    if prefixes[index].is_empty() { number } else { format!("{number} {}", prefixes[index]) }
}

fn trimmed(number: &str) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bits per second: `92.6 Gb/s`.
pub fn bits_per_second(value: f64) -> String {
    with_unit(&decimal(value), "b/s")
}

/// Bytes per second as links are rated, in thousands: `28.4 GB/s`.
pub fn bytes_per_second(value: f64) -> String {
    let (value, unit) = match value {
        value if value >= 1e9 => (value / 1e9, "GB/s"),
        value if value >= 1e6 => (value / 1e6, "MB/s"),
        value if value >= 1e3 => (value / 1e3, "kB/s"),
        value => (value, "B/s"),
    };
    if value.abs() >= 100.0 || value.fract().abs() < 0.05 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

/// Packets per second: `12.3 kpkt/s`.
pub fn packets_per_second(value: f64) -> String {
    with_unit(&decimal(value), "pkt/s")
}

/// Things per second: `3.5 /s`.
pub fn per_second(value: f64) -> String {
    with_unit(&decimal(value), "/s")
}

/// A plain number: `12.3k`.
pub fn plain(value: f64) -> String {
    with_unit(&decimal(value), "")
}

/// A number of bytes: `8 MiB`.
pub fn bytes(value: u64) -> String {
    with_unit(&binary(value as f64), "B")
}

fn with_unit(number: &str, unit: &str) -> String {
    match number.split_once(' ') {
        Some((digits, prefix)) if unit.is_empty() => format!("{digits}{prefix}"),
        Some(_) => format!("{number}{unit}"),
        None if unit.is_empty() => number.to_owned(),
        None => format!("{number} {unit}"),
    }
}

/// A whole number with a blank before each three digits: `1 234 567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A span of time: `12 s`, `4 min`, `3 h 05 min`, `2 d 4 h`.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A number of milliseconds: as they are below ten seconds, a span from there on.
pub fn milliseconds(count: u64) -> String {
    if count < 10_000 { format!("{count} ms") } else { span(count / 1000) }
}

/// How long something took: `0.4 ms`, `35 ms`, `2.10 s`.
pub fn duration(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1000.0;
    if milliseconds < 10.0 {
        format!("{milliseconds:.1} ms")
    } else if milliseconds < 1000.0 {
        format!("{milliseconds:.0} ms")
    } else {
        format!("{:.2} s", milliseconds / 1000.0)
    }
}

/// How old something is: `now`, `4 s`, `3 min`.
pub fn age(at: Timestamp, now: Timestamp) -> String {
    match u64::try_from(now.duration_since(at).as_secs()) {
        Ok(seconds) if seconds >= 1 => span(seconds),
        _ => "now".to_owned(),
    }
}

/// The time of day in the local zone: `14:03:27`.
pub fn clock(at: Timestamp, zone: &jiff::tz::TimeZone) -> String {
    at.to_zoned_datetime(zone.clone()).strftime("%H:%M:%S").to_string()
}

/// A place in a recording: `00:12:41`.
pub fn position(since_start: Duration) -> String {
    let seconds = since_start.as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A value with the unit of its attribute.
pub fn value(attribute: Attribute, value: &Value) -> String {
    match (attribute.unit(), value) {
        (Unit::Bytes | Unit::Megahertz | Unit::Mebibytes, Value::Count(u64::MAX)) => "unlimited".to_owned(),
        // An MTU is read as the number that was typed.
        (Unit::Bytes, Value::Count(count)) if matches!(attribute, Attribute::Mtu | Attribute::PathMtu) => {
            count.to_string()
        }
        (Unit::Bytes, Value::Count(count)) => bytes(*count),
        (Unit::BitsPerSecond, Value::Count(count)) => bits_per_second(*count as f64),
        (Unit::Megahertz, Value::Count(count)) => format!("{count} MHz"),
        (Unit::Mebibytes, Value::Count(count)) => format!("{count} MiB"),
        (Unit::Milliseconds, Value::Count(count)) => milliseconds(*count),
        (Unit::Milliwatts, Value::Count(count)) => format!("{} W", plain(*count as f64 / 1000.0)),
        (Unit::Celsius, Value::Count(count)) => format!("{count} °C"),
        // The kernel's number for a function of which its firmware says nothing.
        (_, Value::Text(_) | Value::Signed(_)) if attribute == Attribute::NumaNode && value.to_string() == "-1" => {
            "not told by the firmware".to_owned()
        }
        _ => value.to_string(),
    }
}

/// A state: the value with its unit, or why there is none.
pub fn state(attribute: Attribute, state: &State<Value>) -> String {
    match state {
        State::Known(known) => value(attribute, known),
        State::Empty if matches!(attribute, Attribute::MtuPersistence | Attribute::AddressPersistence) => {
            "not set by any file".to_owned()
        }
        missing => missing.why().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_honest() {
        for (number, expected) in [
            (0.0, "0"),
            (5.0, "5"),
            (0.5, "0.5"),
            (0.001, "<0.01"),
            (999.0, "999"),
            (999.7, "1 k"),
            (1234.0, "1.23 k"),
            (12_345.0, "12.3 k"),
            (123_456.0, "123 k"),
            (92.59e9, "92.6 G"),
            (1e21, "1000 E"),
        ] {
            assert_eq!(decimal(number), expected, "{number}");
        }
        assert_eq!(bits_per_second(92.59e9), "92.6 Gb/s");
        assert_eq!(bits_per_second(5.0), "5 b/s");
        assert_eq!(bytes(8 << 20), "8 MiB");
        assert_eq!(packets_per_second(12_345.0), "12.3 kpkt/s");
        assert_eq!(plain(12_345.0), "12.3k");
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }

    #[test]
    fn times_are_short() {
        assert_eq!(span(59), "59 s");
        assert_eq!(span(61), "1 min");
        assert_eq!(span(3 * 3600 + 5 * 60), "3 h 05 min");
        assert_eq!(span(2 * 86_400 + 4 * 3600), "2 d 4 h");
        assert_eq!(duration(Duration::from_micros(420)), "0.4 ms");
        assert_eq!(duration(Duration::from_millis(2100)), "2.10 s");
    }

    #[test]
    fn values_carry_the_unit_of_their_attribute() {
        assert_eq!(value(Attribute::MemlockSoft, &Value::Count(u64::MAX)), "unlimited");
        assert_eq!(value(Attribute::MemlockSoft, &Value::Count(8 << 20)), "8 MiB");
        assert_eq!(value(Attribute::Mtu, &Value::Count(9000)), "9000");
        assert_eq!(value(Attribute::Speed, &Value::Count(100_000_000_000)), "100 Gb/s");
        assert_eq!(value(Attribute::Swappiness, &Value::Count(60)), "60");
        assert_eq!(value(Attribute::NumaNode, &Value::from("-1")), "not told by the firmware");
        assert_eq!(value(Attribute::NumaNode, &Value::Signed(-1)), "not told by the firmware");
        assert_eq!(value(Attribute::NumaNode, &Value::from("1")), "1");
        assert_eq!(state(Attribute::MtuPersistence, &State::Empty), "not set by any file");
    }
}
