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
/// Opens the panel *Wizard*.
pub const WIZARD: &str = "6";
/// Opens the remedy for the selected finding.
pub const FIX: &str = "x";
/// Asks for the name of the target before a remedy is applied, and confirms it.
pub const ENTER: &str = "\r";
/// Asks for a text that rows have to hold.
pub const FILTER: &str = "/";
/// What is said of it.
pub const FILTERED: &str = "filter:";
/// Shows the way back of a remedy.
pub const UNDO: &str = "u";
/// Leaves the console.
pub const QUIT: &str = "q";

/// A remedy before it is applied.
pub const REMEDY_ASKS: &str = "once the name of the target is typed";
/// A remedy that helped.
pub const REMEDY_HELPED: &str = "applied and verified";
/// The way back of a remedy, once it was gone.
pub const TAKEN_BACK: &str = "taken back:";

/// Stands in the help overlay and nowhere else.
pub const HELP_TITLE: &str = "Keys";
/// State of a port that is up.
pub const PORT_UP: &str = "ACTIVE";
/// State of a port that is down.
pub const PORT_DOWN: &str = "DOWN";
/// A port that went down, in Events.
pub const WENT_DOWN: &str = "ACTIVE -> DOWN";
/// A port that came up again, in Events.
pub const CAME_UP: &str = "DOWN -> ACTIVE";
/// Why there is no byte rate.
pub const NO_BYTES: &str = "not published by rxe";
/// Why queue pairs of others are not listed.
pub const NEEDS_PRIVILEGE: &str = "needs privilege";
/// The ceiling of a port whose driver tells no honest rate: these words stand in one row.
pub const CEILING_UNKNOWN: [&str; 2] = ["ceiling", "unknown"];
/// A target whose values are old.
pub const STALE: &str = "stale";
/// A target whose values come in.
pub const OK: &str = "ok";
/// A refused key, in Events.
pub const KEY_REFUSED: &str = "login refused";
/// A reboot, in Events.
pub const REBOOTED: &str = "was rebooted";
/// Title of the graph of a port's packets, in *Live*.
pub const PACKETS: &str = "rxe0/1 packets";
/// Stands between the fabric tree and the panel.
pub const BORDER: char = '│';
/// Rows of a graph, its title included, in which its newest values stand.
const GRAPH_ROWS: usize = 6;

/// Queue pairs of a process in *Guest link*: these texts stand in one row.
pub fn queue_pairs_of(owner: &str, process: u64, pairs: usize) -> [String; 2] {
    [format!("{owner} {process}"), format!("{pairs} RC on rxe0")]
}

/// What the fabric tree says of a target, without the rest of the row.
pub fn tree_row(view: &View<'_>, target: &str) -> Option<String> {
    let left = |row: String| row.split(BORDER).next().unwrap_or_default().to_owned();
    view.rows().into_iter().skip(1).map(left).find(|left| left.split_whitespace().any(|word| word == target))
}

/// True if the tree says that the target answers: that it is as it should be, or how much is found on it (the clock of an
/// emulated guest wanders).
pub fn is_up(view: &View<'_>, target: &str) -> bool {
    let says = |word: &str| word == OK || word.starts_with("finding");
    tree_row(view, target).is_some_and(|left| left.split_whitespace().any(says))
}

/// True if the tree says that the target is stale.
pub fn is_stale(view: &View<'_>, target: &str) -> bool {
    tree_row(view, target).is_some_and(|left| left.split_whitespace().any(|word| word == STALE))
}

/// The rows of *Events* that hold all of these texts: each begins with its time of day, `14:03:27`.
pub fn events(view: &View<'_>, texts: &[&str]) -> Vec<String> {
    let is_time = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        parts.len() == 3 && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let right = |row: String| row.split_once(BORDER).map(|(_, right)| right.trim_start().to_owned());
    view.rows()
        .into_iter()
        .filter_map(right)
        .filter(|row| row.split_whitespace().next().is_some_and(is_time))
        .filter(|row| texts.iter().all(|text| row.contains(text)))
        .collect()
}

/// Packets a second, sent and received, as *Live* shows them for the port.
pub fn packets(view: &View<'_>) -> Option<(f64, f64)> {
    let rows = view.rows();
    let title = rows.iter().position(|row| row.contains(PACKETS))?;
    let graph = rows[title..].iter().take(GRAPH_ROWS).map(String::as_str).collect::<Vec<_>>().join("  ");
    let rate = |label: &str| graph.split(label).skip(1).find_map(rate_in);
    Some((rate(" tx ")?, rate(" rx ")?))
}

/// The number a text begins with, if packets a second follow it: `12.3 kpkt/s` is 12300.
pub fn rate_in(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    text[digits..].trim_start_matches([' ', 'k', 'M', 'G']).starts_with("pkt/s").then(|| number_in(text))?
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
