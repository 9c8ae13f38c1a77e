//! A terminal for a tool to print to, which hands on what is printed byte for byte. It controls nothing: no keys and no
//! signals come from it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// Both ends of it.
#[derive(Debug)]
pub(super) struct Terminal {
    /// Where what was printed is read, until every tool's end is closed: with an error then.
    pub(super) ours: File,
    /// What the tool is given as its standard output.
    pub(super) tools: OwnedFd,
}

impl Terminal {
    /// Opens one.
    ///
    /// # Errors
    /// One sentence: the system has no terminals to give.
    pub(super) fn open() -> Result<Self, String> {
        Self::pair().map_err(|error| format!("there is no terminal for a tool to print to: {error}"))
    }

    fn pair() -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        unlockpt(&ours)?;
        let tools = ioctl_tiocgptpeer(&ours, flags)?;
        // A terminal would otherwise end each line with two characters.
        let mut settings = tcgetattr(&tools)?;
        settings.make_raw();
        tcsetattr(&tools, OptionalActions::Now, &settings)?;
        Ok(Self { ours: ours.into(), tools })
    }
}
