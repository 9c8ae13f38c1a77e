//! Streams of datagrams: as many as possible (`blast`), or at the highest rate whose loss stays within a goal (`no_drop`); and a
//! fixed amount there and back (`transfer`, [`exchange`]). Goodput is what arrived inside the receiver's window, each datagram
//! once; loss is what was sent inside the sender's window and never arrived.

mod account;
mod exchange;
mod far;
mod header;
mod near;
mod pace;
pub(super) mod pool;
mod receiving;
mod search;
mod sending;

pub(super) use exchange::{Exchanger, give_back};
pub(super) use far::{receive_all, send_all, settle};
pub(super) use header::Form;
pub(super) use near::Stream;
