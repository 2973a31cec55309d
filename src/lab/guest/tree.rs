//! A tree of files: folders, symbolic links, device nodes, and files whose content is rendered when it is read. Paths are
//! walked as the kernel walks them, so a file can be reached over every link that leads to it.

use std::collections::BTreeMap;
use std::fmt;

use super::state::Moment;
use crate::lab::machine::NotRead;

/// Links that are followed on one walk before it is given up, as on Linux.
const MOST_LINKS: u32 = 40;

/// Renders the content of a file.
pub type Render = Box<dyn Fn(&Moment<'_>) -> Result<String, NotRead> + Send + Sync>;
/// Makes entries that come and go.
pub type More = Box<dyn Fn(&Moment<'_>) -> Vec<(String, Entry)> + Send + Sync>;

/// One thing in the tree.
pub enum Entry {
    /// A folder: what is always in it, and what comes and goes.
    Folder(BTreeMap<String, Entry>, Option<More>),
    /// A symbolic link.
    Link(String),
    /// A file: its permissions and its content.
    File(u16, Render),
    /// A character device: permissions, major and minor number.
    Device(u16, u32, u32),
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(entries, _) => formatter.debug_map().entries(entries).finish(),
            Self::Link(target) => write!(formatter, "-> {target}"),
            Self::File(mode, _) => write!(formatter, "file {mode:o}"),
            Self::Device(mode, major, minor) => write!(formatter, "device {mode:o} {major}:{minor}"),
        }
    }
}

impl Entry {
    /// A file that everybody may read.
    pub fn file(render: impl Fn(&Moment<'_>) -> Result<String, NotRead> + Send + Sync + 'static) -> Self {
        Self::File(0o444, Box::new(render))
    }

    /// A file that everybody may read and that can always be read.
    pub fn text(render: impl Fn(&Moment<'_>) -> String + Send + Sync + 'static) -> Self {
        Self::file(move |moment| Ok(render(moment)))
    }

    /// A file whose content never changes.
    pub fn fixed(content: impl Into<String>) -> Self {
        let content = content.into();
        Self::text(move |_| content.clone())
    }

    /// The type and permissions as `ls -l` and `stat -c %A` print them.
    pub fn permissions(&self) -> String {
        let (kind, mode) = match self {
            Self::Folder(..) => ('d', 0o755),
            Self::Link(_) => ('l', 0o777),
            Self::File(mode, _) => ('-', *mode),
            Self::Device(mode, ..) => ('c', *mode),
        };
        let bit = |shift: u16, letter| if mode >> shift & 1 == 1 { letter } else { '-' };
        let bits = (0..9).rev().map(|shift| bit(shift, ['x', 'w', 'r'][usize::from(shift % 3)]));
        std::iter::once(kind).chain(bits).collect()
    }

    fn is_readable(&self, moment: &Moment<'_>) -> bool {
        match self {
            Self::File(mode, _) | Self::Device(mode, ..) => moment.login.is_root || mode & 0o4 != 0,
            Self::Folder(..) | Self::Link(_) => true,
        }
    }
}

/// What stands at the end of a walk.
pub enum Found<'a> {
    /// Something that is always there.
    Kept(&'a Entry),
    /// Something that comes and goes.
    Made(Entry),
}

impl Found<'_> {
    /// The thing itself.
    pub fn entry(&self) -> &Entry {
        match self {
            Self::Kept(entry) => entry,
            Self::Made(entry) => entry,
        }
    }
}

/// The files of a machine.
#[derive(Debug)]
pub struct Tree {
    root: Entry,
}

impl Default for Tree {
    fn default() -> Self {
        Self { root: Entry::Folder(BTreeMap::new(), None) }
    }
}

impl Tree {
    /// Puts something at a path whose folders are made as needed. A path of this tree never leads over a link.
    pub fn put(&mut self, path: &str, entry: Entry) {
        let mut names: Vec<&str> = parts(path).collect();
        let Some(last) = names.pop() else { return };
        let mut folder = &mut self.root;
        for name in names {
            let Entry::Folder(entries, _) = folder else { return };
            folder = entries.entry(name.to_owned()).or_insert_with(|| Entry::Folder(BTreeMap::new(), None));
        }
        let Entry::Folder(entries, _) = folder else { return };
        match (entries.get_mut(last), entry) {
            // What a folder always holds may be put there before it is said what comes and goes.
            (Some(Entry::Folder(_, more)), Entry::Folder(_, new @ Some(_))) => *more = new,
            (_, entry) => {
                entries.insert(last.to_owned(), entry);
            }
        }
    }

    /// A fixed text at a path.
    pub fn fixed(&mut self, path: &str, content: impl Into<String>) {
        self.put(path, Entry::fixed(content));
    }

    /// A symbolic link at a path.
    pub fn link(&mut self, path: &str, target: &str) {
        self.put(path, Entry::Link(target.to_owned()));
    }

    /// Walks to a path; the last part of it is not followed if it is a link.
    pub fn find<'a>(&'a self, path: &str, moment: &Moment<'_>) -> Option<Found<'a>> {
        let (mut walked, last) = self.folder_of(path, moment)?;
        match last {
            None => walked.pop().or(Some(Found::Kept(&self.root))),
            Some(last) => child(walked.last(), &self.root, &last, moment),
        }
    }

    /// Walks to a path, also over a link at its end.
    pub fn follow<'a>(&'a self, path: &str, moment: &Moment<'_>) -> Option<Found<'a>> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let found = self.find(&path, moment)?;
            let Entry::Link(target) = found.entry() else { return Some(found) };
            path = if target.starts_with('/') { target.clone() } else { format!("{}/{target}", parent(&path)) };
        }
        None
    }

    /// The content of a file.
    pub fn read(&self, path: &str, moment: &Moment<'_>) -> Result<String, NotRead> {
        let found = self.follow(path, moment).ok_or(NotRead::Missing)?;
        if !found.entry().is_readable(moment) {
            return Err(NotRead::Denied);
        }
        match found.entry() {
            Entry::Folder(..) => Err(NotRead::Directory),
            Entry::File(_, render) => render(moment),
            Entry::Link(_) | Entry::Device(..) => Err(NotRead::Invalid),
        }
    }

    /// Where a symbolic link leads.
    pub fn target(&self, path: &str, moment: &Moment<'_>) -> Option<String> {
        match self.find(path, moment)?.entry() {
            Entry::Link(target) => Some(target.clone()),
            _ => None,
        }
    }

    /// The names in a folder, sorted as in the C locale; `None` if it is none.
    pub fn names(&self, path: &str, moment: &Moment<'_>) -> Option<Vec<String>> {
        let found = self.follow(path, moment)?;
        let Entry::Folder(entries, more) = found.entry() else { return None };
        let mut names: Vec<String> = entries.keys().cloned().collect();
        if let Some(more) = more {
            names.extend(more(moment).into_iter().map(|(name, _)| name));
        }
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// The paths that match a pattern of sh, sorted as in the C locale.
    pub fn expand(&self, pattern: &str, moment: &Moment<'_>) -> Vec<String> {
        if !pattern.starts_with('/') {
            return Vec::new();
        }
        let mut found = vec![String::new()];
        let mut wanted = parts(pattern).peekable();
        while let Some(part) = wanted.next() {
            let mut next = Vec::new();
            for folder in found {
                if is_pattern(part) {
                    let hidden = part.starts_with('.');
                    for name in self.names(if folder.is_empty() { "/" } else { &folder }, moment).unwrap_or_default() {
                        if (hidden || !name.starts_with('.')) && matches(part, &name) {
                            next.push(format!("{folder}/{name}"));
                        }
                    }
                } else {
                    next.push(format!("{folder}/{part}"));
                }
            }
            // What a pattern found is there; what a name says may not be, and what is no folder has nothing in it.
            if wanted.peek().is_none() && !is_pattern(part) {
                next.retain(|path| self.find(path, moment).is_some());
            }
            found = next;
        }
        found.sort_unstable();
        found
    }

    /// Walks to the folder that holds the last part of a path: the folders on the way, and the name of that part.
    fn folder_of<'a>(&'a self, path: &str, moment: &Moment<'_>) -> Option<(Vec<Found<'a>>, Option<String>)> {
        if !path.starts_with('/') {
            return None;
        }
        let mut left: Vec<String> = parts(path).rev().map(str::to_owned).collect();
        let mut walked: Vec<Found<'a>> = Vec::new();
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name == ".." {
                walked.pop();
                continue;
            }
            if left.is_empty() {
                return Some((walked, Some(name)));
            }
            let found = child(walked.last(), &self.root, &name, moment)?;
            match found.entry() {
                Entry::Link(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return None;
                    }
                    if target.starts_with('/') {
                        walked.clear();
                    }
                    left.extend(parts(target).rev().map(str::to_owned));
                }
                Entry::Folder(..) => walked.push(found),
                Entry::File(..) | Entry::Device(..) => return None,
            }
        }
        Some((walked, None))
    }
}

/// What a folder holds under a name.
fn child<'a>(folder: Option<&Found<'a>>, root: &'a Entry, name: &str, moment: &Moment<'_>) -> Option<Found<'a>> {
    match folder {
        None => in_kept(root, name, moment),
        Some(Found::Kept(entry)) => in_kept(entry, name, moment),
        // What comes and goes holds only things that are made with it.
        Some(Found::Made(Entry::Folder(entries, _))) => match entries.get(name)? {
            Entry::Link(target) => Some(Found::Made(Entry::Link(target.clone()))),
            Entry::File(mode, render) => {
                let content = render(moment);
                Some(Found::Made(Entry::File(*mode, Box::new(move |_| content.clone()))))
            }
            Entry::Device(mode, major, minor) => Some(Found::Made(Entry::Device(*mode, *major, *minor))),
            Entry::Folder(..) => None,
        },
        Some(Found::Made(_)) => None,
    }
}

fn in_kept<'a>(folder: &'a Entry, name: &str, moment: &Moment<'_>) -> Option<Found<'a>> {
    let Entry::Folder(entries, more) = folder else { return None };
    if let Some(entry) = entries.get(name) {
        return Some(Found::Kept(entry));
    }
    let made = more.as_ref()?(moment).into_iter().find(|(other, _)| other == name)?;
    Some(Found::Made(made.1))
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// The folder part of a path.
fn parent(path: &str) -> &str {
    path.trim_end_matches('/').rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn is_pattern(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

/// One piece of a pattern.
enum Piece {
    /// `*`
    Any,
    /// `?`
    One,
    /// `[...]`: whether it is negated, and its ranges.
    Set(bool, Ranges),
    /// A letter that stands for itself.
    Letter(char),
}

impl Piece {
    fn fits(&self, letter: char) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Set(negated, ranges) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)) != *negated,
            Self::Letter(wanted) => *wanted == letter,
        }
    }
}

/// Whether a name matches a pattern of sh: `*`, `?`, `[abc]`, `[a-z]`, `[!a]`. It takes time in proportion to both
/// lengths, whatever the pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pieces = pieces(&pattern.chars().collect::<Vec<_>>());
    let name: Vec<char> = name.chars().collect();
    let (mut piece, mut letter) = (0, 0);
    // Where the last `*` stood, and up to which letter it reached.
    let mut last: Option<(usize, usize)> = None;
    while letter < name.len() {
        match pieces.get(piece) {
            Some(Piece::Any) => {
                last = Some((piece, letter));
                piece += 1;
            }
            Some(wanted) if wanted.fits(name[letter]) => {
                piece += 1;
                letter += 1;
            }
            _ => {
                let Some((star, reached)) = last else { return false };
                last = Some((star, reached + 1));
                (piece, letter) = (star + 1, reached + 1);
            }
        }
    }
    pieces[piece..].iter().all(|piece| matches!(piece, Piece::Any))
}

fn pieces(pattern: &[char]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(letter) = pattern.get(at) {
        let set = if *letter == '[' { bracket(&pattern[at..]) } else { None };
        let (piece, length) = match (letter, set) {
            (_, Some((length, negated, ranges))) => (Piece::Set(negated, ranges), length),
            ('*', None) => (Piece::Any, 1),
            ('?', None) => (Piece::One, 1),
            (letter, None) => (Piece::Letter(*letter), 1),
        };
        pieces.push(piece);
        at += length;
    }
    pieces
}

/// First and last letter of each range in a bracket.
type Ranges = Vec<(char, char)>;

/// Reads `[...]` at the start of a pattern: its length, whether it is negated, and its ranges.
fn bracket(pattern: &[char]) -> Option<(usize, bool, Ranges)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let start = 1 + usize::from(negated);
    // A bracket right at the beginning stands for itself.
    let end = (start + 1..pattern.len()).find(|&at| pattern[at] == ']')?;
    let mut set = Vec::new();
    let mut at = start;
    while at < end {
        if at + 2 < end && pattern[at + 1] == '-' {
            set.push((pattern[at], pattern[at + 2]));
            at += 3;
        } else {
            set.push((pattern[at], pattern[at]));
            at += 1;
        }
    }
    Some((end + 1, negated, set))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_in_sh() {
        for (pattern, name, does) in [
            ("*", "eth0", true),
            ("node*", "node0", true),
            ("node*", "has_cpu", false),
            ("[0-9]", "7", true),
            ("[0-9]", "10", false),
            ("[0-9][0-9][0-9]*", "1023", true),
            ("[0-9][0-9][0-9]*", "99", false),
            ("mlx[45]_*", "mlx5_core", true),
            ("[!a]x", "bx", true),
            ("[!a]x", "ax", false),
            ("?", "", false),
            ("[]a]", "]", true),
            ("hugepages-*kB", "hugepages-2048kB", true),
            ("a[", "a[", true),
            ("*a*b", "aab", true),
            ("*a*b", "aba", false),
            ("", "", true),
            ("**", "x", true),
            ("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern, name), does, "{pattern} {name}");
        }
    }
}
