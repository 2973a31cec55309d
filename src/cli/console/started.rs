//! What the settings overlay says of the start: each setting with its value and where it came from.

use super::super::Session;
use crate::app::Started;
use crate::app::settings::on_off;
use crate::config::settings::Name;
use crate::engine::settings as files;
use crate::fabric::Text;

/// All settings of the session, in the order of the overlay.
pub fn settings(session: &Session) -> Vec<Started> {
    let mut settings: Vec<Started> = Name::ALL
        .into_iter()
        // It has a row of its own, with the file that is in force.
        .filter(|name| *name != Name::SshConfig)
        .map(|name| {
            let (value, whence) = session.settings.get(name);
            let value = match name {
                Name::LowBandwidth | Name::Plain | Name::Mouse => {
                    on_off(value == crate::config::settings::Given::Flag(true)).to_owned()
                }
                Name::Theme
                | Name::Keymap
                | Name::Glyphs
                | Name::PeriodMs
                | Name::HealthyDays
                | Name::GpuRule
                | Name::AlertNotice
                | Name::SshConfig => value.to_string(),
            };
            started(name.key(), &value, &whence.to_string())
        })
        .collect();
    let global = &session.global;
    let of_option = |given: bool, option: &str| if given { format!("option {option}") } else { "default".to_owned() };
    let changes = if global.allow_changes { "allowed" } else { "not allowed, read-only" };
    settings.push(started("changes", changes, &of_option(global.allow_changes, "--allow-changes")));
    let configuration = match files::path(global.config.as_deref()) {
        Ok(path) if path.exists() => path.display().to_string(),
        Ok(path) => format!("{} (not there)", path.display()),
        Err(_) => "none: the home directory is not known".to_owned(),
    };
    settings.push(started("configuration", &configuration, &of_option(global.config.is_some(), "--config")));
    let hook = session.alert_hook.first().map_or("none", String::as_str);
    settings.push(started("alert hook", hook, if session.alert_hook.is_empty() { "default" } else { "configuration" }));
    let (file, whence) = session.settings.get(Name::SshConfig);
    let file = Some(file.to_string()).filter(|file| !file.is_empty());
    let ssh = file.unwrap_or_else(|| "OpenSSH's own files".to_owned());
    settings.push(started("ssh configuration", &ssh, &whence.to_string()));
    settings
}

fn started(name: &str, value: &str, whence: &str) -> Started {
    Started { name: Text::new(name), value: Text::new(value), whence: Text::new(whence) }
}
