//! Streams and round trips between two processes, servers, and networks that lose or delay packets.

mod faults;
mod hostile;
mod server;
mod streams;
