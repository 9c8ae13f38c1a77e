//! The configuration of Slurm: four nodes on one host with an enforced job limit, without control groups.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

pub(super) const FOLDER: &str = "/tmp/assay-cluster";
pub(super) const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
pub(super) const USER: u32 = 65534;
pub(super) const MAX_SUBMIT_JOBS: usize = 2;
pub(super) const CONTROLLER_PORT: u16 = 17_600;
pub(super) const DATABASE_PORT: u16 = 17_601;
const NODE_PORT: u16 = 17_610;
pub(super) const SLURMD_TIMEOUT: u32 = 10;

/// The host's address on the nodes' network, of the range for benchmarks of networks (RFC 2544).
pub(super) const HOST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 77, 1);

pub(super) fn node_addresses() -> impl Iterator<Item = (&'static str, Ipv4Addr)> {
    NODES.into_iter().zip((11..).map(|last| Ipv4Addr::new(198, 18, 77, last)))
}

pub(super) fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

pub(super) fn slurm_conf(name: &str, cpus: usize, memory: u64) -> String {
    let mut text = format!(
        "ClusterName=assay
SlurmctldHost={name}({HOST_ADDRESS})
SlurmctldPort={CONTROLLER_PORT}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={FOLDER}/run/munge.socket
CredType=cred/munge
StateSaveLocation={FOLDER}/state
SlurmdSpoolDir={FOLDER}/spool/%n
SlurmctldPidFile={FOLDER}/run/slurmctld.pid
SlurmdPidFile={FOLDER}/run/slurmd.%n.pid
SlurmctldLogFile={FOLDER}/log/slurmctld.log
SlurmdLogFile={FOLDER}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout={SLURMD_TIMEOUT}
SlurmctldTimeout=10
MessageTimeout=5
InactiveLimit=0
KillWait=2
MinJobAge=60
MailProg=/bin/true
TmpFS={FOLDER}/node-tmp/%n
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={HOST_ADDRESS}
AccountingStoragePort={DATABASE_PORT}
AccountingStoragePass={FOLDER}/run/munge.socket
AccountingStorageEnforce=limits
"
    );
    for (node, address) in node_addresses() {
        let _ = writeln!(
            text,
            "NodeName={node} NodeHostname={name} NodeAddr={address} Port={NODE_PORT} CPUs={cpus} RealMemory={memory} \
             State=UNKNOWN"
        );
    }
    text.push_str("PartitionName=all Nodes=n[1-4] Default=YES MaxTime=1:00:00 State=UP\n");
    text.push_str("PartitionName=short Nodes=n[3-4] MaxTime=0:05:00 State=UP\n");
    // Whose jobs end those of the others, as partitions of a machine's owners do.
    text.push_str("PartitionName=urgent Nodes=n[1-4] MaxTime=0:05:00 PriorityTier=10 State=UP\n");
    text
}

pub(super) fn slurmdbd_conf() -> String {
    format!(
        "AuthType=auth/munge
AuthInfo=socket={FOLDER}/run/munge.socket
DbdHost=localhost
DbdAddr={HOST_ADDRESS}
DbdPort={DATABASE_PORT}
SlurmUser=root
LogFile={FOLDER}/log/slurmdbd.log
PidFile={FOLDER}/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=assay
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_an_address_of_its_own() {
        let text = slurm_conf("vm", 2, 24_105);
        let nodes: Vec<&str> = text.lines().filter(|line| line.starts_with("NodeName=")).collect();
        assert_eq!(nodes.len(), NODES.len());
        assert_eq!(
            nodes[3],
            "NodeName=n4 NodeHostname=vm NodeAddr=198.18.77.14 Port=17610 CPUs=2 RealMemory=24105 State=UNKNOWN"
        );
        let foreign = text.lines().filter(|line| line.contains("=/") && !line.contains(FOLDER));
        assert_eq!(foreign.collect::<Vec<_>>(), ["MailProg=/bin/true"], "every file is in the cluster's own folder");
        assert!(slurmdbd_conf().lines().filter(|line| line.contains("=/")).all(|line| line.contains(FOLDER)));
    }
}
