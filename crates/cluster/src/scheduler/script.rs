//! What jobs run: the batch script for Slurm, and a worker's command. Pure.

use super::job::{Job, JobSettings};
use super::words::{command_line, quoted};

/// The search path of a worker, so that the user's set-up does not change results.
pub(super) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Seconds before its limit at which a job gets a signal: a worker needs some to end, and Slurm is up to a minute off.
const SIGNAL_BEFORE_SECONDS: u64 = 120;

/// For a worker: its node and job, how to reach Slurm, when the job ends. Some programs do not start without `HOME`.
const SLURM_VARIABLES: &[&str] =
    &["HOME", "SLURM_CONF", "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURMD_NODENAME"];

/// For how long a node looks for its probe file: NFS clients cache missing entries up to `acdirmax`, by default 60 s (nfs(5)).
const PROBE_SECONDS: u32 = 60;

/// What a node does first: it finds the probe file and answers it with its own name, since the worker's program may be in
/// the plan's folder. The arguments: the plan's folder, the probe's name, the seconds, the node's name, the worker's command.
const PROBE: &str = "plan=$1; probe=$2; left=$3; node=$4; shift 4; \
    until [ -e \"$plan/probe/$probe.json\" ]; do \
    if [ \"$left\" -le 0 ]; then echo \"assay: $node cannot read the plan's folder: it has no file \
    '$plan/probe/$probe.json', which the submitting host wrote. Put the plan on a file system that all nodes share\" \
    >&2; exit 1; fi; left=$((left - 1)); sleep 1; done; \
    uname -n > \"$plan/probe/$probe@$node\" || { echo \"assay: $node cannot write to the plan's folder '$plan'\" >&2; \
    exit 1; }; exec \"$@\"";

/// Seconds before a job's time limit at which it gets a signal; later in a short job.
fn signal_before(seconds: u64) -> u64 {
    SIGNAL_BEFORE_SECONDS.min(seconds / 4)
}

/// Seconds that a job with this time limit has for tasks.
pub fn usable_seconds(limit: f64) -> f64 {
    limit - signal_before(model::unit::whole_part(limit.max(0.0))) as f64
}

fn minutes(job: &Job) -> u64 {
    model::unit::whole_part((job.seconds / 60.0).ceil().clamp(1.0, 366.0 * 24.0 * 60.0))
}

/// The script for `sbatch`.
///
/// `--no-requeue`: tasks of a lost job are submitted again for the nodes available then. `--no-kill`: the others continue.
pub(super) fn batch(settings: &JobSettings, job: &Job) -> String {
    let minutes = minutes(job);
    let mut options = vec![format!("--job-name=assay-{}", job_name(&settings.name))];
    options.extend(job.partition.as_ref().map(|partition| format!("--partition={partition}")));
    options.extend([format!("--nodes={}", job.nodes.len()), format!("--nodelist={}", job.nodes.join(","))]);
    options.push("--ntasks-per-node=1".to_owned());
    if !settings.shared {
        options.extend(["--exclusive", "--mem=0"].map(str::to_owned));
    }
    options.extend([format!("--time={minutes}"), format!("--signal=B:USR1@{}", signal_before(minutes * 60))]);
    options.extend(["--no-requeue", "--no-kill", "--open-mode=append", "--export=NONE"].map(str::to_owned));
    options.push("--output=log/%j.out".to_owned());
    options.extend(settings.lines.iter().cloned());
    let options = options.iter().map(|option| format!("#SBATCH {option}\n")).collect::<Vec<_>>().concat();
    // The shell becomes srun, which forwards the signal to the workers.
    let step = command_line(&step(settings, job));
    format!("#!/bin/sh\n{options}PATH={SEARCH_PATH}:$PATH\nexport PATH\nexec {step}\n")
}

/// A job name without quoting that squeue shows in full.
fn job_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).take(40).collect()
}

pub(super) fn step(settings: &JobSettings, job: &Job) -> Vec<String> {
    let mut words = vec!["srun".to_owned(), format!("--nodes={}", job.nodes.len())];
    words.push(format!("--nodelist={}", job.nodes.join(",")));
    // Workers pin themselves, and one that ends must not stop the others.
    let rest =
        ["--ntasks-per-node=1", "--cpu-bind=none", "--mem-bind=none", "--kill-on-bad-exit=0", "--wait=0", "--no-kill"];
    words.extend(rest.map(str::to_owned));
    words.extend(["/bin/sh".to_owned(), "-c".to_owned(), in_a_step(settings, job)]);
    words
}

/// The command of each process of a step: a shell that reads Slurm's variables and becomes the worker.
fn in_a_step(settings: &JobSettings, job: &Job) -> String {
    // Unset variables stay unset: an empty `SLURM_CONF` would name a missing file.
    let variables: Vec<String> =
        SLURM_VARIABLES.iter().map(|name| format!("${{{name}:+{name}=\"${name}\"}}")).collect();
    let seconds = minutes(job) * 60;
    let margin = signal_before(seconds);
    let worker = command_line(&worker(settings, job, None));
    let probe: String = probe(settings, job).iter().map(|word| quoted(word) + " ").collect();
    // Only the shell on the node knows its name.
    let probe = if probe.is_empty() { probe } else { format!("{probe}\"$SLURMD_NODENAME\" ") };
    // Slurm before 22.05 does not report when a job ends: its time limit counts from now.
    format!(
        "if [ -n \"$SLURM_JOB_END_TIME\" ]; then limit=\"--until $((SLURM_JOB_END_TIME - {margin}))\"; \
         else limit='--for {}'; fi; exec {probe}/usr/bin/env -i PATH={SEARCH_PATH}:\"$PATH\" {} {} $limit",
        seconds - margin,
        variables.join(" "),
        worker,
    )
}

/// The probe's command in front of a node's name and its worker's command.
fn probe(settings: &JobSettings, job: &Job) -> Vec<String> {
    let Some(name) = &job.probe else { return Vec::new() };
    let plan = settings.plan.to_string_lossy();
    ["/bin/sh", "-c", PROBE, "sh", &plan, name, &PROBE_SECONDS.to_string()].map(str::to_owned).to_vec()
}

/// A worker's command for this node, or for the node that Slurm names.
fn worker(settings: &JobSettings, job: &Job, node: Option<&str>) -> Vec<String> {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let mut words = vec![text(&settings.program), "agent".into(), "--plan".into(), text(&settings.plan)];
    words.extend(node.into_iter().flat_map(|node| ["--node".to_owned(), node.to_owned()]));
    words.extend(["--role".to_owned(), job.tasks.role().to_owned()]);
    words
}

pub(super) fn alone(settings: &JobSettings, job: &Job, node: &str) -> Vec<String> {
    let mut words = probe(settings, job);
    if !words.is_empty() {
        words.push(node.to_owned());
    }
    words.extend(["/usr/bin/env", "-i"].map(str::to_owned));
    words.push(format!("PATH={SEARCH_PATH}"));
    words.extend(worker(settings, job, Some(node)));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::job::JobTasks;
    use std::process::Command;

    fn settings() -> JobSettings {
        JobSettings {
            plan: "/shared/it's a plan".into(),
            name: "it's a plan".into(),
            program: "/shared/it's a plan/program/assay".into(),
            lines: vec!["--account=a".into()],
            shared: false,
        }
    }

    fn job(nodes: &[&str], seconds: f64) -> Job {
        let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
        Job { nodes, partition: Some("debug".into()), seconds, tasks: JobTasks::Alone, probe: None }
    }

    #[test]
    fn a_job_takes_whole_nodes_and_leaves_nothing_behind() {
        let script = batch(&settings(), &job(&["n1", "n2"], 3601.0));
        let options: Vec<&str> = script.lines().filter_map(|line| line.strip_prefix("#SBATCH ")).collect();
        let expected = [
            "--job-name=assay-it_s_a_plan",
            "--partition=debug",
            "--nodes=2",
            "--nodelist=n1,n2",
            "--ntasks-per-node=1",
            "--exclusive",
            "--mem=0",
            "--time=61",
            "--signal=B:USR1@120",
            "--no-requeue",
            "--no-kill",
            "--open-mode=append",
            "--export=NONE",
            "--output=log/%j.out",
            "--account=a",
        ];
        assert_eq!(options, expected);
        assert!(script.starts_with("#!/bin/sh\n#SBATCH"), "{script}");
        let short = batch(&settings(), &job(&["n1"], 60.0));
        assert!(short.contains("--time=1\n") && short.contains("B:USR1@15\n"), "after its start: {short}");
    }

    /// With an `srun` that runs its command on this host, and a worker that prints its arguments and environment.
    #[test]
    fn a_script_calls_the_worker_with_exactly_its_words_and_its_environment() {
        let folder = std::env::temp_dir().join(format!("assay script's test {}", std::process::id()));
        let plan = folder.join("a \"plan\" of $HOME");
        std::fs::create_dir_all(plan.join("bin")).unwrap();
        let program = plan.join("worker");
        let scripts = [
            (program.clone(), "#!/bin/sh\nfor word in \"$@\"; do echo \"[$word]\"; done; env\n"),
            (plan.join("bin/srun"), "#!/bin/sh\nwhile [ \"${1#--}\" != \"$1\" ]; do shift; done; exec \"$@\"\n"),
        ];
        for (path, text) in scripts {
            use std::os::unix::fs::PermissionsExt;
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let settings = JobSettings { plan: plan.clone(), program, ..settings() };
        let probed = Job { probe: Some("p-1".into()), ..job(&["n1"], 600.0) };
        let srun = quoted(&plan.join("bin/srun").to_string_lossy());
        let script = |job: &Job| batch(&settings, job).replace("exec srun", &format!("exec {srun}"));
        let run = |script: &str, end: &str| {
            let mut shell = Command::new("/bin/sh");
            shell
                .args(["-c", script])
                .env_clear()
                .env("SLURMD_NODENAME", "n1")
                .env("SLURM_JOB_ID", "7")
                .env("LD_X", "y");
            shell.env("SLURM_JOB_END_TIME", end);
            let output = shell.output().unwrap();
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
        };
        let plain = script(&job(&["n1"], 600.0));
        let ((with, _), (without, _)) = (run(&plain, "1000"), run(&plain, ""));
        let waits = format!(" {PROBE_SECONDS} ");
        assert!(script(&probed).contains(&waits));
        let blind = run(&script(&probed).replace(&waits, " 0 "), "1000");
        std::fs::create_dir(plan.join("probe")).unwrap();
        std::fs::write(plan.join("probe/p-1.json"), "{}").unwrap();
        let seeing = run(&script(&probed), "1000");
        let answer = std::fs::read_to_string(plan.join("probe/p-1@n1"));
        std::fs::remove_dir_all(&folder).unwrap();
        let words: Vec<&str> = with.lines().filter(|line| line.starts_with('[')).collect();
        let named = format!("[{}]", plan.display());
        assert_eq!(words, ["[agent]", "[--plan]", &named, "[--role]", "[suite]", "[--until]", "[880]"], "{with}");
        assert!(without.contains("[--for]\n[480]\n"), "{without}");
        assert!(blind.0.is_empty() && blind.1.starts_with("assay: n1 cannot read the plan's folder"), "{blind:?}");
        assert_eq!(seeing.0, with, "{seeing:?}");
        assert_eq!(answer.unwrap().trim(), rustix::system::uname().nodename().to_string_lossy());
        assert!(with.contains("SLURMD_NODENAME=n1\n") && with.contains("SLURM_JOB_ID=7\n"), "{with}");
        assert!(!with.contains("LD_X") && !with.contains("SLURM_JOB_END_TIME"), "{with}");
        assert!(!with.contains("SLURM_CONF"), "what is not set stays so: {with}");
    }
}
