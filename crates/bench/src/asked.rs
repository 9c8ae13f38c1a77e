//! What a run was asked to do, in a form that outlives it: the plan, and what of its setting is not in the document. The
//! journal begins with it, so that a run that was cut off can be gone on with.
//!
//! The plan itself is kept, not the command that it came of: room on a disk, free memory and a suite's file may have
//! changed since.

use serde::{Deserialize, Serialize};

use crate::references::detect::Detected;
use model::plan::Plan;

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

impl Asked {
    /// The first reference tool of the plan that this version does not know.
    pub(crate) fn unknown_tool(&self) -> Option<&str> {
        let mut tools = self.plan.rows.iter().flat_map(|row| &row.beside);
        tools.find(|tool| tools::find(tool).is_none()).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machine_with_cpus;
    use areas::{Suite, plan};

    #[test]
    fn every_plan_comes_back_as_it_was() {
        for name in Suite::names() {
            let machine = machine_with_cpus(2);
            let mut request = crate::host::request(Suite::embedded(name).unwrap(), &machine);
            request.references.tools = tools::ids().map(str::to_owned).collect();
            let plan = plan(&request, &machine).unwrap();
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
    fn a_tool_that_this_version_does_not_know_is_found() {
        let mut asked = crate::tests::asked();
        asked.plan.rows[0].beside = vec!["fio".into()];
        assert_eq!(asked.unknown_tool(), None);
        asked.plan.rows[0].beside.push("papyrus".into());
        assert_eq!(asked.unknown_tool(), Some("papyrus"));
    }
}
