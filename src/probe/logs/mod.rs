//! Lines of an ESXi host's logs: the prefixes of all versions, which lines matter to RDMA, passthrough and power-on, and
//! what they mean. Pure text in, words out; the probes of a host and the judgement of pasted text share it.

pub mod vmkernel;
pub mod vmware;

/// How grave a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good or neutral news.
    Info,
    /// Worth a look.
    Warning,
    /// Something does not work.
    Error,
}

impl Severity {
    /// The word in documents: `info`, `warning`, `error`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One line of a log, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// Microseconds since 1970, UTC; `None` where the line has no stamp or one that is no time.
    pub stamp: Option<u64>,
    /// How grave the log itself says that it is.
    pub severity: Severity,
    /// The part of the system that speaks: `PCIPassthru`, `nvmerdma`, `nmlx5_core`.
    pub module: Option<&'a str>,
    /// The message, with its module.
    pub text: &'a str,
}

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// How grave it is.
    pub severity: Severity,
    /// In words, with what to do.
    pub text: String,
}

impl Meaning {
    pub(crate) fn new(severity: Severity, text: impl Into<String>) -> Self {
        Self { severity, text: text.into() }
    }
}

/// A row of a table of meanings: all of these words must be in the line.
pub(crate) type Row = (&'static [&'static str], Severity, &'static str);

pub(crate) fn look_up(rows: &[Row], text: &str) -> Option<Meaning> {
    rows.iter()
        .find(|(words, ..)| words.iter().all(|word| text.contains(word)))
        .map(|(_, severity, meaning)| Meaning::new(*severity, *meaning))
}

/// Reads the stamp at the start of a line: `2023-09-02T21:29:09.289Z`, with an offset (`+08:00`), in brackets, or with a
/// blank in the place of `T`. Gives what stands behind it; the line as it is where there is none.
pub(crate) fn split_stamp(line: &str) -> (Option<u64>, &str) {
    if let Some(inner) = line.strip_prefix('[')
        && let Some((stamp, rest)) = inner.split_once(']')
        && looks_like_stamp(stamp)
    {
        return (read_stamp(stamp), rest.trim_start());
    }
    if !looks_like_stamp(line) {
        return (None, line);
    }
    let end = line[10..].find([' ', '|']).map_or(line.len(), |at| at + 10);
    (read_stamp(&line[..end]), line[end..].trim_start())
}

/// True for a time and for what documents put in its place (`YYYY-MM-DDTHH:MM:SS`).
fn looks_like_stamp(text: &str) -> bool {
    let shape = |c: u8, class: u8| match class {
        b'0' => c.is_ascii_digit() || c.is_ascii_uppercase(),
        b'T' => c == b'T' || c == b' ',
        _ => c == class,
    };
    let bytes = text.as_bytes();
    let wanted = b"0000-00-00T00:00:00";
    bytes.len() >= wanted.len() && bytes.iter().zip(wanted).all(|(c, class)| shape(*c, *class))
}

fn read_stamp(text: &str) -> Option<u64> {
    let stamp = text.trim();
    // Without an offset the time is UTC: an ESXi host knows no other.
    let zoned = stamp[10..].contains(['Z', '+', '-']);
    let written = if zoned { stamp.to_owned() } else { format!("{stamp}Z") };
    let time: jiff::Timestamp = written.parse().ok()?;
    u64::try_from(time.as_microsecond()).ok()
}

/// The severity of a syslog prefix as newer versions write it: `In(182)`, `Wa(180)`, `Al(177)`. The number is syslog's
/// priority, of which the last three bits are the severity.
fn bracketed_severity(token: &str) -> Option<Severity> {
    let (letters, rest) = token.split_once('(')?;
    let number: u32 = rest.strip_suffix(')')?.parse().ok()?;
    if letters.len() != 2 || !letters.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    Some(match number % 8 {
        0..=3 => Severity::Error,
        4 => Severity::Warning,
        _ => Severity::Info,
    })
}

/// The bracketed severity at the start of a line, and what stands behind it.
pub(crate) fn split_severity(text: &str) -> Option<(Severity, &str)> {
    let (token, rest) = text.split_once(' ')?;
    Some((bracketed_severity(token)?, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_all_kinds() {
        let utc = split_stamp("2021-02-20T03:50:10.598Z In(05) vmx - x").0;
        assert_eq!(utc, Some(1_613_793_010_598_000));
        assert_eq!(split_stamp("2021-02-20T11:50:10.598+08:00| vmx| I125: x"), (utc, "| vmx| I125: x"));
        assert_eq!(split_stamp("2021-02-19T22:50:10.598-05:00| x").0, utc);
        assert_eq!(split_stamp("[2021-02-20 03:50:10.598000] x"), (utc, "x"));
        assert_eq!(split_stamp("[YYYY-MM-DDTHH:MM:SS] x"), (None, "x"), "documents leave the time out");
        assert_eq!(split_stamp("2021-99-20T03:50:10.598Z x"), (None, "x"));
        assert_eq!(split_stamp("no stamp"), (None, "no stamp"));
        assert_eq!(split_stamp(""), (None, ""));
        assert_eq!(split_stamp("2021-02-20T03:50:1ü x"), (None, "2021-02-20T03:50:1ü x"));
    }

    #[test]
    fn priorities_tell_the_severity() {
        assert_eq!(split_severity("Al(177) vmkalert: x"), Some((Severity::Error, "vmkalert: x")));
        assert_eq!(split_severity("Wa(180) x"), Some((Severity::Warning, "x")));
        assert_eq!(split_severity("In(182) x"), Some((Severity::Info, "x")));
        assert_eq!(split_severity("Er(02) x"), Some((Severity::Error, "x")));
        assert_eq!(split_severity("f(x) y"), None);
    }
}
