//! `assay net serve`: the server for network benchmarks of other hosts; and sessions with one.

use std::path::Path;

use bench::host;
use bench::net::{Key, NoSession, ServerSession, Target, listen_address};
use bench::server::{ServerOptions, serve as serve_clients};

use crate::args::net::Serve;
use crate::exit::{Outcome, Result, complain};

/// The key in this file, or on standard input for `-`.
pub(crate) fn key(file: Option<&Path>) -> Result<Option<Key>> {
    file.map(|file| Key::read(file, &mut std::io::stdin())).transpose()
}

/// Serves until a signal, or until the first client ends with `--once`.
pub(crate) fn serve(arguments: &Serve) -> Result {
    let listen = arguments.listen.map_or_else(|| listen_address(None), Ok)?;
    let key = key(arguments.key_file.as_deref())?;
    host::note_stop_signals();
    let options = ServerOptions {
        listen,
        key,
        once: arguments.once,
        concurrent: arguments.concurrent as usize,
        most_seconds: arguments.max_time,
        udp_bytes_per_second: arguments.udp_rate,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    serve_clients(options, |notice| complain(&notice.to_string()))?;
    Ok(host::stop_signal().map_or(Outcome::Done, Outcome::Interrupted))
}

/// Opens a session with a server, waiting for other clients; or the outcome of a command that got none.
pub(crate) fn connect(target: &Target, key: Option<&Key>, quiet: bool) -> std::result::Result<ServerSession, Result> {
    let mut reported = None;
    let session = ServerSession::begin(target, key, env!("CARGO_PKG_VERSION"), &mut |ahead| {
        if !quiet && reported.replace(ahead) != Some(ahead) {
            complain(&format!("{target} is busy; clients ahead in the queue: {ahead}"));
        }
    });
    session.map_err(|why| match why {
        NoSession::Named(sentence) => Err(sentence),
        NoSession::Failed(sentence) => {
            complain(&sentence);
            Ok(Outcome::Failed)
        }
        NoSession::Interrupted(signal) => Ok(Outcome::Interrupted(signal)),
    })
}
