//! The time that a viewer types to go to, read and written.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, ToSpan as _};

use super::format::Micros;
use crate::fabric::Timestamp;

/// What a recording spans, and where in it the viewer is.
#[derive(Clone, Debug)]
pub struct Span {
    /// When it began.
    pub started: Timestamp,
    /// When its last message came.
    pub end: Micros,
    /// What is shown now.
    pub here: Micros,
    /// Where the viewer's clock stands.
    pub zone: TimeZone,
}

/// A place in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it is.
    pub at: Micros,
    /// What is to be told if more was asked for than there is.
    pub beyond: Option<String>,
}

const SECOND: Micros = 1_000_000;

/// Reads `12:41` or `1:12:41` (from the start), `90` (seconds from the start), `+30` or `-1:30` (from here), `@14:03` or
/// `@14:03:27` (time of day). What lies beyond the ends means the ends, and what lies beyond the last one is told; for a
/// time of day that is an error.
pub fn read(text: &str, span: &Span) -> Result<Place, String> {
    let text = text.trim();
    let forms = "times: 12:41 or 1:12:41 from the start, +30 or -1:30 from here, @14:03";
    if let Some(clock) = text.strip_prefix('@') {
        let parts = numbers(clock).filter(|parts| parts.len() >= 2).ok_or(forms)?;
        let small = |at: usize| i8::try_from(parts.get(at).copied().unwrap_or(0)).ok();
        let time = (small(0).zip(small(1)).zip(small(2)))
            .and_then(|((hour, minute), second)| Time::new(hour, minute, second, 0).ok())
            .ok_or(forms)?;
        return of_day(time, span).map(|at| Place { at, beyond: None });
    }
    let (sign, digits) = match text.split_at_checked(1) {
        Some((sign @ ("+" | "-"), digits)) => (Some(sign), digits),
        _ => (None, text),
    };
    let parts = numbers(digits).ok_or(forms)?;
    // Only the first part may be above 59.
    if parts[1..].iter().any(|part| *part > 59) {
        return Err(forms.to_owned());
    }
    let seconds = parts.iter().fold(0u64, |sum, part| sum * 60 + u64::from(*part));
    let distance = seconds * SECOND;
    let at = match sign {
        Some("+") => span.here.saturating_add(distance),
        Some(_) => span.here.saturating_sub(distance),
        None => distance,
    };
    if at <= span.end {
        return Ok(Place { at, beyond: None });
    }
    let of_day = sign.is_none() && read(&format!("@{text}"), span).is_ok();
    let form = if of_day { format!("; the time of day is written @{text}") } else { String::new() };
    let beyond = format!("{} is beyond the end; the recording is {} long{form}", written(at), written(span.end));
    Ok(Place { at: span.end, beyond: Some(beyond) })
}

/// One to three numbers parted by colons.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let parts: Vec<u32> = text
        .split(':')
        .map(|part| part.parse().ok().filter(|_| part.len() <= 6 && part.bytes().all(|byte| byte.is_ascii_digit())))
        .collect::<Option<_>>()?;
    (1..=3).contains(&parts.len()).then_some(parts)
}

/// The first time after the start at which the viewer's clock stood so.
fn of_day(time: Time, span: &Span) -> Result<Micros, String> {
    let started = span.started.to_zoned_datetime(span.zone.clone());
    let outside = format!("the recording does not reach {}", time.strftime("%H:%M:%S"));
    let mut date = started.date();
    for _ in 0..2 {
        let at = span.zone.to_timestamp(date.to_datetime(time)).map_err(|_| outside.clone())?;
        // The second in which the recording began is within it.
        if at.as_second() >= span.started.as_second() {
            let since = at.duration_since(span.started).max(SignedDuration::ZERO);
            let since = Micros::try_from(since.as_micros()).unwrap_or(0);
            return if since <= span.end { Ok(since) } else { Err(outside) };
        }
        date = date.checked_add(1.day()).map_err(|_| outside.clone())?;
    }
    Err(outside)
}

/// A time from the start as the header shows it: `00:12:41`.
pub fn written(at: Micros) -> String {
    crate::app::format::position(std::time::Duration::from_micros(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span() -> Span {
        let started = "2026-11-30T23:30:00.4Z".parse().expect("a time");
        Span { started, end: 3600 * SECOND, here: 600 * SECOND, zone: TimeZone::UTC }
    }

    fn at(text: &str) -> Result<Micros, String> {
        read(text, &span()).map(|place| place.at)
    }

    #[test]
    fn what_lies_beyond_the_end_is_told() {
        let beyond = |text: &str| read(text, &span()).expect("a place").beyond;
        assert_eq!(
            beyond("23:40:00").as_deref(),
            Some("23:40:00 is beyond the end; the recording is 01:00:00 long; the time of day is written @23:40:00")
        );
        assert_eq!(beyond("1:00:01").as_deref(), Some("01:00:01 is beyond the end; the recording is 01:00:00 long"));
        assert!(beyond("+50:01").is_some_and(|text| !text.contains('@')));
        for within in ["1:00:00", "+50:00", "-59:00", "0", "@23:40"] {
            assert_eq!(beyond(within), None, "{within}");
        }
    }

    #[test]
    fn times_are_read_in_all_their_forms() {
        for (text, seconds) in [
            ("12:41", 761),
            ("0:12:41", 761),
            ("90", 90),
            ("90:00", 3600),
            ("5:00:00", 3600),
            ("+30", 630),
            ("-1:30", 510),
            ("-20:00", 0),
            (" 1:00 ", 60),
        ] {
            assert_eq!(at(text), Ok(seconds * SECOND), "{text}");
        }
        assert_eq!(at("@23:30"), Ok(0));
        assert_eq!(at("@23:30:01"), Ok(600_000));
        assert_eq!(at("@00:10"), Ok(2400 * SECOND - 400_000), "the next day");
        assert_eq!(at("@02:00"), Err("the recording does not reach 02:00:00".to_owned()));
        assert_eq!(at("@23:29"), Err("the recording does not reach 23:29:00".to_owned()));
    }

    #[test]
    fn what_is_no_time_is_told_with_the_forms() {
        for text in ["", ":", "x", "1:60", "1:2:3:4", "@14", "@25:00", "@1:99", "--1", "9999999", "+", "@", "²:00"] {
            assert!(read(text, &span()).is_err_and(|error| error.contains("12:41")), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_time_within_the_recording_or_an_error(text in "[@+-]?[0-9:x ]{0,12}") {
            if let Ok(place) = read(&text, &span()) {
                proptest::prop_assert!(place.at <= span().end);
            }
        }
    }

    #[test]
    fn positions_are_written_with_two_digits_each() {
        assert_eq!(written(761 * SECOND + 999_999), "00:12:41");
        assert_eq!(written(100 * 3600 * SECOND), "100:00:00");
    }
}
