//! The keys of the default key map and the words of the screen that the end-to-end tests rely on, in one place.

use super::pty::View;

/// Opens the panel *Guest link*.
pub const GUEST_LINK: &str = "4";
/// Opens the panel *Live*.
pub const LIVE: &str = "5";
/// Opens the panel *Events*.
pub const EVENTS: &str = "8";
/// Opens and closes the help.
pub const HELP: &str = "?";
/// Closes an overlay.
pub const CLOSE: &str = "\x1b";
/// Connects again, at the user's own wish.
pub const RECONNECT: &str = "R";
/// Leaves the console.
pub const QUIT: &str = "q";

/// Stands in the help overlay and nowhere else.
pub const HELP_TITLE: &str = "Keys";
/// State of a port that is up.
pub const PORT_UP: &str = "ACTIVE";
/// State of a port that is down.
pub const PORT_DOWN: &str = "DOWN";
/// Why there is no byte rate.
pub const NO_BYTES: &str = "not published by rxe";
/// Why queue pairs of others are not listed.
pub const NEEDS_PRIVILEGE: &str = "needs privilege";
/// The ceiling of a port whose driver tells no honest rate: these words stand in one row.
pub const CEILING_UNKNOWN: [&str; 2] = ["ceiling", "unknown"];
/// A target whose values are old.
pub const STALE: &str = "stale";
/// Words by which a target in the tree is not up.
pub const NOT_UP: [&str; 4] = ["stale", "down", "waiting", "connecting"];
/// A refused key, in Events.
pub const KEY_REFUSED: &str = "refused";
/// A reboot, in Events.
pub const REBOOTED: &str = "reboot";
/// Rows of *Live* with the packets sent and received: these texts, then the rate.
pub const PACKETS_SENT: &str = "packets sent";
/// See [`PACKETS_SENT`].
pub const PACKETS_RECEIVED: &str = "packets received";

/// The row of a target in the fabric tree. The tree stands on the left, so the name begins in the first cells.
pub fn tree_row(view: &View<'_>, target: &str) -> Option<String> {
    view.rows().into_iter().skip(1).find(|row| {
        let left: String = row.chars().take(29).collect();
        left.split_whitespace().any(|word| word == target)
    })
}

/// True if the target stands in the tree and nothing there says that it is not up.
pub fn is_up(view: &View<'_>, target: &str) -> bool {
    tree_row(view, target).is_some_and(|row| {
        let left: String = row.chars().take(29).collect();
        !NOT_UP.iter().any(|word| left.contains(word))
    })
}

/// True if the tree says that the target is stale.
pub fn is_stale(view: &View<'_>, target: &str) -> bool {
    tree_row(view, target).is_some_and(|row| row.chars().take(29).collect::<String>().contains(STALE))
}

/// The number after a text in the row that holds it, with its `k`, `M` or `G`: `packets sent 1.2 k/s` is 1200.
pub fn number_after(view: &View<'_>, text: &str) -> Option<f64> {
    view.rows().iter().find_map(|row| number_in(row.split_once(text)?.1))
}

/// The first number of a text, with its `k`, `M` or `G`.
pub fn number_in(text: &str) -> Option<f64> {
    let start = text.find(|letter: char| letter.is_ascii_digit())?;
    let digits = &text[start..];
    let end = digits.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ',');
    let (number, rest) = digits.split_at(end.unwrap_or(digits.len()));
    let factor = match rest.trim_start().chars().next() {
        Some('k') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        _ => 1.0,
    };
    number.replace(',', "").parse::<f64>().ok().map(|number| number * factor)
}
