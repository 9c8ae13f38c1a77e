//! The table entry of an area.

use model::experiment::{Area as Name, Classic, Experiment};
use model::machine::Machine;
use model::plan::{PlanError, Planned};

use crate::label::parts::Labels;
use crate::request::Request;

/// What is known of one area.
#[derive(Debug)]
pub struct Area {
    /// Its name.
    pub name: Name,
    /// The benchmarks of a request on a machine; an error if a choice of the user is not possible there.
    pub expand: fn(&Request, &Machine) -> Result<Vec<Planned>, PlanError>,
    /// Kernel and counting rule by which this version measures a benchmark; `None` if it cannot.
    pub method: fn(&Experiment) -> Option<String>,
    /// The names of the area and its results.
    pub labels: Labels,
}

/// The place of a benchmark in the classic table of its area.
pub(crate) fn classic(area: Name, workload: &str, total: Option<f64>) -> Classic {
    Classic { table: area.to_string(), workload: workload.to_owned(), class: None, total }
}
