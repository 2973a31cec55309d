//! The same for the script that saves what a host says where this program is not: as much of it as `sed` can do, line by
//! line. What it leaves is masked when the file is read.

use super::SECRET;

/// The name of the function of sh that filters.
pub const FILTER_NAME: &str = "_hide";

/// A function of sh that copies its input without the values of secrets, for the `sed` of every system. Lines stay lines.
/// Those that begin with `marker` belong to the script and end what is hidden; it has no character that is special to `sed`.
pub fn filter(marker: &str) -> String {
    let mut script = String::from("_hide() {\nLC_ALL=C sed \\\n");
    let mut add = |expression: &str| {
        script.push_str("-e '");
        script.push_str(expression);
        script.push_str("' \\\n");
    };
    // Notes of people: behind the version of the hardware, and on every line of the table that is no row.
    add(&format!("/^Vmid /,/^{marker} /{{"));
    add("/^Vmid /b");
    add(&format!("/^{marker} /b"));
    add("/^Skipping invalid VM /b");
    add("/^[ \t]*$/b");
    add("s/^\\([0-9][0-9]*[ \t].*\\.vmx[ \t][ \t]*[^ \t]*[ \t][ \t]*vmx-[0-9]*\\).*/\\1   <masked>/");
    add("t");
    add("s/.*/<masked>/");
    add("}");
    // An annotation of a dump: up to the line that ends in its quote. Where that is not its end, the reader finds it.
    add("/^[ \t][ \t]*annotation = \"/{");
    add("/= \"[ \t]*$/b note");
    add("/\"[, \t]*$/!b note");
    add("s/= .*/= \"<masked>\",/");
    add("b");
    add(": note");
    add("s/= .*/= \"<masked>/");
    add("n");
    add(": more");
    add(&format!("/^{marker} /b"));
    add("/\"[, \t]*$/{");
    add("s/.*/\",/");
    add("b");
    add("}");
    add("s/.*//");
    add("n");
    add("b more");
    add("}");
    // Notes at snapshots: behind the colon, and all lines up to the next one of the tree.
    add(": tree");
    add("/^[-| ]*Snapshot [ND][a-z]* *:/{");
    add("s/:.*/: <masked>/");
    add(": rest");
    add("n");
    add(&format!("/^{marker} /b"));
    add("/^[-| ]*Snapshot [ND][a-z]* *:/b tree");
    add("/^[-| ]*Snapshot [ICS][a-z]* /b");
    add("/^-*|-[RC]/b");
    add("s/.*//");
    add("b rest");
    add("}");
    for (number, word) in SECRET.iter().enumerate() {
        let word = of_any_case(word);
        // A dump names the setting in one line and holds its value in the next, up to the end of its block. A quote that
        // does not close stays open, so that the reader looks for its end, too.
        add(&format!("/[ \t]key = \"[^\"]*{word}/{{"));
        add("n");
        add("s/\\([ \t]value = \\)\".*\"[, \t]*$/\\1\"<masked>\"/");
        add(&format!("t v{number}"));
        add("s/\\([ \t]value = \\).*/\\1\"<masked>/");
        add(&format!("t v{number}"));
        add("b");
        add(&format!(": v{number}"));
        add("n");
        add("/^[ \t]*}/b");
        add(&format!("/^{marker} /b"));
        add("s/.*//");
        add(&format!("b v{number}"));
        add("}");
        // A setting of a VMX, of a log, a variable of a script, an option.
        add(&format!("s/\\({word}[A-Za-z0-9_.:-]*[ \t]*=\\).*/\\1 \"<masked>\"/"));
        add(&format!("s/\\(-[A-Za-z-]*{word}[A-Za-z-]*[ \t]\\).*/\\1<masked>/"));
    }
    // Addresses with a password, and what is given to a program that sets passwords.
    add("s,\\(://[^/: \t]*:\\)[^ \t]*@,\\1<masked>@,g");
    add("s/\\(local\\.sh:.*[ \t]-p[ \t][ \t]*\\)[^ \t].*/\\1<masked>/");
    add("s/\\(local\\.sh:.*[ \t]-u[ \t]*[^ \t:]*:\\)[^ \t]*/\\1<masked>/");
    add("s/\\(echo\\).*\\(|.*passwd\\)/\\1 <masked> \\2/");
    script.push_str("\n}\n");
    script
}

/// A pattern for a word in any letter case: not every `sed` can be told to overlook it.
fn of_any_case(word: &str) -> String {
    word.chars()
        .map(|letter| match letter {
            '.' => "\\.".to_owned(),
            letter if letter.is_ascii_alphabetic() => {
                format!("[{}{}]", letter.to_ascii_uppercase(), letter.to_ascii_lowercase())
            }
            letter => letter.to_string(),
        })
        .collect()
}
