//! What came of a comparison, in words.

use super::{Better, Compared, NotComparable, Verdict};

/// One sentence about a comparison that was judged, with the unit of its values (empty for none).
pub fn sentence(compared: &Compared, verdict: Verdict, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let difference = &compared.difference;
    let (was, is) = sides(compared);
    let numbers = format!("{} -> {}{unit}", number(was), number(is));
    let interval = format!(
        "{} (95 % interval {} to {})",
        amount(compared, difference.shift, &unit),
        amount(compared, difference.low, &unit),
        amount(compared, difference.high, &unit)
    );
    match verdict {
        Verdict::Better => format!("better: {numbers}, {interval}"),
        Verdict::Worse => format!("worse: {numbers}, {interval}"),
        Verdict::Changed => format!("another value: {numbers}, {interval}"),
        Verdict::Drifted => format!(
            "it drifted: no claim. Before the change it was {}{unit}, after it was taken back {}{unit}: {interval}",
            number(was),
            number(is)
        ),
        Verdict::NoDifference => format!(
            "no difference seen: {numbers}, {interval}; one of {} would have been called nine times of ten",
            size(compared, compared.detectable(), &unit)
        ),
        Verdict::NotComparable => "not comparable".to_owned(),
    }
}

/// The same of what could not be compared.
pub fn refusal(refused: &NotComparable) -> String {
    format!("not comparable: {}; what would decide: {}", refused.why, refused.decide)
}

/// What the difference was measured from and to: the middles that the test is about.
fn sides(compared: &Compared) -> (f64, f64) {
    // Medians of repeats, means of samples: whichever the reference is.
    if (compared.reference - compared.before.median).abs() <= f64::EPSILON * compared.reference.abs() {
        (compared.before.median, compared.after.median)
    } else {
        (compared.reference, compared.after.mean)
    }
}

/// A difference with its sign, as a part of what was before where that can be said.
fn amount(compared: &Compared, difference: f64, unit: &str) -> String {
    match compared.part(difference) {
        Some(part) => format!("{:+.1} %", 100.0 * part),
        None => format!("{}{}{unit}", if difference < 0.0 { "" } else { "+" }, number(difference)),
    }
}

/// The same without a sign.
fn size(compared: &Compared, difference: f64, unit: &str) -> String {
    match compared.part(difference) {
        Some(part) => format!("{:.1} %", 100.0 * part),
        None => format!("{}{unit}", number(difference)),
    }
}

/// A number with four digits that count, without an exponent where that can be read.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e9).contains(&size) {
        format!("{value:.3e}")
    } else {
        let decimals = if size >= 1000.0 {
            0
        } else if size >= 100.0 {
            1
        } else if size >= 10.0 {
            2
        } else if size >= 1.0 {
            3
        } else {
            5
        };
        format!("{value:.decimals$}")
    }
}

/// Which way is better, in words.
pub fn direction(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Higher) => "higher is better",
        Some(Better::Lower) => "lower is better",
        None => "which way is better is not told",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LEVEL, repeats, samples};
    use super::*;

    #[test]
    fn differences_are_told_with_their_interval() {
        let before = [100.0, 101.0, 99.0, 100.5, 99.5];
        let after = [90.0, 91.0, 89.0, 90.5, 89.5];
        let found = repeats::compare(&before, &after).expect("comparable");
        let verdict = found.verdict(Some(Better::Higher), LEVEL);
        let text = sentence(&found, verdict, "MB/s");
        assert_eq!(text, "worse: 100.0 -> 90.00 MB/s, -10.0 % (95 % interval -11.5 % to -8.5 %)");
        let text = sentence(&found, found.verdict(Some(Better::Lower), LEVEL), "");
        assert!(text.starts_with("better: 100.0 -> 90.00, "), "{text}");
    }

    #[test]
    fn no_difference_says_how_small_a_one_would_have_been_seen() {
        let before: Vec<f64> = (0..30).map(|number| 100.0 + f64::from(number * 7 % 5)).collect();
        let found = samples::compare(&before, &before).expect("comparable");
        let text = sentence(&found, found.verdict(Some(Better::Higher), LEVEL), "MB/s");
        assert!(text.starts_with("no difference seen: 102.0 -> 102.0 MB/s, +0.0 % "), "{text}");
        assert!(text.ends_with(" would have been called nine times of ten"), "{text}");
    }

    #[test]
    fn where_it_was_nothing_there_are_no_percents() {
        let found = repeats::compare(&[0.0; 5], &[3.0; 5]).expect("comparable");
        let text = sentence(&found, found.verdict(Some(Better::Lower), LEVEL), "drops");
        assert_eq!(text, "worse: 0 -> 3.000 drops, +3.000 drops (95 % interval +3.000 drops to +3.000 drops)");
    }

    #[test]
    fn numbers_are_readable() {
        for (value, expected) in
            [(0.0, "0"), (0.87, "0.87000"), (3.25, "3.250"), (92.56, "92.56"), (11_033.2, "11033"), (1e12, "1.000e12")]
        {
            assert_eq!(number(value), expected);
        }
    }
}
