//! What the threads of a network benchmark saw, as one.

use model::document::NetConditions;

/// What two threads of a network experiment say: the first speaks for all, but each of its own connection's bytes and of
/// the CPU time at both of its ends.
pub(crate) fn of_threads(first: Option<NetConditions>, next: Option<NetConditions>) -> Option<NetConditions> {
    match (first, next) {
        (Some(first), Some(next)) => {
            let link_bytes = first.link_bytes.zip(next.link_bytes).map(|(one, other)| one.saturating_add(other));
            let plus = |of: fn(&NetConditions) -> Option<f64>| of(&first).zip(of(&next)).map(|(a, b)| a + b);
            let sending_cpu_seconds = plus(|one| one.sending_cpu_seconds);
            let receiving_cpu_seconds = plus(|one| one.receiving_cpu_seconds);
            let load_bytes_per_second = plus(|one| one.load_bytes_per_second);
            Some(NetConditions {
                load_bytes_per_second,
                link_bytes,
                sending_cpu_seconds,
                receiving_cpu_seconds,
                ..first
            })
        }
        (first, next) => first.or(next),
    }
}
