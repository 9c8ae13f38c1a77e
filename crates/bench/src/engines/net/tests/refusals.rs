//! What is refused: flows that do not come, strangers, tasks without a token.

use super::*;

#[test]
fn flows_that_do_not_come_are_an_error() {
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let (connections, token) = (DataConnections::default(), Token::new());
    let arrivals = connections.expect(token);
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let patience = Duration::from_millis(50);
        let error = flows::gather(
            &listener,
            &arrivals,
            &[protocol; 2],
            (listener.address(), listener.address(), token),
            patience,
        )
        .unwrap_err();
        assert!(error.to_string().contains("0 of 2 data connections came"), "{error}");
    }
}

#[test]
fn a_datagram_from_elsewhere_or_without_the_token_opens_nothing() {
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let (connections, token) = (DataConnections::default(), Token::new());
    let arrivals = connections.expect(token);
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(listener.address()).unwrap();
    let preface = |token| crate::net::preface::Preface { purpose: Purpose::Data, number: 0, token }.bytes();
    let gather = |peer: &str| {
        let peer = (listener.address(), peer.parse().unwrap(), token);
        flows::gather(&listener, &arrivals, &[Protocol::Udp], peer, Duration::from_millis(200)).map(|ends| ends.len())
    };
    let home = "127.0.0.1:1";
    socket.send(&preface(Token::new())).unwrap();
    socket.send(&[&preface(token)[..], b"more"].concat()).unwrap();
    socket.send(b"assaynet").unwrap();
    assert!(gather(home).is_err());
    socket.send(&preface(token)).unwrap();
    assert!(gather("127.0.0.2:1").is_err(), "the control connection came from another address");
    socket.send(&preface(token)).unwrap();
    assert_eq!(gather(home).unwrap(), 1);
    socket.set_nonblocking(true).unwrap();
    let mut back = [0; 64];
    assert_eq!(socket.recv(&mut back).unwrap(), preface(token).len(), "one answer, as long as the question");
    assert!(socket.recv(&mut back).is_err());
}

#[test]
fn a_task_without_a_token_is_refused() {
    let mut ours = task(MESSAGE, 14, 1, Role::Measure, "too short");
    let telling = &mut Telling(mpsc::channel().0);
    assert!(NetEngine.open(&ours, 0).is_err() && NetEngine.peer(&ours, telling).is_err());
    ours.ends = None;
    assert!(NetEngine.peer(&ours, telling).is_err());
    assert!(NetEngine.open(&crate::tests::task(), 0).is_err(), "no network experiment");
}
