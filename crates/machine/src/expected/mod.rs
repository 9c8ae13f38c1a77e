//! What a machine should reach by sources outside of it: published values of its processor and of its machine type, and
//! the results of machines like it. Each range carries its source; what is not published has no range.

mod clocks;
mod machine_type;
mod range;
pub(crate) mod similar;

use model::machine::Machine;

use crate::declared::Declared;
use crate::system::cloud;

/// Takes the machine type that the user declared, and what is published of it.
pub fn declare_type(machine: &mut Machine, declared: &Declared) {
    cloud::declare_type(machine, declared);
    set(machine);
}

/// Sets the expectations of a machine whose facts are known.
pub(crate) fn set(machine: &mut Machine) {
    machine.unknown.retain(|unknown| unknown.fact != machine_type::FACT);
    let mut expected = clocks::of(machine);
    expected.extend(machine_type::of(machine));
    expected.extend(similar::of(machine));
    machine.expected = expected;
}

#[cfg(test)]
mod tests {
    use model::isa::Isa;
    use model::machine::{Cloud, MachineExpectation, Provider, Virtualization};

    use super::*;

    fn of(change: impl FnOnce(&mut Machine)) -> Vec<(String, f64, f64)> {
        let mut machine = Machine::default();
        change(&mut machine);
        set(&mut machine);
        let one = |one: MachineExpectation| (one.quantity.as_str().to_owned(), one.range.low, one.range.high);
        machine.expected.into_iter().map(one).collect()
    }

    #[test]
    fn a_model_has_its_own_clocks_and_a_hidden_one_those_of_its_microarchitecture() {
        let known = of(|machine| machine.cpu.model_name = Some("AMD EPYC 9654 96-Core Processor".into()));
        assert_eq!(known[0], ("clock".to_owned(), 0.99 * 2.4e9, 10e9));
        let hidden = of(|machine| {
            machine.cpu.model_name = Some("Intel(R) Xeon(R) Processor @ 2.50GHz".into());
            machine.cpu.microarchitecture = Some("Cascade Lake".into());
        });
        assert_eq!(hidden[0], ("clock".to_owned(), 0.99 * 2.2e9, 10e9));
        assert_eq!(of(|machine| machine.cpu.model_name = Some("AMD EPYC Processor".into())), []);
    }

    #[test]
    fn vectors_have_their_own_clocks_and_a_virtual_machine_no_highest_one() {
        let of_model = |name: &str, hypervisor: Option<bool>| {
            let all = of(|machine| {
                machine.cpu.model_name = Some(name.to_owned());
                machine.cpu.isa = vec![Isa::Avx512, Isa::Avx2, Isa::Scalar];
                machine.cpu.hypervisor_bit = hypervisor;
            });
            all.into_iter().filter(|one| one.0.starts_with("avx")).collect::<Vec<_>>()
        };
        let ranges = |avx2_most, avx512_most| {
            [("avx2_clock", 1.9e9, avx2_most), ("avx512_clock", 1.6e9, avx512_most)]
                .map(|(name, base, most): (&str, f64, f64)| (name.to_owned(), base * 0.99, most))
        };
        let name = "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz";
        assert_eq!(of_model(name, Some(false)), ranges(2.6e9 * 1.01, 2.2e9 * 1.01));
        assert_eq!(of_model(name, Some(true)), ranges(10e9, 10e9));
        assert_eq!(of_model("Intel(R) Xeon(R) Gold 6430", Some(false)), []);
        let without_vectors = of(|machine| machine.cpu.model_name = Some(name.to_owned()));
        assert!(without_vectors.iter().all(|one| !one.0.starts_with("avx")), "{without_vectors:?}");
    }

    fn on_ec2(machine: &mut Machine, vcpus: u32) {
        let name = Some("m7i.large".to_owned());
        machine.cloud = Some(Cloud { provider: Provider::Ec2, machine_type: name });
        machine.cpu.threads = Some(vcpus);
        machine.memory.total_bytes = Some(8_100_000_000);
    }

    #[test]
    fn a_machine_type_has_expectations_where_the_machine_is_what_it_is_sold_as() {
        let quantities = |vcpus| of(|machine| on_ec2(machine, vcpus)).into_iter().map(|one| one.0).collect::<Vec<_>>();
        assert_eq!(quantities(2)[0], "network");
        assert_eq!(quantities(4), [""; 0]);
        let mut machine = Machine::default();
        on_ec2(&mut machine, 4);
        set(&mut machine);
        set(&mut machine);
        let [unknown] = &machine.unknown[..] else { panic!("{:?}", machine.unknown) };
        assert_eq!(unknown.why, "m7i.large does not agree with this machine: the type has 2 CPUs, this machine 4");
    }

    #[test]
    fn machines_are_alike_by_cores_and_hypervisor() {
        let mut machine = Machine::default();
        machine.cpu.microarchitecture = Some("Zen 4".into());
        (machine.cpu.cores, machine.cpu.threads) = (Some(2), Some(2));
        assert_eq!(similar::similarity_key(&machine).unwrap(), "Zen 4, 2 cores, 2 CPUs, bare metal");
        machine.virtualization = Some(Virtualization { hypervisor: Some("KVM".into()), signature: None });
        assert_eq!(similar::similarity_key(&machine).unwrap(), "Zen 4, 2 cores, 2 CPUs, KVM");
        machine.cpu.cores = None;
        assert_eq!(similar::similarity_key(&machine), None);
    }
}
