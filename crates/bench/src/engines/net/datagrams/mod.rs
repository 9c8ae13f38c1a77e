//! Streams of datagrams: as many as possible (`blast`), or at the highest rate whose loss stays within a goal (`no_drop`); and
//! a fixed amount in each direction (`transfer`, [`exchange`]). Goodput is what arrived inside the receiver's window, each
//! datagram once; loss is what was sent inside the sender's window and never arrived.

mod account;
mod exchange;
mod header;
mod pace;
pub(super) mod pool;
pub(super) mod receiving;
mod search;
mod sending;
mod server;
mod stream;

pub(super) use exchange::Exchanger;
pub(super) use header::Form;
pub(super) use server::{Server, settle};
pub(super) use stream::Stream;
