//! `assay cluster run`: on this host, over ssh to this host, and through a Slurm of shell scripts with the real one's
//! answers and limits.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Scratch, check, command, document, is_root, names, ran, refusal, skip};
use crate::references::support::fake;
use crate::system::process::{Running, has, reacting, signal, wait_for};

const SUITE: &str = "name = \"tiny\"\n[sampling.cpu]\nsamples = 2\nper_launch = 2\nsample = \"40ms\"\n\
    warm_up = [\"1ms\", \"2ms\"]\n[[cpu]]\nop = \"fma\"\ntype = [\"fp64\"]\nisa = [\"scalar\"]\nthreads = [\"1\"]\n";

/// The search path of workers and fake commands.
pub(crate) const SYSTEM: &str = "/usr/bin:/bin";

pub(crate) fn plan(scratch: &Scratch, nodes: &str) -> PathBuf {
    let suite = scratch.join("tiny.toml");
    fs::write(&suite, SUITE).unwrap();
    let folder = scratch.join("the plan");
    let words = ["cluster", "plan", "--nodes", nodes, "--suite", suite.to_str().unwrap(), folder.to_str().unwrap()];
    let ran = ran(command(scratch, words));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    folder
}

/// `assay cluster run` with these options, separated by spaces, and this search path.
pub(crate) fn run(scratch: &Scratch, folder: &Path, options: &str, programs: &str) -> Command {
    let mut words = vec!["cluster".to_owned(), "run".to_owned(), folder.display().to_string()];
    words.extend(options.split_whitespace().map(str::to_owned));
    words.extend(["--poll", "100ms"].map(str::to_owned));
    let mut command = command(scratch, words);
    command.env("PATH", programs);
    command
}

/// Asserts that every node has done its only task exactly once, with a valid document.
#[track_caller]
fn assert_done(folder: &Path, nodes: &[&str]) {
    for node in nodes {
        assert_eq!(names(&folder.join("done").join(node)), ["cpu"]);
        check(&document(&folder.join("done").join(node).join("cpu/run")));
        let left = names(&folder.join("waiting").join(node));
        assert!(left.iter().all(|name| name.starts_with('.')), "{left:?}");
    }
}

#[test]
fn every_node_on_this_host_one_after_another() {
    let scratch = Scratch::new();
    let folder = plan(&scratch, "n1,n2");
    let first = ran(run(&scratch, &folder, "--launcher here --no-confirm", SYSTEM));
    assert_eq!(first.status, Some(0), "{first:?}");
    assert!(first.stdout.is_empty() && first.stderr.contains("every task has ended"), "{first:?}");
    assert_done(&folder, &["n1", "n2"]);
    assert_eq!(names(&folder.join("jobs")).len(), 2);
    let again = ran(run(&scratch, &folder, "--launcher here --no-confirm", SYSTEM));
    assert_eq!(again.status, Some(0), "{again:?}");
    assert_eq!(names(&folder.join("jobs")).len(), 2, "nothing is left to do");
}

/// An `xhpl` that solves the system of its `HPL.dat` at once, and reports a hundred seconds.
const XHPL: &str = "line() { sed -n \"$1p\" HPL.dat | cut -d' ' -f1; }\nn=$(line 6)\n\
    rate=$(awk -v n=$n 'BEGIN { printf \"%.6e\", (2 / 3 * n * n * n + 1.5 * n * n) / 100 / 1e9 }')\n\
    echo \"WR11C2R4 $n 192 $(line 11) $(line 12) 100.00 $rate\"\n\
    echo '||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.5e-03 ...... PASSED'\necho 'End of Tests.'\n";

#[test]
fn hpl_runs_once_across_all_nodes() {
    let scratch = Scratch::new();
    let xhpl = format!("--hpl={}", fake(&scratch, "xhpl", XHPL).display());
    let launcher = fake(&scratch, "launcher", "[ \"$1\" = -np ] || exit 9\nshift 2\nexec \"$@\"").display().to_string();
    let suite = scratch.join("tiny.toml");
    fs::write(&suite, SUITE).unwrap();
    let folder = scratch.join("plan");
    let (suite, shown) = (suite.display().to_string(), folder.display().to_string());
    let words = ["cluster", "plan", "--nodes", "n1,n2", "--suite", &suite, &xhpl, "--hpl-launcher", &launcher, &shown];
    let mut made = command(&scratch, words);
    made.env("PATH", "/nothing");
    let made = ran(made);
    assert!(made.status == Some(0) && made.stdout.contains("\nHPL    across all nodes"), "{made:?}");
    let first = ran(run(&scratch, &folder, "--launcher here --no-confirm", SYSTEM));
    assert_eq!(first.status, Some(0), "{first:?}");
    assert_eq!(
        (names(&folder.join("done/n1")), names(&folder.join("done/n2"))),
        (vec!["cpu".to_owned(), "hpl".to_owned()], vec!["cpu".to_owned()])
    );
    let report = ran(command(&scratch, ["cluster", "report", &shown]));
    assert!(report.stdout.contains("HPL across nodes") && report.stdout.contains("NB = 192"), "{report:?}");
    let values = fs::read_to_string(folder.join("report/values.csv")).unwrap();
    assert!(values.contains(",throughput,flop/s,higher,") && values.contains("n1 n2"), "{values}");
}

#[test]
fn what_cannot_be_run_is_refused() {
    let scratch = Scratch::new();
    let folder = plan(&scratch, "n1");
    let nothing = scratch.join("nothing").display().to_string();
    let refused = |folder: &Path, options: &str| {
        let ran = ran(run(&scratch, folder, options, &nothing));
        refusal(&ran).to_owned()
    };
    let sentence = refused(&folder, "");
    assert!(sentence.contains("Slurm is not installed") && sentence.contains("--launcher ssh"), "{sentence}");
    assert!(refused(&folder, "--launcher ssh").contains("ssh is not in PATH"));
    assert!(refused(&scratch.join("elsewhere"), "--launcher here").contains("cannot open the plan in"));
    assert!(refused(scratch.path(), "--launcher here").contains("has no plan"));
    assert!(refused(&folder, "--launcher here --sbatch account=a").contains("not an sbatch option"));
    assert!(refused(&folder, "--launcher here --sbatch=--nodelist=n9").contains("the plan chooses the nodes"));
    assert!(refused(&folder, "--time 5s").contains("at least 1m"));
    assert!(refused(&folder, "--max-jobs 0").contains("max-jobs"));
}

/// A Slurm of shell scripts: jobs run on this host as long as their nodes are free; a user may have two.
struct MadeUp {
    scratch: Scratch,
}

const COMMANDS: &[(&str, &str)] = &[
    ("sinfo", "for node in $NODES; do echo \"$node|all|idle|none\"; done\n"),
    ("scontrol", "echo 'PartitionName=all Default=YES QoS=N/A MaxNodes=UNLIMITED MaxTime=01:00:00 State=UP'\n"),
    ("sacctmgr", "case \"$*\" in *assoc*) echo 'limited|||normal||2||';; *) echo 'normal||||';; esac\n"),
    (
        "squeue",
        "for job in $STATE/*.pid; do [ -e \"$job\" ] || continue; grep -qs '^State:.[^Z]' /proc/$(cat \"$job\")/status &&\n\
         echo \"$(basename \"$job\" .pid)|R|None\"; done; true\n",
    ),
    ("scancel", "kill -TERM -- -$(cat $STATE/$1.pid)\n"),
    (
        "sbatch",
        "set -e\nfor word; do case $word in --chdir=*) cd \"${word#--chdir=}\";; esac; done\n\
         [ $(\"$BIN/squeue\" | wc -l) -lt 2 ] || { echo 'sbatch: error: AssocMaxSubmitJobLimit' >&2; exit 1; }\n\
         id=$(($(ls $STATE | wc -l) + 100))\nsed \"s#exec srun#exec $BIN/srun#\" > $STATE/$id.sh\n\
         SLURM_JOB_ID=$id setsid sh $STATE/$id.sh >> log/$id.out 2>&1 < /dev/null &\n\
         echo $! > $STATE/$id.pid\necho $id\n",
    ),
    (
        "srun",
        "while [ \"${1#--}\" != \"$1\" ]; do case $1 in --nodelist=*) nodes=${1#*=};; esac; shift; done\n\
         for node in $(echo $nodes | tr , ' '); do SLURMD_NODENAME=$node \"$@\" & done; wait\n",
    ),
];

impl MadeUp {
    fn new(nodes: &str) -> Self {
        let scratch = Scratch::new();
        let (bin, state) = (scratch.join("bin"), scratch.join("state"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&state).unwrap();
        for (name, text) in COMMANDS {
            let (folder, state) = (bin.display(), state.display());
            let script = fake(&scratch, name, &format!("BIN={folder}\nSTATE={state}\nNODES='{nodes}'\n{text}"));
            fs::rename(script, bin.join(name)).unwrap();
        }
        Self { scratch }
    }

    fn run(&self, folder: &Path, options: &str) -> Command {
        run(&self.scratch, folder, options, &format!("{}:{SYSTEM}", self.scratch.join("bin").display()))
    }
}

#[test]
fn idle_nodes_are_one_job_of_slurm() {
    let slurm = MadeUp::new("n1 n2");
    let folder = plan(&slurm.scratch, "n1,n2");
    let ran = ran(slurm.run(&folder, "--no-confirm --sbatch=--account=limited"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_done(&folder, &["n1", "n2"]);
    let jobs = names(&folder.join("jobs"));
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    let script = fs::read_to_string(slurm.scratch.join("state").join(jobs[0].replace("json", "sh"))).unwrap();
    for line in ["--nodelist=n1,n2", "--exclusive", "--mem=0", "--export=NONE", "--account=limited"] {
        assert!(script.contains(&format!("#SBATCH {line}\n")), "{line}: {script}");
    }
}

#[test]
fn a_node_that_does_not_see_the_plans_folder_is_named() {
    let slurm = MadeUp::new("n1 n2");
    let folder = plan(&slurm.scratch, "n1,n2");
    // On n2 the plan's folder is missing, and nobody waits a minute for it.
    let srun = slurm.scratch.join("bin/srun");
    let text = fs::read_to_string(&srun).unwrap();
    let elsewhere = "if [ $node = n2 ]; then SLURMD_NODENAME=n2 sh -c \"$(printf %s \"$3\" | sed \"s#/the plan#/no plan#g; \
        s# 60 # 1 #\")\" & else SLURMD_NODENAME=$node \"$@\" & fi; done";
    fs::write(&srun, text.replace("SLURMD_NODENAME=$node \"$@\" & done", elsewhere)).unwrap();
    let ran = ran(slurm.run(&folder, "--no-confirm"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert_done(&folder, &["n1"]);
    assert!(ran.stderr.contains("n2 cannot read the plan's folder"), "{ran:?}");
    assert!(ran.stderr.contains("the node 'n2' is skipped"), "{ran:?}");
    let answers = names(&folder.join("probe"));
    assert!(answers.iter().any(|name| name.ends_with("@n1")), "{answers:?}");
    assert!(!answers.iter().any(|name| name.ends_with("@n2")), "{answers:?}");
}

#[test]
fn a_dry_run_prints_every_script_and_submits_nothing() {
    let slurm = MadeUp::new("n1 n2 n3");
    let folder = plan(&slurm.scratch, "n1,n2,n3");
    let ran = ran(slurm.run(&folder, "--dry-run --nodes-per-job 2"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("--nodelist=n1,n2\n") && ran.stdout.contains("--nodelist=n3\n"), "{ran:?}");
    assert!(ran.stdout.starts_with("sbatch --parsable") && ran.stdout.matches("#!/bin/sh").count() == 2, "{ran:?}");
    assert!(names(&folder.join("jobs")).is_empty());
}

#[test]
fn a_plan_of_slurm_has_the_limits_of_its_qos_and_shares_nodes_on_request() {
    let slurm = MadeUp::new("n1 n2");
    let (suite, folder) = (slurm.scratch.join("tiny.toml"), slurm.scratch.join("the plan"));
    fs::write(&suite, SUITE).unwrap();
    let (suite, shown, bin) = (suite.to_str().unwrap(), folder.to_str().unwrap(), slurm.scratch.join("bin"));
    let planned = |longest: &str, options: &str| {
        let qos = format!("case \"$*\" in *assoc*) echo 'a|||normal|||||';; *) echo 'normal|||||{longest}';; esac\n");
        fs::rename(fake(&slurm.scratch, "sacctmgr", &qos), bin.join("sacctmgr")).unwrap();
        let words = ["cluster", "plan", "--all", "--suite", suite, shown].into_iter();
        let mut command = command(&slurm.scratch, words.chain(options.split_whitespace()));
        command.env("PATH", format!("{}:{SYSTEM}", bin.display()));
        ran(command)
    };
    let refused = planned("00:00:04", "");
    let sentence = refusal(&refused);
    assert!(sentence.contains("can take 4 s (limit of the QOS 'normal'), of which 3 s are for tasks"), "{sentence}");
    let made = planned("00:08:00", "--shared");
    let group = "jobs of at most 8 min by the QOS 'normal'; not exclusive: other jobs can run on the nodes";
    assert!(made.status == Some(0) && made.stdout.contains(group), "{made:?}");
    let script = ran(slurm.run(&folder, "--dry-run")).stdout;
    assert!(script.contains("#SBATCH --time=8\n") && script.contains("#SBATCH --ntasks-per-node=1\n"), "{script}");
    assert!(!script.contains("--exclusive") && !script.contains("--mem=0"), "{script}");
    let report = ran(command(&slurm.scratch, ["cluster", "report", shown, "--format", "json"]));
    assert!(report.stdout.contains("\"not_exclusive\""), "{report:?}");
}

#[test]
fn an_interrupt_leaves_the_jobs_and_says_how_to_end_them() {
    let slurm = MadeUp::new("n1");
    let folder = plan(&slurm.scratch, "n1");
    // The job takes its time to begin.
    let srun = slurm.scratch.join("bin/srun");
    let text = fs::read_to_string(&srun).unwrap();
    fs::write(&srun, text.replace("#!/bin/sh\n", "#!/bin/sh\nsleep 2\n")).unwrap();
    let submitting = Running::read(reacting(&slurm.run(&folder, "--no-confirm")));
    let jobs = folder.join("jobs");
    wait_for(Duration::from_secs(30), || jobs.exists().then(|| names(&jobs)).filter(|jobs| !jobs.is_empty())).unwrap();
    signal(submitting.id(), "INT");
    let ended = submitting.end();
    assert_eq!(ended.status, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("the jobs continue") && ended.stderr.contains("assay cluster cancel"), "{ended:?}");
    let again = ran(slurm.run(&folder, "--no-confirm"));
    assert_eq!(again.status, Some(0), "{again:?}");
    assert_done(&folder, &["n1"]);
    assert_eq!(names(&jobs).len(), 1, "the job that was in the queue was enough");
}

/// An ssh server on loopback with its own keys and port.
struct Sshd {
    scratch: Scratch,
    _server: Running,
}

impl Sshd {
    /// `None` without sshd.
    fn start() -> Option<Self> {
        let server = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let Some(server) = server.filter(|_| has("ssh") && has("ssh-keygen")) else {
            skip("cluster run over ssh", "there is no sshd");
            return None;
        };
        let scratch = Scratch::new();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o700)).unwrap();
        for key in ["host", "user"] {
            let file = scratch.join(key);
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&file).status();
            assert!(made.unwrap().success());
        }
        if is_root() {
            // sshd's own empty folder.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = |name: &str| scratch.join(name).display().to_string();
        fs::copy(scratch.join("user.pub"), scratch.join("authorized")).unwrap();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPasswordAuthentication no\n",
            at("host"),
            at("authorized")
        );
        fs::write(scratch.join("sshd_config"), config).unwrap();
        let client = format!(
            "Host n1 n2 n3\n HostName 127.0.0.1\n Port {port}\n IdentityFile {}\n IdentitiesOnly yes\n \
             StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n\
             Host n9\n HostName 127.0.0.1\n Port 1\n",
            at("user")
        );
        fs::write(scratch.join("ssh_config"), client).unwrap();
        let mut command = Command::new(server);
        command.args(["-D", "-e", "-f"]).arg(scratch.join("sshd_config")).stdin(Stdio::null()).stderr(Stdio::null());
        let sshd = Running::start(&mut command);
        let listens = || std::net::TcpStream::connect(("127.0.0.1", port)).ok();
        wait_for(Duration::from_secs(10), listens).expect("sshd listens");
        let config = scratch.join("ssh_config");
        let login = Command::new("ssh").args(["-o", "BatchMode=yes", "-F"]).arg(config).args(["n1", "true"]).output();
        let login = login.unwrap();
        if !login.status.success() && !is_root() {
            // Locked accounts, such as nobody's, may not.
            let said = String::from_utf8_lossy(&login.stderr).trim().to_owned();
            skip("cluster run over ssh", &format!("this user may not log in here: {said}"));
            return None;
        }
        assert!(login.status.success(), "{login:?}");
        Some(Self { scratch, _server: sshd })
    }
}

#[test]
fn workers_over_ssh_and_a_host_that_does_not_answer() {
    let Some(sshd) = Sshd::start() else { return };
    let folder = plan(&sshd.scratch, "n1,n2,n9");
    let config = sshd.scratch.join("ssh_config");
    let options = format!("--launcher ssh --no-confirm --ssh-config {}", config.display());
    let ran = ran(run(&sshd.scratch, &folder, &options, SYSTEM));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert_done(&folder, &["n1", "n2"]);
    assert!(ran.stderr.contains("'n9' is skipped") && ran.stderr.contains("Connection refused"), "{ran:?}");
}
