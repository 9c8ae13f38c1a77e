//! The interface of the machine code of a pointer chase.

use crate::memory::lines::CacheLine;

/// The most chains of one chase.
pub const MOST_CHAINS: usize = 32;

/// The position of each chain; a body leaves those of chains that it does not have unchanged.
pub(crate) type ChainPlaces = [*const CacheLine; MOST_CHAINS];

/// A body: follows each of its chains for `rounds` rounds of [`steps_per_round`] loads and updates its position.
/// Safety: the word at the position of each of the body's chains must hold the address of a word that holds such an
/// address, and so on.
pub(crate) type Body = unsafe extern "C" fn(places: &mut ChainPlaces, rounds: u64);

/// Approximate loads per round over all chains: enough to hide the end of the loop, and few enough for the cache of
/// decoded instructions.
const LOADS_PER_ROUND: usize = 64;

/// Dependent loads of each chain in a round of a body with this number of chains.
pub(crate) const fn steps_per_round(chains: usize) -> usize {
    LOADS_PER_ROUND / chains
}
