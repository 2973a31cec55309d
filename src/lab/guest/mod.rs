//! The guests of the demo data centre, in their simplest form: what they are called and that they are up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::machine::{Answer, Login, Machine, NotRead, Trouble};

/// All machines of the data centre. What differs from one data centre to another is drawn from `seed`.
pub fn data_centre(_seed: u64) -> Vec<Arc<dyn Machine>> {
    let guest = |name| Arc::new(Guest { name, booted: Mutex::new(Instant::now()) }) as Arc<dyn Machine>;
    ["pv-a", "pv-b", "hca-a", "hca-b", "vf-a"].into_iter().map(guest).collect()
}

struct Guest {
    name: &'static str,
    booted: Mutex<Instant>,
}

impl Machine for Guest {
    fn name(&self) -> &str {
        self.name
    }

    fn ssh_version(&self) -> &'static str {
        "OpenSSH_9.6"
    }

    fn read(&self, path: &str, _login: &Login) -> Result<Vec<u8>, NotRead> {
        match path {
            "/proc/uptime" => {
                let up = self.booted.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
                Ok(format!("{}.{:02} 1.00\n", 60 + up.as_secs(), up.subsec_millis() / 10).into_bytes())
            }
            "/proc/sys/kernel/hostname" => Ok(format!("{}\n", self.name).into_bytes()),
            _ => Err(NotRead::Missing),
        }
    }

    fn expand(&self, _pattern: &str) -> Vec<String> {
        Vec::new()
    }

    fn link(&self, _path: &str) -> Option<String> {
        None
    }

    fn run(&self, argv: &[String], _login: &Login) -> Answer {
        match argv.join(" ").as_str() {
            "uname -s" => Answer { stdout: "Linux\n".to_owned(), ..Answer::default() },
            _ => Answer { status: 127, ..Answer::default() },
        }
    }

    fn environment(&self, _login: &Login) -> Vec<(String, String)> {
        Vec::new()
    }

    fn suffer(&self, trouble: Trouble, _on: bool) {
        if trouble == Trouble::Reboot {
            *self.booted.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
    }
}
