//! Why the operating system refused something, in words: without the number that the standard library adds.

use std::io;

/// The words of the C library, as programs print them: `Permission denied`.
pub(crate) fn printed(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// The same within a sentence of our own: `permission denied`.
pub(crate) fn reason(error: &io::Error) -> String {
    let words = printed(error);
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_left_out() {
        let error = io::Error::from_raw_os_error(13);
        assert_eq!((printed(&error).as_str(), reason(&error).as_str()), ("Permission denied", "permission denied"));
        let own = io::Error::other("Öl (os error) is out");
        assert_eq!((printed(&own).as_str(), reason(&own).as_str()), ("Öl (os error) is out", "öl (os error) is out"));
        assert_eq!(reason(&io::Error::other("")), "");
    }
}
