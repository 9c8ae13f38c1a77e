//! The seam of an area's knowledge.

use model::experiment::{Area as Name, Experiment};
use model::machine::Machine;
use model::plan::{PlanError, Planned};

use crate::label::parts::Labels;
use crate::request::{Choices, Request};
use crate::suite::Suite;

/// What is known of one area.
pub trait Area: Sync {
    /// Which area.
    fn name(&self) -> Name;

    /// The suite of the area's own command, narrowed to what the user chose.
    ///
    /// # Errors
    /// No benchmark has what was chosen.
    fn suite(&self, choices: &Choices) -> Result<Suite, PlanError>;

    /// The benchmarks that a request expands to on a machine.
    ///
    /// # Errors
    /// What the user chose is not possible on this machine.
    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError>;

    /// Kernel and counting rule by which this version measures a benchmark of the area; `None` where it has none for it.
    fn method(&self, experiment: &Experiment) -> Option<String>;

    /// How the area calls itself and its rows.
    fn labels(&self) -> Labels;
}
