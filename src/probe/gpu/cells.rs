//! The values that the tools of NVIDIA print: which of their words say that there is none, and why; addresses, numbers with
//! units, rows of their CSV.

use crate::fabric::{State, Text, Value};

/// Words of `nvidia-smi` in the place of a value: in a table of `--query-gpu` they stand in brackets.
const ABSENT: &[&str] = &["N/A", "Not Supported", "Not Available", "Not Active", "-", "None"];

/// Why there is no value, if these words say so.
pub fn absent(text: &str) -> Option<State<Value>> {
    let words = bare(text);
    Some(match words {
        "" => State::Empty,
        "N/A" | "Not Supported" | "Not Available" | "-" => State::NotAvailable,
        "Insufficient Permissions" => State::NeedsPrivilege(Text::new("root is told this by nvidia-smi")),
        "Function Not Found" | "Requested functionality has been deprecated" | "Deprecated" => {
            State::NotPublished(Text::new("this release of the NVIDIA driver"))
        }
        "Unknown Error" | "GPU is lost" | "GPU requires reset" | "ERR!" | "Error" => State::Failed(Text::new(words)),
        _ => return None,
    })
}

/// True if a name is none: `N/A` and the like where the name of a thing is wanted.
pub fn is_nothing(text: &str) -> bool {
    let words = bare(text);
    words.is_empty() || ABSENT.contains(&words)
}

/// The words without the brackets of `--query-gpu`.
fn bare(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text).trim()
}

/// A state out of a value that is not missing: a form that is not known is a failure, never a zero.
pub fn state(text: &str, convert: impl FnOnce(&str) -> Option<Value>) -> State<Value> {
    absent(text).unwrap_or_else(|| match convert(text.trim()) {
        Some(value) => State::Known(value),
        None => State::Failed(Text::new(&format!("not understood: {text}"))),
    })
}

/// An address as sysfs has it, `0000:0b:00.0`, out of what the tools print: `00000000:0B:00.0`.
pub fn address(text: &str) -> Option<Text> {
    let (rest, function) = text.trim().rsplit_once('.')?;
    let mut parts = rest.split(':');
    let (domain, bus, device) = (parts.next()?, parts.next()?, parts.next()?);
    let hex = |part: &str, length: std::ops::RangeInclusive<usize>| {
        (length.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| u32::from_str_radix(part, 16).ok())
            .flatten()
    };
    let (domain, bus, device) = (hex(domain, 4..=8)?, hex(bus, 2..=2)?, hex(device, 2..=2)?);
    let function = hex(function, 1..=1)?;
    parts.next().is_none().then(|| Text::new(&format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}")))
}

/// The number at the start of a value, and the unit behind it: `250.00 W`, `16x`, `26.562 GB/s`.
pub fn amount(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end =
        text.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '-').unwrap_or(text.len());
    let (number, unit) = (text[..end].parse::<f64>().ok()?, &text[end..]);
    // With an exponent it is another number, and no GPU has one.
    if unit
        .strip_prefix(['e', 'E'])
        .is_some_and(|power| power.starts_with(['+', '-']) || power.starts_with(|c: char| c.is_ascii_digit()))
    {
        return None;
    }
    number.is_finite().then(|| (number, text[end..].trim()))
}

/// A whole number that is not negative, whatever unit stands behind it.
pub fn count(text: &str) -> Option<u64> {
    let (number, _) = amount(text)?;
    (number >= 0.0).then(|| whole(number))
}

/// A number rounded to a whole one.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float saturates, and what is negative was refused"
)]
pub fn whole(number: f64) -> u64 {
    number.max(0.0).round() as u64
}

/// Bytes out of `40960 MiB`; without a unit they are MiB, as `nounits` leaves them.
pub fn mebibytes(text: &str) -> Option<u64> {
    let (number, unit) = amount(text)?;
    let scale = match unit {
        "" | "MiB" | "MB" => 1_048_576.0,
        "KiB" => 1024.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    (number >= 0.0).then(|| whole(number * scale))
}

/// Yes or no, in all the words for it.
pub fn flag(text: &str) -> Option<bool> {
    match text.trim() {
        "Enabled" | "Yes" | "Active" | "On" => Some(true),
        "Disabled" | "No" | "Not Active" | "Off" => Some(false),
        _ => None,
    }
}

/// The cells of a row of the tools' CSV.
pub fn cells(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

/// The names of what holds clocks down, by NVML's bits, in their order.
const REASONS: [(u64, &str); 9] = [
    (1, "idle"),
    (2, "application clocks"),
    (4, "software power cap"),
    (8, "hardware slowdown"),
    (16, "sync boost"),
    (32, "software thermal"),
    (64, "hardware thermal"),
    (128, "power brake"),
    (256, "display"),
];

/// What these bits of NVML say holds the clocks down. A bit that this program does not know is told as its number.
pub fn clock_reasons(bits: u64) -> Vec<Text> {
    let known = REASONS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| Text::new(name));
    let rest = bits & !511;
    let unknown = (rest != 0).then(|| Text::new(&format!("unknown reason 0x{rest:x}")));
    known.chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_their_spellings() {
        let of = |text: &str| address(text).map(|address| address.to_string());
        assert_eq!(of("00000000:0B:00.0").as_deref(), Some("0000:0b:00.0"));
        assert_eq!(of("0000:0b:00.0").as_deref(), Some("0000:0b:00.0"));
        assert_eq!(of("00010000:C1:1F.7").as_deref(), Some("10000:c1:1f.7"));
        for text in ["", "0b:00.0", "0000:0b:00", "0000:0b:00.x", "0000:0b:00:00.0", "zzzz:0b:00.0"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_missing_says_why_and_is_never_zero() {
        let of = |text: &str| state(text, |text| count(text).map(Value::Count));
        assert_eq!(of("16x"), State::Known(Value::Count(16)));
        assert_eq!(of("[N/A]"), State::NotAvailable);
        assert_eq!(of("[Not Supported]"), State::NotAvailable);
        assert_eq!(of("Unknown Error"), State::Failed(Text::new("Unknown Error")));
        assert!(matches!(of("[Insufficient Permissions]"), State::NeedsPrivilege(_)));
        assert!(matches!(of("-5"), State::Failed(_)));
        assert!(matches!(of("four"), State::Failed(_)));
        assert_eq!(of(""), State::Empty);
    }

    #[test]
    fn bits_become_names() {
        let of = |bits| clock_reasons(bits).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(of(0x48), ["hardware slowdown", "hardware thermal"]);
        assert_eq!(of(0x401), ["idle", "unknown reason 0x400"]);
        assert!(of(0).is_empty());
    }
}
