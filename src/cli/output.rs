//! Standard output. Whoever reads it may go away at any time (`| head`): then the rest is not written, and nothing is
//! said about it.

use std::io::{self, Write as _};

use super::Failure;
use crate::collect::reason::reason;

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

/// Writes a line to standard error; if that is gone too there is nobody to tell.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
