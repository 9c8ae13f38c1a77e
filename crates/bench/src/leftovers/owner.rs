//! A process that owns something, so that a later one can see whether it still runs.

use std::fs;

use machine::Sysroot;
use serde::{Deserialize, Serialize};
use sys::file::is_own;

/// A process, distinct from later ones with its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Owner {
    pub process: u32,
    /// Start in ticks since boot, from /proc; `None` for an ended process.
    pub started: Option<u64>,
    /// The boot's id; `None` where the kernel does not report it.
    pub boot: Option<String>,
    /// The PID namespace, in which the number is valid.
    #[serde(default)]
    pub namespace: Option<String>,
}

impl Owner {
    pub fn of(process: u32) -> Self {
        let host = Sysroot::host();
        // The 22nd field; the second, in parentheses, may hold spaces. The first thread starts with its process, and its file
        // is the kernel's also where qemu's emulation of user space makes up that of the process itself.
        let started = host.text(&format!("proc/{process}/task/{process}/stat")).and_then(|stat| {
            let (_, rest) = stat.rsplit_once(')')?;
            let mut fields = rest.split_ascii_whitespace();
            // A parent that never waits keeps an ended process as a zombie.
            fields.next().filter(|state| !matches!(*state, "Z" | "X"))?;
            fields.nth(18)?.parse().ok()
        });
        let boot = host.text("proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned());
        let namespace = fs::read_link("/proc/self/ns/pid").ok();
        let namespace = namespace.map(|name| name.to_string_lossy().into_owned());
        Self { process, started, boot, namespace }
    }

    pub(crate) fn is_gone(&self) -> bool {
        *self != Self::of(self.process)
    }

    /// Whether it still runs, and as this user.
    pub(crate) fn is_alive_and_ours(&self) -> bool {
        let is_ours = || fs::metadata(format!("/proc/{}", self.process)).is_ok_and(|found| is_own(&found));
        self.started.is_some() && !self.is_gone() && is_ours()
    }

    /// Whether it can be looked up by its number: it was of this boot and of our PID namespace.
    pub(crate) fn is_visible(&self) -> bool {
        let ours = Self::of(std::process::id());
        self.namespace.is_some() && (&self.boot, &self.namespace) == (&ours.boot, &ours.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zombie_has_ended() {
        let own = Owner::of(std::process::id());
        assert!(own.started.is_some() && !own.is_gone());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let alive = Owner::of(child.id());
        assert!(!alive.is_gone());
        child.kill().unwrap();
        let is_gone = || std::iter::repeat_with(|| alive.is_gone()).take(100_000).any(|is_gone| is_gone);
        assert!(is_gone(), "nothing has waited for it");
        child.wait().unwrap();
    }
}
