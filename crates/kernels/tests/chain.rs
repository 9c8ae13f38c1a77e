//! The clock chains compute what the same instructions compute one by one.

use kernels::chain::{ADD, CHAINS, Chain, SECOND};

#[test]
fn a_chain_executes_every_instruction() {
    for chain in CHAINS {
        for iterations in [0, 1, 2, 1000] {
            assert_eq!(chain.run(iterations), chain.expected(iterations), "{} x {iterations}", chain.name);
        }
        assert_ne!(chain.run(1000), chain.run(999), "{}", chain.name);
    }
}

#[test]
fn cycles_follow_from_length_and_latency() {
    assert_eq!(ADD.cycles(10), 10 * Chain::LENGTH);
    assert_eq!(SECOND.cycles(10), u64::from(SECOND.latency) * ADD.cycles(10));
    assert_eq!(ADD.latency_on(5), 1);
    assert_eq!(SECOND.latency_on(5), if cfg!(target_arch = "aarch64") { 1 } else { 5 });
    assert_eq!(Chain::cycles_at(5, 10), 50 * Chain::LENGTH);
}
