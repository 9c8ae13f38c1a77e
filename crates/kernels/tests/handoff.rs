//! Lines handed between two threads: every number arrives, in order, and no thread waits for ever.

use std::thread;

use kernels::handoff::{HandoffLine, Lost};

/// Waits without a limit.
fn never() -> bool {
    thread::yield_now();
    false
}

#[test]
fn every_question_is_answered_and_counted() {
    let line = HandoffLine::default();
    let answered = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut made = 0;
            while line.answer(made, 10, &mut never).is_ok() {
                made += 10;
            }
            line.stopped(made);
            made
        });
        for batch in 0..20 {
            assert_eq!(line.ask(10 * batch, 10, &mut never), Ok(()));
        }
        assert_eq!(line.stop(200, &mut never), Ok(()));
        other.join().unwrap()
    });
    assert_eq!((answered, line.made()), (200, 200));
}

#[test]
fn a_round_trip_counted_by_one_side_is_found() {
    let line = HandoffLine::default();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            line.answer(0, 3, &mut never).unwrap();
            assert_eq!(line.answer(3, 1, &mut never), Err(Lost::Stopped));
            line.stopped(2);
        });
        line.ask(0, 3, &mut never).unwrap();
        assert_eq!(line.stop(3, &mut never), Err(Lost::Wrong { expected: 6, found: 4 }));
        other.join().unwrap();
    });
}
