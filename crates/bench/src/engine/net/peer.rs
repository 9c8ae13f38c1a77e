//! The other end of a network experiment: sends the stream, or echoes messages, until its connections end.
//!
//! It waits without time limits: a measuring end that dies takes its connections with it, and one that hangs is the
//! runner's to end.

use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::thread;

use model::experiment::NetParams;
use model::io::NetMode;
use model::wire::{Ends, Task};
use sys::clock::Timer;
use sys::team;

use super::content::Content;
use super::meet::{DataEnd, Met, connect};
use super::{block_bytes, pingpong, stream, terms};
use crate::engine::Trouble;

/// Does the other end's part, from connecting to the end of the launch.
pub(super) fn serve(task: &Task, params: &NetParams, ends: &Ends) -> Result<(), Trouble> {
    let address = ends.address.as_deref().unwrap_or_default();
    let Met { control, ends: data, .. } = connect(address, &terms(params, ends)).map_err(Trouble::Failed)?;
    let shut_all = || data.iter().for_each(DataEnd::shut);
    let work = |thread: usize, gate: &team::Gate| {
        // One that could not be pinned breaks the gate, and nobody waits for messages that will not come.
        gate.meet(&Timer::system(), 0.0).map_err(|_| "another thread failed".to_owned())?;
        let content = Content::new(&ends.token, thread, block_bytes(params));
        let worked = data.get(thread).map_or(Ok(()), |end| one(end, params, &content));
        worked.inspect_err(|_| shut_all()).map_err(|error| format!("the other end's thread {thread} failed: {error}"))
    };
    thread::scope(|scope| {
        let watch = || {
            wait_for_end(&control);
            shut_all();
        };
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn_scoped(scope, watch)
            .map_err(|error| Trouble::Failed(format!("cannot start a thread: {error}")))?;
        let worked = team::run(&task.cpus, work);
        // So that the watching thread ends; it may have seen the end already.
        let _ = control.shutdown(Shutdown::Both);
        worked.map(drop).map_err(Trouble::Failed)
    })
}

/// One thread's part.
fn one(end: &DataEnd, params: &NetParams, content: &Content) -> io::Result<()> {
    match (end, params.mode) {
        (DataEnd::Tcp(connection), NetMode::Stream) => stream::send(connection, content).map(drop),
        (DataEnd::Tcp(connection), _) => pingpong::echo_stream(connection, content.block_bytes()),
        (DataEnd::Udp(socket), _) => pingpong::echo_datagrams(socket),
    }
}

/// Waits until the measuring end has closed the control connection: it says nothing more on it.
fn wait_for_end(mut control: &TcpStream) {
    loop {
        match control.read(&mut [0]) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}
