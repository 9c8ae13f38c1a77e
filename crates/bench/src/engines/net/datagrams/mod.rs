//! Streams of datagrams: as many as go (`blast`), or the highest rate whose loss stays within a goal (`no_drop`); and a
//! fixed amount there and back (`transfer`, [`exchange`]).
//!
//! Each datagram says which flow it is of, its number, when it was sent and in which window ([`header`]). The receiver
//! takes the account ([`account`]): goodput is what came inside its window by its own clock, each datagram once; loss is
//! what was sent inside the window by the sender's clock and never came. A sender keeps to a [`pace`], or to none, and
//! sends from when a window is announced until its end, never in between. The rate is found by a [`search`] before the
//! first window, in trials that are windows too, on what all flows gave together ([`pool`]).

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
mod used;

pub(super) use exchange::{Exchanger, give_back};
pub(super) use far::{receive_all, send_all, settle};
pub(super) use header::Form;
pub(super) use near::Stream;
