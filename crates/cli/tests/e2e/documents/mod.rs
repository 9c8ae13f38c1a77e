//! Plans, documents, reports, charts, comparisons and recorded machines.

mod charts;
mod compare;
mod formats;
mod machines;
mod report;
