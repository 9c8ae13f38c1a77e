//! What killed processes leave: how a later process sees that its owner has ended, and which files are test files of ours.

pub(crate) mod momentary;
mod owner;

pub use owner::Owner;
