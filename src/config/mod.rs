//! Settings, the inventory and OpenSSH's own settings, all from text: whoever reads the files is the engine.

pub mod openssh;
