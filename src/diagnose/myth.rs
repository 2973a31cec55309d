//! Published advice that is wrong: what it says, what is true, and the source.
