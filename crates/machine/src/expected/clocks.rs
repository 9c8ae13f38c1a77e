//! Published clocks of the processor's model; where the hypervisor hides the model, those of its microarchitecture.

use model::isa::Isa;
use model::machine::ExpectedQuantity::{Avx2Clock, Avx512Clock, Clock, OneCoreClock};
use model::machine::{Machine, MachineExpectation};
use model::number::clock;
use model::sample::HIGHEST_CLOCK_HZ;

use super::range::published;
use crate::published::instances::platform_base;
use crate::published::processors::{processor_clocks, processor_model, vector_clocks};
use crate::published::table::Published;

/// How far a clock may be below or above its published value: makers round, and the reference clock is off by 0.2 %.
pub(super) const ROUNDING: f64 = 0.01;

pub(super) fn of(machine: &Machine) -> Vec<MachineExpectation> {
    [of_scalar_code(machine), of_vectors(machine)].concat()
}

fn of_scalar_code(machine: &Machine) -> Vec<MachineExpectation> {
    let brand = machine.cpu.model_name.as_deref().unwrap_or_default();
    let Some((clocks, model)) = processor_clocks(brand).zip(processor_model(brand)) else {
        return of_microarchitecture(machine);
    };
    let (one, all) = (clocks.boost_hz.as_ref(), clocks.all_core_hz.as_ref());
    match clocks.base_hz {
        Some(base) if one.or(all).is_none() => or_more(&base, &model),
        Some(base) => ranges(&base, all.or(one), one, &model),
        None => Vec::new(),
    }
}

/// From the base clock to the highest clock of all cores that multiply and add vectors of one width.
fn of_vectors(machine: &Machine) -> Vec<MachineExpectation> {
    let model = processor_model(machine.cpu.model_name.as_deref().unwrap_or_default()).unwrap_or_default();
    let of = |(quantity, isa): (_, Isa)| {
        let clocks = vector_clocks(machine, isa).filter(|_| machine.cpu.isa.contains(&isa))?;
        let (base, title) = (clocks.base_hz, isa.title());
        let (most, end) = match clocks.all_core_hz.map(|all| all.value) {
            Some(all) => (all * (1.0 + ROUNDING), format!("to {} ({title} all cores)", clock(all))),
            None => (HIGHEST_CLOCK_HZ, "or more".to_owned()),
        };
        let text = format!("{model}: {} ({title} base) {end}", clock(base.value));
        Some(published(quantity, [base.value * (1.0 - ROUNDING), most], &base, text))
    };
    [(Avx2Clock, Isa::Avx2), (Avx512Clock, Isa::Avx512)].into_iter().filter_map(of).collect()
}

/// The lowest base clock of the microarchitecture's servers at one provider. Other servers may have a higher boost clock.
fn of_microarchitecture(machine: &Machine) -> Vec<MachineExpectation> {
    let name = machine.cpu.microarchitecture.as_deref().unwrap_or_default();
    platform_base(name).map_or_else(Vec::new, |base| or_more(&base, &format!("slowest {name} server of Google Cloud")))
}

/// The base clock alone is known.
fn or_more(base: &Published, of: &str) -> Vec<MachineExpectation> {
    let ends = [base.value * (1.0 - ROUNDING), HIGHEST_CLOCK_HZ];
    let range = |quantity| published(quantity, ends, base, format!("{of}: {} (base) or more", clock(base.value)));
    [Clock, OneCoreClock].map(range).into()
}

/// Ranges from the base clock to the highest clock of all cores, and of one.
fn ranges(base: &Published, all: Option<&Published>, one: Option<&Published>, of: &str) -> Vec<MachineExpectation> {
    let range = |quantity, most: &Published, words: &str| {
        let text = format!("{of}: {} (base) to {} ({words})", clock(base.value), clock(most.value));
        published(quantity, [base.value * (1.0 - ROUNDING), most.value * (1.0 + ROUNDING)], base, text)
    };
    let all = all.map(|most| range(Clock, most, "all cores"));
    let one = one.map(|most| range(OneCoreClock, most, "boost"));
    all.into_iter().chain(one).collect()
}
