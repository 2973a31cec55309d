//! Secrets that a person typed or a command gave: passwords, passphrases, codes. They are never drawn, logged, recorded
//! or put into a message; they travel in an effect to the one connection that asked.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

/// A secret. Its memory is overwritten when it is dropped, and it prints as `Secret`.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes in a text.
    pub fn new(text: String) -> Self {
        Self(SecretString::from(text))
    }

    /// The text itself, for the one call that sends it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_prints_nothing_of_what_it_holds() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret Some(Secret)");
        assert_eq!(secret.expose(), "hunter2");
        assert_ne!(secret, Secret::new("hunter3".to_owned()));
    }
}
