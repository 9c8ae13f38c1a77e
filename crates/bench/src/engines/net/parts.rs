//! Which part of a launch belongs to a data connection.

use std::io;
use std::sync::Arc;

use model::experiment::NetParams;
use model::io::{NetMode, Wait};

use super::connect::Connector;
use super::datagrams::{self, Form, Stream};
use super::flows::{DataEnd, Way};
use super::link::content::Content;
use super::load::{Loading, Probe};
use super::near::Session;
use super::part::Part;
use super::pingpong::{TcpPinger, UdpPinger};
use super::stream::{Receiver, Sender};
use super::transfer::Exchanger;

/// The part of an experiment that belongs to this data end.
///
/// # Errors
/// What the kernel said.
pub(super) fn part_of(
    params: &NetParams,
    way: Way,
    end: DataEnd,
    content: Content,
    session: &Arc<Session>,
) -> io::Result<Box<dyn Part>> {
    let both = params.direction == Some(model::io::Direction::Both);
    let wait = params.wait.unwrap_or(Wait::Blocking);
    Ok(match (end, params.mode, way) {
        (DataEnd::Tcp(connection), NetMode::Stream, Way::Up) => {
            Box::new(Sender::new(connection, &content, both, params.zero_copy == Some(true))?)
        }
        (DataEnd::Tcp(connection), NetMode::Stream, _) => Box::new(Receiver::new(connection, content, both)?),
        (DataEnd::Tcp(connection), NetMode::Transfer, _) => Box::new(Exchanger::new(connection, content)?),
        (end, NetMode::Load, Way::Back) => Box::new(Probe::new(end, content, params, session)?),
        (DataEnd::Tcp(connection), NetMode::Load, Way::Up) => {
            Box::new(Loading::new(Box::new(Sender::new(connection, &content, both, false)?)))
        }
        (DataEnd::Tcp(connection), NetMode::Load, Way::Down) => {
            Box::new(Loading::new(Box::new(Receiver::new(connection, content, both)?)))
        }
        (DataEnd::Tcp(connection), NetMode::Connect, _) => Box::new(Connector::new(connection, &content, session)?),
        (DataEnd::Tcp(connection), ..) => Box::new(TcpPinger::new(connection, &content, wait)?),
        (DataEnd::Udp(socket), NetMode::Blast | NetMode::NoDrop, way) => {
            Box::new(Stream::new(params, way, socket, Form::new(content), Arc::clone(session))?)
        }
        (DataEnd::Udp(socket), NetMode::Transfer, _) => {
            Box::new(datagrams::Exchanger::new(params, socket, content, Arc::clone(session))?)
        }
        (DataEnd::Udp(socket), ..) => Box::new(UdpPinger::new(socket, &content, Arc::clone(session), wait)?),
    })
}
