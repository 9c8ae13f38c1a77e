//! What Slurm's accounting allows a user: limits of associations and of qualities of service (QOS).

use std::collections::BTreeMap;

use super::command::{Environment, call};
use super::parse::{self, Association, Partition, Quality};

/// The longest time limit that a job can have, and what sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    /// In seconds.
    pub seconds: u64,
    /// Such as `the QOS 'normal'`.
    pub by: String,
}

/// The limits of a user; none without accounting.
#[derive(Debug, Default)]
pub(super) struct Accounting {
    associations: Vec<Association>,
    qualities: BTreeMap<String, Quality>,
}

impl Accounting {
    /// Asks Slurm for the limits of a user, with only this account if it is named.
    pub(super) fn of(user: &str, account: Option<&str>, environment: &Environment) -> Self {
        // Without accounting these commands fail: no limits.
        let ask = |what: &[&str]| {
            let called = call(&[&["sacctmgr", "-nP", "show"], what].concat(), None, environment);
            called.ok().filter(|called| called.succeeded).map(|called| called.stdout).unwrap_or_default()
        };
        let associations = ask(&["assoc", &format!("user={user}"), parse::ASSOCIATION]);
        Self::parse(&associations, account, &ask(&["qos", parse::QUALITY]))
    }

    fn parse(associations: &str, account: Option<&str>, qualities: &str) -> Self {
        let mut associations = parse::associations(associations);
        associations.retain(|association| account.is_none_or(|account| association.account == account));
        Self { associations, qualities: parse::qualities(qualities).into_iter().collect() }
    }

    /// The associations that can apply to jobs in these partitions.
    fn applying<'a>(&'a self, partitions: &'a [&Partition]) -> impl Iterator<Item = &'a Association> {
        let applies = move |association: &&Association| {
            association.partition.as_ref().is_none_or(|name| partitions.iter().any(|partition| partition.name == *name))
        };
        self.associations.iter().filter(applies)
    }

    fn quality(&self, name: Option<&str>) -> Option<&Quality> {
        self.qualities.get(name?)
    }

    /// The most jobs in the queue: the tightest of all limits that can apply, of the user's associations, the job's QOS, the
    /// partitions.
    pub(super) fn most_jobs(&self, qos: Option<&str>, partitions: &[&Partition]) -> Option<u32> {
        let of_quality = |name: Option<&str>| self.quality(name)?.limit;
        let own = self
            .applying(partitions)
            .flat_map(|association| [association.limit, of_quality(qos.or(default_quality(association)))]);
        let of_partitions = partitions.iter().map(|partition| of_quality(partition.qos.as_deref()));
        own.chain(of_partitions).flatten().min()
    }

    /// The longest time limit in a partition with the job's QOS, else the default one.
    pub(super) fn longest(&self, qos: Option<&str>, partition: &Partition) -> Option<TimeLimit> {
        let only = [partition];
        let own = self
            .applying(&only)
            .filter_map(|association| self.wall(association, qos.or(default_quality(association)), partition));
        own.chain(of_partition(partition)).min_by_key(|limit| limit.seconds)
    }

    /// The longest time limit in a partition with the QOS that allows most.
    pub(super) fn longest_of_any(&self, partition: &Partition) -> Option<TimeLimit> {
        let only = [partition];
        let choices = self.applying(&only).flat_map(|association| {
            let default = association.qos.is_empty().then_some(None);
            let choices = association.qos.iter().map(|qos| Some(qos.as_str())).chain(default);
            choices.map(|qos| self.wall(association, qos, partition)).collect::<Vec<_>>()
        });
        let longer = |one: Option<TimeLimit>, other: Option<TimeLimit>| {
            one.zip(other).map(|(one, other)| if one.seconds >= other.seconds { one } else { other })
        };
        let own = choices.reduce(longer).flatten();
        own.into_iter().chain(of_partition(partition)).min_by_key(|limit| limit.seconds)
    }

    /// The first limit of Slurm's hierarchy: the partition's QOS, the job's, the association
    /// (<https://slurm.schedmd.com/resource_limits.html>).
    fn wall(&self, association: &Association, qos: Option<&str>, partition: &Partition) -> Option<TimeLimit> {
        let of = |name: Option<&str>| {
            let seconds = self.quality(name)?.longest?;
            Some(TimeLimit { seconds, by: format!("the QOS '{}'", name?) })
        };
        let own =
            || Some(TimeLimit { seconds: association.longest?, by: format!("the account '{}'", association.account) });
        of(partition.qos.as_deref()).or_else(|| of(qos)).or_else(own)
    }
}

fn of_partition(partition: &Partition) -> Option<TimeLimit> {
    Some(TimeLimit { seconds: partition.longest?, by: "the partition".to_owned() })
}

/// The default QOS of an association: its own, else `normal` if allowed, else the only one.
fn default_quality(association: &Association) -> Option<&str> {
    let allowed = &association.qos;
    let normal = allowed.iter().find(|name| *name == "normal");
    let usual = normal.or_else(|| allowed.first().filter(|_| allowed.len() == 1)).map(String::as_str);
    association.default_qos.as_deref().or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(name: &str, qos: Option<&str>, longest: Option<u64>) -> Partition {
        Partition { name: name.into(), qos: qos.map(str::to_owned), longest, ..Partition::default() }
    }

    #[test]
    fn the_tightest_of_all_limits_that_apply() {
        let with = |associations| Accounting::parse(associations, None, "normal|8||||\nlow|4||||\npart||5|||\n");
        let accounting = with("a|||normal,low||10|||\na|gpu||normal||1|||\n");
        let [debug, with_qos, gpu] =
            [("debug", None), ("p", Some("part")), ("gpu", None)].map(|(name, qos)| partition(name, qos, None));
        assert_eq!(accounting.most_jobs(None, &[&debug]), Some(8), "the QOS called normal");
        assert_eq!(accounting.most_jobs(Some("low"), &[&debug]), Some(4));
        assert_eq!(accounting.most_jobs(None, &[&debug, &with_qos]), Some(5), "the partition's own QOS");
        assert_eq!(accounting.most_jobs(None, &[&gpu]), Some(1), "an association for this partition");
        assert_eq!(with("").most_jobs(None, &[&debug]), None, "nothing is accounted for");
    }

    #[test]
    fn the_time_limit_of_a_job_is_the_first_of_slurms_hierarchy_and_the_partitions() {
        let qualities = "normal|||||01:00:00\nlong|||||2-00:00:00\nfree|||||\npart|||||00:10:00\n";
        let limits = |associations: &str, qos: Option<&str>, partition: &Partition| {
            let accounting = Accounting::parse(associations, None, qualities);
            let text = |limit: Option<TimeLimit>| {
                limit.map_or("none".to_owned(), |limit| format!("{} s by {}", limit.seconds, limit.by))
            };
            [text(accounting.longest(qos, partition)), text(accounting.longest_of_any(partition))]
        };
        let [all, day, own] = [("all", None, None), ("day", None, Some(86_400)), ("own", Some("part"), Some(86_400))]
            .map(|(name, qos, longest)| partition(name, qos, longest));
        let user = "a|||normal,long||2|||08:00:00\n";
        let (normal, long) = ("3600 s by the QOS 'normal'", "172800 s by the QOS 'long'");
        assert_eq!(limits(user, None, &all), [normal, long]);
        assert_eq!(limits(user, Some("long"), &all), [long, long]);
        assert_eq!(limits(user, Some("free"), &all)[0], "28800 s by the account 'a'");
        assert_eq!(limits(user, None, &day), [normal, "86400 s by the partition"]);
        assert_eq!(limits(user, Some("long"), &own)[0], "600 s by the QOS 'part'");
        assert_eq!(limits("a|||free,long|||||\n", None, &all), ["none", "none"]);
        assert_eq!(limits("", None, &day), ["86400 s by the partition"; 2], "nothing is accounted for");
        assert_eq!(limits("a|||||||\n", None, &day), ["86400 s by the partition"; 2], "an old format");
    }
}
