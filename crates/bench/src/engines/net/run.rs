//! What network benchmarks keep between workers: the session with a server on another host.

use model::experiment::{LOOPBACK, NetParams, Params};
use model::wire::{Ends, Role};

use crate::engines::resources::{Provided, ResourceContext, RunResources, Scheduling, User, WillMake};
use crate::net::ServerSession;
use crate::net::preface::Token;
use model::plan::Planned;

/// The interface of benchmarks between two processes of this machine.
const LOOPBACK_INTERFACE: &str = "lo";

pub(crate) struct NetResources<'a> {
    server: Option<&'a ServerSession>,
}

impl<'a> NetResources<'a> {
    pub(crate) fn new(context: ResourceContext<'a>) -> Self {
        Self { server: context.server }
    }

    fn remote_ends(&self, params: &NetParams) -> Result<Ends, String> {
        let server = self.server.ok_or_else(|| "there is no session with a server. Use --to to name one".to_owned())?;
        if let Some(obstacle) = server.obstacle(params.mode) {
            return Err(obstacle);
        }
        Ok(Ends {
            role: Role::Measure,
            address: Some(server.address().to_string()),
            token: server.token().as_str().to_owned(),
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
        let ends = match &planned.experiment.params {
            Params::Net(params) if params.path != LOOPBACK => Some(self.remote_ends(params)?),
            Params::Net(_) if !planned.other_cpus.is_empty() => Some(Ends {
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
