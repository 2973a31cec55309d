//! Takes a text apart into what it gives a job: options of a launcher, parameters, variables, in whichever of their forms
//! they are written. Nothing is run or expanded: `$(...)` and `$NAME` stay as they are.

use crate::fabric::text::clean_line;
use crate::tune::mpi::{LAUNCHERS, options};

/// No more of a text is read.
const LONGEST: usize = 256 * 1024;
/// No more items are told.
const MOST: usize = 1000;
/// How the variables begin that are looked at.
pub const VARIABLES: [&str; 6] = ["UCX_", "NCCL_", "OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "OMPI_"];

/// How an item is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A variable that is set for the process that starts the job.
    Variable,
    /// A variable that the launcher exports: `-x NAME=VALUE`.
    Exported,
    /// A name that the launcher exports with the value that it has: `-x NAME`.
    Passed,
    /// A parameter of Open MPI.
    Parameter,
    /// An option of the launcher.
    Option,
    /// An option of `srun`.
    Slurm,
    /// An option that is not in the catalogue.
    Strange,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Line of the text where the command begins, from 1.
    pub line: u32,
    /// How it is given.
    pub how: How,
    /// Its name: `UCX_TLS`, `pml`, `bind-to`.
    pub name: String,
    /// Its value; empty where it has none.
    pub value: String,
    /// As it is written.
    pub written: String,
}

/// The items of a text, in their order.
pub fn read(text: &str) -> Vec<Given> {
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let mut found = Vec::new();
    for (line, command) in commands(text) {
        let Some(words) = shlex::split(&command) else {
            // A quote that is never closed: the words as they stand.
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            of_command(line, &words, &mut found);
            continue;
        };
        for part in words.split(|word| matches!(word.as_str(), "&&" | "||" | ";" | "|" | "&")) {
            of_command(line, part, &mut found);
        }
    }
    found.truncate(MOST);
    found
}

/// Lines with what goes on after a backslash at their end; without comments and prompts.
fn commands(text: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let mut open: Option<(u32, String)> = None;
    for (number, line) in (1_u32..).zip(text.lines()) {
        let line = line.trim();
        let (begin, mut whole) = match open.take() {
            Some((begin, before)) => (begin, format!("{before} {line}")),
            None => (number, line.trim_start_matches(['$', '>']).trim_start().to_owned()),
        };
        if whole.starts_with('#') {
            continue;
        }
        if let Some(rest) = whole.strip_suffix('\\') {
            open = Some((begin, rest.trim_end().to_owned()));
            continue;
        }
        if whole.ends_with(';') {
            whole.pop();
        }
        if !whole.is_empty() {
            found.push((begin, whole));
        }
    }
    found.extend(open);
    found
}

fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Name and value of an assignment.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value))
}

fn is_looked_at(name: &str) -> bool {
    VARIABLES.iter().any(|begin| name.starts_with(begin))
}

struct Reader<'a> {
    line: u32,
    found: &'a mut Vec<Given>,
}

impl Reader<'_> {
    fn tell(&mut self, how: How, name: &str, value: &str, written: &str) {
        if self.found.len() < MOST {
            let (name, value, written) = (clean_line(name), clean_line(value), clean_line(written));
            self.found.push(Given { line: self.line, how, name, value, written });
        }
    }

    /// A variable, as one of Open MPI's parameters where it is one.
    fn variable(&mut self, how: How, name: &str, value: &str, written: &str) {
        match name.strip_prefix("OMPI_MCA_") {
            Some(parameter) => self.tell(How::Parameter, parameter, value, written),
            None if is_looked_at(name) => self.tell(how, name, value, written),
            None => {}
        }
    }
}

fn of_command(line: u32, words: &[String], found: &mut Vec<Given>) {
    let mut reader = Reader { line, found };
    let mut at = 0;
    let word = |at: usize| words.get(at).map(String::as_str);
    // What stands before a command: who runs it, and variables for it.
    while let Some(one) = word(at) {
        if matches!(one, "sudo" | "env" | "export" | "exec" | "time" | "nohup" | "set" | "declare" | "-x" | "-E" | "-i")
        {
            at += 1;
        } else if one == "setenv" {
            if let (Some(name), Some(value)) = (word(at + 1), word(at + 2)) {
                reader.variable(How::Variable, name, value, &format!("setenv {name} {value}"));
            }
            return;
        } else if one == "unset" {
            return;
        } else if let Some((name, value)) = assignment(one) {
            reader.variable(How::Variable, name, value, one);
            at += 1;
        } else {
            break;
        }
    }
    let Some(program) = word(at).map(name_of).filter(|name| LAUNCHERS.contains(name)) else { return };
    at += 1;
    if program == "srun" {
        of_slurm(&mut reader, &words[at..]);
    } else {
        of_launcher(&mut reader, &words[at..]);
    }
}

fn of_launcher(reader: &mut Reader<'_>, words: &[String]) {
    let mut at = 0;
    while let Some(word) = words.get(at).map(String::as_str) {
        let behind = |more: usize| words.get(at + more).map_or("", String::as_str);
        if word == ":" {
            // The next program of several, with its own options.
            at += 1;
            continue;
        }
        if word == "env" {
            at += 1;
            continue;
        }
        if let Some((name, value)) = assignment(word) {
            reader.variable(How::Variable, name, value, word);
            at += 1;
            continue;
        }
        if !word.starts_with('-') || word == "-" {
            // The program: what stands behind it is its own, up to a `:` that begins another one.
            match words[at..].iter().position(|word| word == ":") {
                Some(next) => at += next + 1,
                None => return,
            }
            continue;
        }
        let (option, glued) = match word.split_once('=') {
            Some((option, value)) if word.starts_with("--") => (option, Some(value)),
            _ => (word, None),
        };
        // MPICH and Intel MPI give variables so.
        if matches!(option, "-env" | "-genv" | "--env" | "--genv") && glued.is_none() {
            let (name, value) = (behind(1), behind(2));
            reader.variable(How::Exported, name, value, &format!("{word} {name} {value}"));
            at += 3;
            continue;
        }
        let Some((name, count, _)) = options::option(option) else {
            reader.tell(How::Strange, option.trim_start_matches('-'), glued.unwrap_or_default(), word);
            at += 1;
            // Its value, if it has one: something that is no option, with more options behind it.
            let has_more = words.get(at + 1).is_some_and(|word| word.starts_with('-'));
            if glued.is_none() && has_more && words.get(at).is_some_and(|word| !word.starts_with('-')) {
                at += 1;
            }
            continue;
        };
        let count = if glued.is_some() { count.saturating_sub(1) } else { count };
        let whole = words[at..words.len().min(at + 1 + count)].join(" ");
        match (name, glued) {
            ("mca" | "gmca" | "omca", None) => reader.tell(How::Parameter, behind(1), behind(2), &whole),
            ("x", value) => {
                let exported = value.unwrap_or_else(|| behind(1));
                match assignment(exported) {
                    Some((name, value)) => reader.variable(How::Exported, name, value, &whole),
                    None => reader.tell(How::Passed, exported, "", &whole),
                }
            }
            (name, value) => {
                let behind = if count > 0 { behind(1) } else { "" };
                reader.tell(How::Option, name, value.unwrap_or(behind), &whole);
            }
        }
        at += 1 + count;
    }
}

/// Options of `srun` that matter to MPI: how ranks find each other, and which variables go with them.
fn of_slurm(reader: &mut Reader<'_>, words: &[String]) {
    let mut at = 0;
    while let Some(word) = words.get(at).map(String::as_str) {
        if !word.starts_with('-') {
            return;
        }
        let behind = words.get(at + 1).map_or("", String::as_str);
        let flags = ["--exclusive", "--label", "-l", "--verbose", "-v", "--overlap", "--pty", "-K"];
        let (option, value, count) = if let Some((option, value)) = word.split_once('=') {
            (option, value, 1)
        } else if flags.contains(&word) || behind.starts_with('-') {
            (word, "", 1)
        } else {
            (word, behind, 2)
        };
        let written = words[at..words.len().min(at + count)].join(" ");
        reader.tell(How::Slurm, option.trim_start_matches('-'), value, &written);
        if option == "--export" {
            for (name, value) in value.split(',').filter_map(assignment) {
                reader.variable(How::Exported, name, value, &format!("{name}={value}"));
            }
        }
        at += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::testing::mutated_texts;

    fn items(text: &str) -> Vec<(How, String, String)> {
        read(text).into_iter().map(|given| (given.how, given.name, given.value)).collect()
    }

    fn is(how: How, name: &str, value: &str) -> (How, String, String) {
        (how, name.to_owned(), value.to_owned())
    }

    #[test]
    fn all_forms_of_a_variable() {
        for text in [
            "export UCX_TLS=rc_v,ud_v",
            "UCX_TLS=rc_v,ud_v ./a.out",
            "env UCX_TLS='rc_v,ud_v' ./a.out",
            "setenv UCX_TLS rc_v,ud_v",
            "UCX_TLS=\"rc_v,ud_v\"",
            "$ export UCX_TLS=rc_v,ud_v;",
        ] {
            assert_eq!(items(text), [is(How::Variable, "UCX_TLS", "rc_v,ud_v")], "{text}");
        }
        assert_eq!(items("export SECRET=x"), [], "others are not looked at");
        assert_eq!(items("export OMPI_MCA_pml=ucx"), [is(How::Parameter, "pml", "ucx")]);
    }

    #[test]
    fn a_launcher_with_all_it_is_given() {
        let text = "# a comment\nsudo UCX_TLS=rc mpirun -np 4 --host a:2,b:2 \\\n  --mca pml ucx -x UCX_NET_DEVICES=mlx5_0:1 -x PATH \\\n  --bind-to=core --map-by node:PE=2 \
                    ./solver -x 3 --mca none of ours\n";
        let found = read(text);
        assert!(found.iter().all(|given| given.line == 2), "{found:?}");
        let told: Vec<_> = found.into_iter().map(|given| (given.how, given.name, given.value)).collect();
        assert_eq!(
            told,
            [
                is(How::Variable, "UCX_TLS", "rc"),
                is(How::Option, "np", "4"),
                is(How::Option, "host", "a:2,b:2"),
                is(How::Parameter, "pml", "ucx"),
                is(How::Exported, "UCX_NET_DEVICES", "mlx5_0:1"),
                is(How::Passed, "PATH", ""),
                is(How::Option, "bind-to", "core"),
                is(How::Option, "map-by", "node:PE=2"),
            ]
        );
    }

    #[test]
    fn other_launchers_and_several_programs() {
        assert_eq!(
            items("srun --mpi=pmix -n 4 --export=ALL,UCX_TLS=rc ./a"),
            [
                is(How::Slurm, "mpi", "pmix"),
                is(How::Slurm, "n", "4"),
                is(How::Slurm, "export", "ALL,UCX_TLS=rc"),
                is(How::Exported, "UCX_TLS", "rc"),
            ]
        );
        assert!(items("mpiexec -genv UCX_TLS rc -np 2 ./a").contains(&is(How::Exported, "UCX_TLS", "rc")));
        let two = items("mpirun -np 1 ./a x : -np 1 -x UCX_TLS=tcp ./b && echo done");
        assert_eq!(two.len(), 3, "{two:?}");
        assert_eq!(items("mpirun --frobnicate 3 --mca pml ucx ./a")[0], is(How::Strange, "frobnicate", ""));
        assert!(items("mpirun --frobnicate 3 --mca pml ucx ./a").contains(&is(How::Parameter, "pml", "ucx")));
        assert_eq!(items("mpirun -np 2 --mca"), [is(How::Option, "np", "2"), is(How::Parameter, "", "")]);
    }

    const SEEDS: &[&str] = &[
        "export UCX_TLS='rc_v,ud_v'\nmpirun -np 4 --host a:2,b:2 \\\n --mca pml ucx -x UCX_NET_DEVICES=mlx5_0:1 ./a : -np 1 ./b\n",
        "srun --mpi=pmix --export=ALL,UCX_TLS=rc -n 4 ./a\nsetenv NCCL_IB_HCA mlx5\n",
        "a slots=4 max_slots=8\nb:2\n# comment\n",
    ];

    proptest::proptest! {
        #[test]
        fn damaged_text_is_survived(text in mutated_texts(SEEDS)) {
            for given in read(&text) {
                for part in [&given.name, &given.value, &given.written] {
                    proptest::prop_assert!(!part.chars().any(char::is_control), "{given:?}");
                }
            }
            for host in super::super::hostfile::read(&text).hosts {
                proptest::prop_assert!(!host.name.is_empty() && !host.name.chars().any(char::is_control));
            }
        }

        #[test]
        fn whatever_is_quoted_comes_back(value in "[ -~]{1,40}") {
            let text = format!("mpirun --mca pml {} ./a", crate::tune::advice::quoted(&value));
            let found = read(&text);
            let is_line = !value.starts_with('#') && !matches!(value.as_str(), "&&" | "||" | ";" | "|" | "&");
            proptest::prop_assume!(is_line);
            proptest::prop_assert_eq!(&found[0].value, &clean_line(&value));
        }
    }
}
