//! Network interfaces: their addresses, routes and links.

pub(crate) mod addresses;
pub(crate) mod infiniband;
pub(crate) mod interfaces;
pub(crate) mod namespace;
pub(crate) mod routes;
