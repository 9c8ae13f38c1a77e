//! The network engine: a client ([`session`], [`flow`]) and a server ([`server`]) exchange data, over loopback or between
//! hosts. The client is a worker of the run; the server is another worker, or on another host. Data are counted at the receiver
//! and all of them are checked; a latency is the full round trip.

mod connect;
mod datagrams;
mod flow;
mod flows;
mod link;
mod load;
mod part;
mod pingpong;
pub(crate) mod server;
mod session;
mod stream;
#[cfg(test)]
mod tests;
mod transfer;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use model::experiment::{Area, Experiment, LOOPBACK, NetParams};
use model::io::NetMode;
use model::plan::Planned;
use model::wire::{Ends, Role, Task};
use sys::clock::Calibration;

use super::resources::{Provided, RunResources, Scheduling, User, WillMake};
use super::{Engine, Opened, Preparing, Trouble, params_of};
use crate::locks::lock;
use crate::net::handshake::Limits;
use crate::net::listener::{DataConnections, Listener};
use crate::net::messages::Opening;
use crate::net::preface::{Purpose, Token};
use crate::net::{ServerSession, loopback};
pub(crate) use connect::serve_late;
pub(crate) use datagrams::receiving::granted_receive_buffer;
use flow::NetFlow;
pub(super) use flow::of_two_threads;

pub(super) struct NetEngine {
    /// How long a client waits for an answer of the server.
    pub(super) silence: Duration,
}

/// Shortest time over which a server calibrates its timer.
const CALIBRATION: Duration = Duration::from_millis(20);
/// A process run takes at most this many times its samples and warm-up, and this many seconds more.
const SLACK: (f64, f64) = (10.0, 60.0);

impl Engine for NetEngine {
    fn area(&self) -> Area {
        Area::Net
    }

    fn prepare(&self, task: &Task, _: &mut dyn Preparing) -> Result<(), Trouble> {
        let (params, ends) = checked(task)?;
        let address = ends.address.as_deref().unwrap_or_default();
        let planned = f64::from(task.samples) * task.sample_seconds + task.warm_up_seconds[1];
        let opening = Opening { params: params.clone(), most_seconds: SLACK.0 * planned + SLACK.1 };
        let (session, data) = session::meet(address, &ends.token, opening, self.silence).map_err(Trouble::Failed)?;
        if let (NetMode::Load, Some(probe), Some(cpu)) = (params.mode, data.first(), task.cpus.first()) {
            let idle = load::idle_seconds(&session, probe, params, *cpu).map_err(Trouble::Failed)?;
            if let Some(seconds) = idle {
                let _ = session.idle_seconds.set(seconds);
            }
        }
        session::keep(&ends.token, session, data);
        Ok(())
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let (params, ends) = checked(task)?;
        let opened = session::take(&ends.token, thread).ok_or_else(|| {
            Trouble::Failed(format!("thread {thread} of '{}' has no connection to the server", task.experiment.id))
        })?;
        let flow = NetFlow::new(task, params, opened, thread)
            .map_err(|error| Trouble::Failed(format!("cannot set up a connection: {error}")))?;
        Ok(Opened::Flow(Box::new(flow)))
    }

    fn peer(&self, task: &Task, preparing: &mut dyn Preparing) -> Result<(), Trouble> {
        serve_at(SocketAddr::new(loopback(), 0), task, preparing)
    }
}

fn serve_at(address: SocketAddr, task: &Task, preparing: &mut dyn Preparing) -> Result<(), Trouble> {
    let (_, ends) = checked(task)?;
    let calibration = Calibration::begin();
    let listener = Listener::open(address)
        .map_err(|error| Trouble::Failed(format!("cannot listen on {}: {error}", address.ip())))?;
    preparing.listening(&listener.address.to_string());
    let timer = calibration.finish(CALIBRATION);
    let (connections, cpus) = (DataConnections::default(), |_| task.cpus.clone());
    let home =
        server::Home { listener: &listener, connections: &connections, cpus: &cpus, timer, limits: &Limits::none() };
    let admission = Token::parse(&ends.token);
    // Only one process run, then the listener is closed.
    let admitted = Mutex::new(false);
    let outcome = Mutex::new(Ok(()));
    let received = listener.receive(&|preface, stream, stranger| {
        drop(stranger);
        let is_admitted = || Some(preface.token) == admission && !std::mem::replace(&mut *lock(&admitted), true);
        match preface.purpose {
            Purpose::ProcessRun if is_admitted() => {
                *lock(&outcome) = server::serve(&stream, &home);
                listener.close();
            }
            Purpose::Data => connections.bring(preface, stream),
            Purpose::Operation => connect::serve_late(&listener, &preface, &stream),
            Purpose::ProcessRun | Purpose::Session => {}
        }
    });
    received.map_err(|error| Trouble::Failed(format!("cannot take connections: {error}")))?;
    std::mem::replace(&mut *lock(&outcome), Ok(())).map_err(Trouble::Failed)
}

fn checked(task: &Task) -> Result<(&NetParams, &Ends), Trouble> {
    let params = params_of(task, Experiment::net)?;
    match task.ends.as_ref().filter(|ends| Token::parse(&ends.token).is_some()) {
        Some(ends) => Ok((params, ends)),
        None => Err(Trouble::Failed(format!("'{}' was started without a token", task.experiment.id))),
    }
}

const LOOPBACK_INTERFACE: &str = "lo";

pub(crate) struct NetResources<'a> {
    pub(super) server: Option<&'a ServerSession>,
}

impl NetResources<'_> {
    fn remote_ends(&self, params: &NetParams) -> Result<Ends, String> {
        let server = self.server.ok_or_else(|| "there is no session with a server. Use --to to name one".to_owned())?;
        if let Some(obstacle) = server.obstacle(params.mode) {
            return Err(obstacle);
        }
        Ok(Ends {
            role: Role::Measure,
            address: Some(server.address.to_string()),
            token: server.token.as_str().to_owned(),
            other_cpus: Vec::new(),
        })
    }
}

impl RunResources for NetResources<'_> {
    fn scheduling(&self) -> Scheduling {
        let interface = self.server.map_or_else(|| Some(LOOPBACK_INTERFACE.to_owned()), ServerSession::interface);
        let watched = machine::Watched { disks: Vec::new(), interface };
        Scheduling { operations_wait: true, watched, ..Scheduling::default() }
    }

    fn provide(&mut self, planned: &Planned, _user: User, _will_make: WillMake<'_>) -> Result<Provided, String> {
        let ends = match planned.experiment.net() {
            Some(params) if params.path != LOOPBACK => Some(self.remote_ends(params)?),
            Some(_) if !planned.other_cpus.is_empty() => Some(Ends {
                role: Role::Measure,
                address: None,
                token: Token::new().as_str().to_owned(),
                other_cpus: planned.other_cpus.clone(),
            }),
            _ => None,
        };
        Ok(Provided { file: None, ends })
    }
}
