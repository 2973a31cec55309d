//! Standard output. Whoever reads it may go away at any time (`| head`): then the rest is not written, and nothing is
//! said about it.

use std::io::{self, Write as _};

use super::Failure;
use crate::collect::reason::reason;
use crate::fabric::text::clean_line;

/// Writes a text that ends with a newline to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Output(format!("standard output cannot be written: {}", reason(&error))))
        }
        _ => Ok(()),
    }
}

/// Writes a document as indented JSON with a newline at its end.
pub fn json(document: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document).map_err(|error| Failure::Internal(error.into()))?;
    Ok(format!("{text}\n"))
}

/// Writes a line to standard error; if that is gone too there is nobody to tell. Words of the command line and names of
/// files stand in it: nothing that a terminal obeys comes through, and it stays one line.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", clean_line(line));
}

/// The same of a text of several lines.
pub fn complain_lines(text: &str) {
    text.lines().for_each(complain);
}
