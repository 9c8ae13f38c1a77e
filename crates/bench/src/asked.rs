//! What a run was asked to do, in a form that outlives it: the plan, and what of its setting is not in the document. The
//! journal begins with it, so that a run that was cut off can be gone on with.
//!
//! The plan itself is kept, not the command that it came of: room on a disk, free memory and a suite's file may have
//! changed since.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::plan::Plan;
use crate::references::detect::Detected;
use crate::suite::Sampling;

/// What a run was asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// The plan.
    pub(crate) plan: Plan,
    /// Whether results are only checked.
    pub(crate) verify_only: bool,
    /// The directory that disks are measured in, and whether the user named it.
    pub(crate) disk: Option<(String, bool)>,
    /// Address and port of the server at the other end.
    pub(crate) server: Option<String>,
    /// The trusted tools of the plan as they were found, by their ids.
    pub(crate) tools: Detected,
}

/// The tools beside a planned row: their ids, which are part of the program.
pub(crate) mod tool_names {
    use super::{Deserialize, Deserializer, Serialize, Serializer};
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(tools: &[&'static str], serializer: S) -> Result<S::Ok, S::Error> {
        tools.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'static str>, D::Error> {
        let known = |name: String| {
            let tool = tools::ids().find(|id| *id == name);
            tool.ok_or_else(|| D::Error::custom(format!("'{name}' is no reference tool of this version")))
        };
        Vec::<String>::deserialize(deserializer)?.into_iter().map(known).collect()
    }
}

/// How a row is sampled, field by field in base units: a suite's own form is for people.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptSampling {
    samples: u32,
    most: Option<u32>,
    per_launch: u32,
    sample_seconds: f64,
    warm_up_seconds: [f64; 2],
    target: f64,
    until_steady: bool,
}

/// [`Sampling`] in a plan that is kept.
pub(crate) mod kept_sampling {
    use super::{Deserialize, Deserializer, KeptSampling, Sampling, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(sampling: &Sampling, serializer: S) -> Result<S::Ok, S::Error> {
        let Sampling { samples, most, per_launch, sample_seconds, warm_up_seconds, target, until_steady } = *sampling;
        KeptSampling { samples, most, per_launch, sample_seconds, warm_up_seconds, target, until_steady }
            .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sampling, D::Error> {
        let KeptSampling { samples, most, per_launch, sample_seconds, warm_up_seconds, target, until_steady } =
            KeptSampling::deserialize(deserializer)?;
        Ok(Sampling { samples, most, per_launch, sample_seconds, warm_up_seconds, target, until_steady })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Request, plan};
    use crate::suite::Suite;
    use crate::tests::machine_with_cpus;

    #[test]
    fn every_plan_comes_back_as_it_was() {
        for name in Suite::names() {
            let request = Request { references: tools::ids().collect(), ..Request::of(Suite::find(name).unwrap()) };
            let plan = plan(&request, &machine_with_cpus(2)).unwrap();
            let asked = Asked {
                plan,
                verify_only: false,
                disk: Some(("/a b".into(), true)),
                server: None,
                tools: Detected::new(),
            };
            let text = serde_json::to_string(&asked).unwrap();
            assert_eq!(serde_json::from_str::<Asked>(&text).unwrap(), asked, "{name}");
        }
    }

    #[test]
    fn a_tool_that_this_version_does_not_know_is_no_plan() {
        let request = Request { references: vec!["fio"], ..Request::of(Suite::find("quick").unwrap()) };
        let plan = plan(&request, &machine_with_cpus(1)).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert!(serde_json::from_str::<Plan>(&text).is_ok());
        let other = text.replacen("\"beside\":[]", "\"beside\":[\"papyrus\"]", 1);
        assert!(serde_json::from_str::<Plan>(&other).unwrap_err().to_string().contains("'papyrus'"));
    }
}
