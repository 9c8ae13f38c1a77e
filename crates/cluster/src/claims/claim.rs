//! Claims: files `NAME@CLAIM.json` in `running`, made by renaming `NAME.json` out of `waiting`, which one process wins.
//!
//! A claim's time of change is a lease, compared with that of a file just touched in the same folder. The lease of a process
//! known to be gone (same host, same boot) need not expire. A killed claimer leaves a `.who`, which is swept, or a claim.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bench::host::utc_now;
use bench::leftovers::Owner;
use model::cluster::{Claim, Task};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::{Error, Result, cannot_read, cannot_write};
use crate::folder::{self, Folder, NODE, State, read};

/// Separates the task's name from the claim's; no plain name contains it.
const MARK: char = '@';

/// A claim of this process, for others to read. Each has its own id.
pub fn claimer(job: Option<String>) -> Result<Claim> {
    let owner = Owner::of(std::process::id());
    Ok(Claim {
        id: fresh_name()?,
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        boot: with_namespace(owner.boot),
        pid: owner.process,
        pid_start: owner.started,
        job,
        when: utc_now(),
    })
}

/// A new unique name of 64 random bits.
pub(crate) fn fresh_name() -> Result<String> {
    random_hex(8, "a name")
}

/// `count` random bytes from the kernel in hexadecimal digits; `what` they are for, in errors.
pub(crate) fn random_hex(count: usize, what: &'static str) -> Result<String> {
    let mut bytes = vec![0_u8; count];
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(|error| Error::Random(what, error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat())
}

/// A boot and the process namespace: in another namespace the same number is another process.
fn with_namespace(boot: Option<String>) -> Option<String> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot?, namespace.display()))
}

/// The boot of a claimer's machine without the process namespace.
pub(crate) fn boot_of(claim: &Claim) -> Option<&str> {
    claim.boot.as_deref()?.split(' ').next()
}

/// A claim of this process.
#[derive(Clone, Debug)]
pub struct HeldClaim {
    /// Name of the task or node.
    pub(crate) name: String,
    /// The claimer with this claim's id.
    pub(crate) claim: Claim,
    /// The claim's file, with the contents of what was claimed.
    pub(crate) path: PathBuf,
}

/// A claim as its file's name has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimId {
    /// Name of the task or node.
    pub(crate) name: String,
    pub(crate) id: String,
}

/// The state of a claim's holder, who may renew it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HolderState {
    Alive,
    /// Its process has ended.
    Dead,
    /// Its lease has expired. It may come back and find its claim lost.
    Silent,
    Ended,
}

impl ClaimId {
    pub(crate) fn parse(file: &str) -> Option<Self> {
        Self::parse_folder(file.strip_suffix(".json")?)
    }

    /// Parses the name of a folder in `work` or `failed`.
    pub(crate) fn parse_folder(name: &str) -> Option<Self> {
        let (name, id) = name.rsplit_once(MARK)?;
        (!id.is_empty()).then(|| Self { name: name.to_owned(), id: id.to_owned() })
    }

    pub(crate) fn folder_name(&self) -> String {
        format!("{}{MARK}{}", self.name, self.id)
    }

    pub(crate) fn file(&self) -> String {
        format!("{}.json", self.folder_name())
    }

    pub(crate) fn who(&self) -> String {
        format!("{}.who", self.folder_name())
    }

    /// The claimer; `None` if its file cannot be read.
    pub(crate) fn claimer(&self, running: &Path) -> Option<Claim> {
        read(&running.join(self.who())).ok()
    }
}

/// Claims `NAME.json` by moving it from `waiting` to `running`; `None` if another worker was quicker, or there is no such
/// file.
pub fn claim(waiting: &Path, running: &Path, name: &str, us: &Claim) -> Result<Option<HeldClaim>> {
    move_in(&waiting.join(format!("{name}.json")), running, name, us)
}

/// Takes over the claim of a lost holder; `None` if another worker was quicker, or the holder has just ended.
pub(crate) fn take_over(running: &Path, seen: &ClaimId, us: &Claim) -> Result<Option<HeldClaim>> {
    let taken = move_in(&running.join(seen.file()), running, &seen.name, us)?;
    if taken.is_some() {
        let _ = fs::remove_file(running.join(seen.who()));
    }
    Ok(taken)
}

fn move_in(from: &Path, running: &Path, name: &str, us: &Claim) -> Result<Option<HeldClaim>> {
    let claim = Claim { id: fresh_name()?, when: utc_now(), ..us.clone() };
    let ours = ClaimId { name: name.to_owned(), id: claim.id.clone() };
    let (path, who) = (running.join(ours.file()), running.join(ours.who()));
    // First the time of change, which the rename keeps, since a claim must not begin with an expired lease. Then the
    // claimer, since a claim without it can only expire.
    if !touch(from).map_err(cannot_write(from))? {
        return Ok(None);
    }
    folder::write(&who, &claim)?;
    let held = HeldClaim { name: name.to_owned(), claim, path };
    let moved = move_to(from, &held.path).map_err(cannot_write(&held.path));
    // The process may have been suspended between these steps for longer than the lease.
    let ours = moved.and_then(|moved| if moved { held.renew() } else { Ok(false) });
    if !matches!(ours, Ok(true)) {
        let _ = fs::remove_file(&who);
    }
    Ok(ours?.then_some(held))
}

/// Renames to a unique name; whether it succeeded. Over NFS the reply can get lost, and the retry fails with "not found".
fn move_to(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::rename(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => to.try_exists(),
        Err(error) => Err(error),
    }
}

/// Sets a file's time of change to now by the file system's clock; `false` if it does not exist.
pub(crate) fn touch(path: &Path) -> io::Result<bool> {
    // With UTIME_NOW the kernel, or the NFS server, sets its own time.
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    match utimensat(CWD, path, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A file's time of change; `None` if it does not exist. Opening it makes an NFS client ask the server.
fn time_of(path: &Path) -> io::Result<Option<SystemTime>> {
    match File::open(path).and_then(|file| file.metadata()?.modified()) {
        Ok(time) => Ok(Some(time)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn claims(running: &Path) -> Result<Vec<ClaimId>> {
    Ok(folder::names(running)?.iter().filter_map(|name| ClaimId::parse(name)).collect())
}

pub(crate) fn is_gone(running: &Path, seen: &ClaimId, us: &Claim, lease: Duration) -> Result<bool> {
    Ok(matches!(holder(running, seen, us, lease)?, HolderState::Dead | HolderState::Silent))
}

/// Whether a node has a worker, as far as its claim can be read.
pub(crate) fn has_worker(folder: &Folder, node: &str, us: &Claim, lease: Duration) -> bool {
    let running = folder.tasks(State::Running, node);
    let mut nodes = claims(&running).unwrap_or_default().into_iter().filter(|seen| seen.name == NODE);
    nodes.any(|seen| !is_gone(&running, &seen, us, lease).unwrap_or(true))
}

pub(crate) fn holder(running: &Path, seen: &ClaimId, us: &Claim, lease: Duration) -> Result<HolderState> {
    let path = running.join(seen.file());
    let time = || time_of(&path).map_err(cannot_read(&path));
    if seen.claimer(running).is_some_and(|who| has_died(&who, us)) {
        return Ok(if time()?.is_some() { HolderState::Dead } else { HolderState::Ended });
    }
    let Some(renewed) = time()? else { return Ok(HolderState::Ended) };
    if !is_over(now_of(running)?, renewed, lease) {
        return Ok(HolderState::Alive);
    }
    // The holder may have renewed its claim while the clock was read.
    let Some(renewed) = time()? else { return Ok(HolderState::Ended) };
    Ok(if is_over(now_of(running)?, renewed, lease) { HolderState::Silent } else { HolderState::Alive })
}

pub(crate) fn is_over(now: SystemTime, renewed: SystemTime, lease: Duration) -> bool {
    now.duration_since(renewed).is_ok_and(|age| age > lease)
}

/// Whether the claimer's process has certainly ended. Of another host, boot or namespace nothing is known.
pub(crate) fn has_died(holder: &Claim, us: &Claim) -> bool {
    let comparable = holder.host == us.host && holder.boot.is_some() && holder.boot == us.boot;
    comparable && Owner::of(holder.pid).started != holder.pid_start
}

/// The time by the clock of a folder's file system.
pub(crate) fn now_of(folder: &Path) -> Result<SystemTime> {
    let probe = folder.join(format!(".now{MARK}{}", fresh_name()?));
    let time = File::create(&probe).and_then(|_| {
        // By the call that renews claims, so that both use the same clock.
        touch(&probe)?;
        time_of(&probe)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    });
    let _ = fs::remove_file(&probe);
    time.map_err(cannot_write(&probe))
}

/// Removes leftovers of killed claimers in a folder of `running`: `who` files without a claim, probes, unfinished files.
/// They must be older than the lease, since a claimer writes its `who` before its claim.
pub(crate) fn sweep(running: &Path, lease: Duration) -> Result<()> {
    let names = folder::names(running)?;
    let left = |name: &&String| match name.strip_suffix(".who") {
        Some(claim) => !names.contains(&format!("{claim}.json")),
        None => ClaimId::parse(name).is_none(),
    };
    let left: Vec<&String> = names.iter().filter(left).collect();
    if left.is_empty() {
        return Ok(());
    }
    let now = now_of(running)?;
    for path in left.iter().map(|name| running.join(name)) {
        if time_of(&path).is_ok_and(|time| time.is_some_and(|time| is_over(now, time, lease))) {
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

impl HeldClaim {
    pub(crate) fn task(&self) -> Result<Task> {
        read(&self.path).map_err(cannot_read(&self.path))
    }

    pub(crate) fn seen(&self) -> ClaimId {
        ClaimId { name: self.name.clone(), id: self.claim.id.clone() }
    }

    /// Renews the lease; `false` if the claim is lost, so that nothing may be published.
    pub(crate) fn renew(&self) -> Result<bool> {
        touch(&self.path).map_err(cannot_write(&self.path))
    }

    /// Returns the task or node to `waiting`; `false` if the claim was lost.
    pub fn give_back(self, waiting: &Path) -> Result<bool> {
        let target = waiting.join(format!("{}.json", self.name));
        let given = match fs::rename(&self.path, &target) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(Error::Write(target, error)),
        };
        self.forget_who();
        Ok(given)
    }

    pub(crate) fn end(self) {
        let _ = fs::remove_file(&self.path);
        self.forget_who();
    }

    fn forget_who(&self) {
        let _ = fs::remove_file(self.path.with_extension("who"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claims_file_says_whose_it_is() {
        let seen = ClaimId { name: "to-n2.alone".into(), id: "0f".into() };
        assert_eq!(ClaimId::parse(&seen.file()), Some(seen));
        for other in ["cpu.json", "cpu@0f.who", "@", ".now@0f"] {
            assert_eq!(ClaimId::parse(other), None, "{other}");
        }
    }
}
