//! Disturbed machines: warnings, sampling, quotas, `assay doctor`, `compare --live`.

pub(crate) mod disturbances;
mod doctor;
mod live;
mod sampling;
mod surroundings;
