//! What the machine code of a pointer chase is given.

use crate::memory::lines::CacheLine;

/// The most chains of one chase.
pub const MOST_CHAINS: usize = 32;

/// Where each chain stands; a body leaves those of the chains that it does not have as they are.
pub(crate) type ChainPlaces = [*const CacheLine; MOST_CHAINS];

/// A body: follows each of its chains for so many rounds of [`steps_per_round`] loads, from its place on, and leaves
/// there where it stands.
///
/// # Safety
/// The word at the place of each of the body's chains must hold the address of a word that holds such an address, and
/// so on.
pub(crate) type Body = unsafe extern "C" fn(places: &mut ChainPlaces, rounds: u64);

/// Loads in a round over all chains, about: enough to hide the end of the loop, which runs beside them, and few enough
/// for the core's cache of decoded instructions.
const LOADS_PER_ROUND: usize = 64;

/// Dependent loads of each chain in a round of a body with so many chains.
pub(crate) const fn steps_per_round(chains: usize) -> usize {
    LOADS_PER_ROUND / chains
}
