//! Any pasted text: what it is, what it says, what to do.
