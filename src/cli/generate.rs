//! `completions` and `man`: both are made from the description of the command line itself.

use clap::CommandFactory as _;

use super::args::Arguments;
use super::{Exit, Failure, output};

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "rdmascope", &mut script);
    output::print_bytes(&script)?;
    Ok(Exit::Done)
}

/// Prints the manual page of the program, with its list of commands.
pub fn manual() -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let command = Arguments::command();
    clap_mangen::Man::new(command).render(&mut page).map_err(|error| Failure::Internal(error.into()))?;
    output::print_bytes(&page)?;
    Ok(Exit::Done)
}
