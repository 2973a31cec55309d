//! Commands that look at files: `cat`, `head`, `ls`, `stat`, `readlink`.

use super::{Scene, says};
use crate::lab::guest::templates::Append as _;
use crate::lab::guest::tree::Entry;
use crate::lab::machine::{Answer, NotRead};

/// Reads a path as the shell's working folder would make it: without a slash at its start it is below the login's home,
/// where nothing lies.
fn read(scene: &Scene<'_>, path: &str) -> Result<String, NotRead> {
    scene.tree.read(path, &scene.moment)
}

/// `cat`.
///
/// Source: captures "cat /nonexist", "cat /sys", "cat /sys/class/net/lo/speed" of a Debian 12 guest.
pub fn cat(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let mut answer = Answer::default();
    for path in words.iter().filter(|word| !word.starts_with('-')) {
        match read(scene, path) {
            Ok(content) => answer.stdout.push_str(&content),
            Err(why) => {
                answer.stderr.add(format_args!("cat: {}: {}\n", quoted(path), why.words()));
                answer.status = 1;
            }
        }
    }
    answer
}

/// `head [-n LINES | -LINES] FILE...`.
pub fn head(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let (mut count, mut files, mut rest) = (10, Vec::new(), words.iter().copied());
    while let Some(word) = rest.next() {
        match word.strip_prefix('-') {
            Some("n") => count = rest.next().and_then(|count| count.parse().ok()).unwrap_or(count),
            Some(letters) => count = letters.trim_start_matches('n').parse().unwrap_or(count),
            None => files.push(word),
        }
    }
    let mut answer = Answer::default();
    for (place, path) in files.iter().enumerate() {
        match read(scene, path) {
            Ok(content) => {
                if files.len() > 1 {
                    let gap = if place == 0 { "" } else { "\n" };
                    answer.stdout.add(format_args!("{gap}==> {path} <==\n"));
                }
                answer.stdout.extend(content.split_inclusive('\n').take(count));
            }
            Err(why) => {
                answer.stderr.add(format_args!("head: cannot open '{path}' for reading: {}\n", why.words()));
                answer.status = 1;
            }
        }
    }
    answer
}

/// GNU tools quote a name that a shell would take apart.
///
/// Source: capture of `cat` on a pattern without matches (tests/fixtures/pvrdma-guest/14-sysfs-values.txt).
fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:,+@%".contains(letter);
    if !path.is_empty() && path.chars().all(is_plain) { path.to_owned() } else { format!("'{path}'") }
}

/// Owner, group, links and size of a thing as `ls -l` shows them. What the kernel makes is root's; its files are a page
/// long in sysfs and empty in proc.
fn long(scene: &Scene<'_>, path: &str, name: &str, entry: &Entry, sizes: usize) -> String {
    let size = match entry {
        Entry::Device(_, major, minor) => format!("{major:>3}, {minor:>3}"),
        Entry::File(..) if path.starts_with("/sys") => format!("{:>sizes$}", 4096),
        _ => format!("{:>sizes$}", 0),
    };
    let links = if matches!(entry, Entry::Folder(..)) { 2 } else { 1 };
    let target = if let Entry::Link(target) = entry { format!(" -> {target}") } else { String::new() };
    let when = scene.moment.booted().strftime("%b %e %H:%M").to_string();
    format!("{} {links} root root {size} {when} {name}{target}\n", entry.permissions())
}

/// `ls [-1adl] PATH...`.
///
/// Source: captures "ls", "ls -l", "ls -d" of folders of sysfs in a Debian 12 guest. UNSOURCED: the numbers of links.
pub fn ls(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let letters: String = words.iter().filter_map(|word| word.strip_prefix('-')).collect();
    let has = |letter| letters.contains(letter);
    let mut paths: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    if paths.is_empty() {
        // The home of a login is empty.
        return says(if has('l') { "total 0\n" } else { "" });
    }
    paths.sort_unstable();
    let (mut answer, mut listings) = (Answer::default(), Vec::new());
    for path in &paths {
        let moment = &scene.moment;
        let found = match scene.tree.find(path, moment) {
            Some(found)
                if matches!(found.entry(), Entry::Link(_)) && (has('l') || has('d')) && !path.ends_with('/') =>
            {
                Some(found)
            }
            _ => scene.tree.follow(path, moment),
        };
        let Some(found) = found else {
            answer.stderr.add(format_args!("ls: cannot access '{path}': {}\n", NotRead::Missing.words()));
            answer.status = 2;
            continue;
        };
        if has('d') || !matches!(found.entry(), Entry::Folder(..)) {
            let name = path.trim_end_matches('/');
            if has('l') {
                answer.stdout.push_str(&long(scene, path, name, found.entry(), 1));
            } else {
                answer.stdout.add(format_args!("{name}\n"));
            }
            continue;
        }
        listings.push((*path, folder(scene, path, has('l'), has('a'))));
    }
    let with_names = paths.len() > 1;
    for (place, (path, listing)) in listings.iter().enumerate() {
        if with_names {
            let gap = if place > 0 || !answer.stdout.is_empty() { "\n" } else { "" };
            answer.stdout.add(format_args!("{gap}{path}:\n"));
        }
        answer.stdout.push_str(listing);
    }
    answer
}

fn folder(scene: &Scene<'_>, path: &str, is_long: bool, with_hidden: bool) -> String {
    let names = scene.tree.names(path, &scene.moment).unwrap_or_default();
    let base = path.trim_end_matches('/');
    if !is_long {
        let shown = names.iter().filter(|name| with_hidden || !name.starts_with('.'));
        return shown.map(|name| format!("{name}\n")).collect::<Vec<_>>().concat();
    }
    let entries: Vec<_> = names
        .iter()
        .filter_map(|name| Some((name, scene.tree.find(&format!("{base}/{name}"), &scene.moment)?)))
        .collect();
    let has_files = entries.iter().any(|(_, found)| matches!(found.entry(), Entry::File(..)));
    let has_devices = entries.iter().any(|(_, found)| matches!(found.entry(), Entry::Device(..)));
    let sizes = match (has_devices, has_files) {
        (true, _) => 8,
        (false, true) if base.starts_with("/sys") => 4,
        _ => 1,
    };
    let lines: Vec<String> = entries
        .iter()
        .map(|(name, found)| long(scene, &format!("{base}/{name}"), name, found.entry(), sizes))
        .collect();
    format!("total 0\n{}", lines.concat())
}

/// `stat -c FORMAT PATH...`: `%N %n %A %U %G %t %T %F`. Links are not followed.
///
/// Source: captures "stat -c %N ..." and "stat -c '%A %U %G %t %T %n' ..." (tests/fixtures/guest-probes).
pub fn stat(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let (mut format, mut paths, mut rest) = ("", Vec::new(), words.iter().copied());
    while let Some(word) = rest.next() {
        match word {
            "-c" | "--format" => format = rest.next().unwrap_or(""),
            "--" => {}
            word if word.starts_with("-c") => format = &word[2..],
            word => paths.push(word),
        }
    }
    let mut answer = Answer::default();
    for path in paths {
        let Some(found) = scene.tree.find(path, &scene.moment) else {
            answer.stderr.add(format_args!("stat: cannot statx '{path}': {}\n", NotRead::Missing.words()));
            answer.status = 1;
            continue;
        };
        answer.stdout.push_str(&stat_line(format, path, found.entry()));
    }
    answer
}

fn stat_line(format: &str, path: &str, entry: &Entry) -> String {
    let (major, minor) = if let Entry::Device(_, major, minor) = entry { (*major, *minor) } else { (0, 0) };
    let mut line = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            line.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => line.push_str(path),
            Some('N') => match entry {
                Entry::Link(target) => line.add(format_args!("'{path}' -> '{target}'")),
                _ => line.add(format_args!("'{path}'")),
            },
            Some('A') => line.push_str(&entry.permissions()),
            Some('U' | 'G') => line.push_str("root"),
            Some('t') => line.add(format_args!("{major:x}")),
            Some('T') => line.add(format_args!("{minor:x}")),
            Some('F') => line.push_str(match entry {
                Entry::Folder(..) => "directory",
                Entry::Link(_) => "symbolic link",
                Entry::File(..) => "regular file",
                Entry::Device(..) => "character special file",
            }),
            Some('%') | None => line.push('%'),
            Some(other) => {
                line.push('%');
                line.push(other);
            }
        }
    }
    line.push('\n');
    line
}

/// `readlink [-f] PATH...`.
pub fn readlink(scene: &Scene<'_>, words: &[&str]) -> Answer {
    let mut answer = Answer::default();
    for path in words.iter().filter(|word| !word.starts_with('-')) {
        match scene.tree.target(path, &scene.moment) {
            Some(target) => answer.stdout.add(format_args!("{target}\n")),
            None => answer.status = 1,
        }
    }
    answer
}
