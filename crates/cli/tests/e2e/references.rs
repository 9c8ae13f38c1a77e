//! Trusted tools beside our rows.
