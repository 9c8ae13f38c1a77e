//! The network between nodes: the pairs, their schedule, and the servers of the nodes.

mod addresses;
pub(crate) mod client;
pub mod idle;
pub(crate) mod pairs;
mod rounds;
mod server;
pub(crate) mod slot;
