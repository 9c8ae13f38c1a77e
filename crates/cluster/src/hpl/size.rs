//! The size of HPL's matrix on several nodes, and the number of processes. Pure.

use model::isa::Element;
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use model::number::UnitScale;
use tools::hpl::{USUAL_PANEL, expected_seconds, grid};

/// HPL's FAQ recommends 80 % of the memory for the matrix.
const MEMORY_SHARE: f64 = 0.8;
const ELEMENT_BYTES: f64 = 8.0;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) node: String,
    /// The machine it is on: several nodes of a trial plan may be on one.
    pub(super) machine: String,
    /// Physical cores, or CPUs if these are unknown.
    pub(super) cores: u32,
    /// Usable main memory in bytes.
    pub(super) memory_bytes: u64,
    /// The highest measured rate in fp64, flop/s.
    pub(super) rate: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Size {
    /// The system of equations, and the number of all processes.
    pub(super) params: LinpackParams,
    pub(super) per_node: u32,
    pub(super) grid: (u32, u32),
    pub(super) seconds: f64,
}

/// As many processes per node as the smallest node has cores (all get an equal share of the matrix), and the largest
/// system that fits into the smallest node's memory times the nodes, and into the time.
pub(super) fn size(members: &[Member], most_seconds: Option<f64>) -> Result<Size, String> {
    let on_machine_of = |member: &Member| members.iter().filter(|other| other.machine == member.machine).count();
    let share = |member: &Member| (member.cores / u32::try_from(on_machine_of(member)).unwrap_or(u32::MAX)).max(1);
    let memory = |member: &Member| member.memory_bytes as f64 / on_machine_of(member) as f64;
    let per_node = members.iter().map(share).min().ok_or("HPL needs nodes")?;
    let nodes = u32::try_from(members.len()).map_err(|_| "too many nodes for HPL".to_owned())?;
    let processes = per_node.checked_mul(nodes).filter(|processes| i32::try_from(*processes).is_ok());
    let processes = processes.ok_or_else(|| format!("{nodes} nodes of {per_node} processes are too many for HPL"))?;
    let bytes = members.iter().map(memory).fold(f64::INFINITY, f64::min) * f64::from(nodes) * MEMORY_SHARE;
    // The slowest node decides as well.
    let rate = |member: &Member| Some(member.rate? / on_machine_of(member) as f64);
    let rates = members.iter().map(rate).collect::<Option<Vec<f64>>>();
    let rate = rates.map(|rates| rates.into_iter().fold(f64::INFINITY, f64::min) * f64::from(nodes));
    let seconds = |n: u64| expected_seconds(&params(n, processes), rate);
    let fits =
        |n: u64| n as f64 * n as f64 * ELEMENT_BYTES <= bytes && most_seconds.is_none_or(|most| seconds(n) <= most);
    let n = largest(fits).ok_or_else(|| {
        let least = u64::from(USUAL_PANEL);
        format!(
            "no problem size fits: the smallest, N = {least}, takes {:.0} s and {} of the {} available",
            seconds(least),
            UnitScale::MEGABYTES.fixed((least * least) as f64 * ELEMENT_BYTES, 0),
            UnitScale::MEGABYTES.fixed(bytes, 0)
        )
    })?;
    Ok(Size { params: params(n, processes), per_node, grid: grid(processes), seconds: seconds(n) })
}

/// The largest order in whole panels for which `fits` holds; it must hold for all smaller ones.
fn largest(fits: impl Fn(u64) -> bool) -> Option<u64> {
    let panel = u64::from(USUAL_PANEL);
    // HPL counts in `int`.
    let (mut good, mut bad) = (0, i32::MAX as u64 / panel + 1);
    while bad - good > 1 {
        let middle = u64::midpoint(good, bad);
        *(if fits(middle * panel) { &mut good } else { &mut bad }) = middle;
    }
    (good > 0).then_some(good * panel)
}

/// HPL's parameters for this order and number of single-threaded processes.
const fn params(n: u64, processes: u32) -> LinpackParams {
    LinpackParams {
        op: LinpackOp::Lu,
        engine: LinpackEngine::Own,
        n,
        nb: Some(USUAL_PANEL),
        lda: n,
        align: 64,
        threads: processes,
        element: Element::Fp64,
        isa: None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn member(node: &str, machine: &str, cores: u32, gigabytes: u64) -> Member {
        let (node, machine) = (node.to_owned(), machine.to_owned());
        Member { node, machine, cores, memory_bytes: gigabytes * 1_000_000_000, rate: None }
    }

    #[test]
    fn the_weakest_node_decides_over_all() {
        let two = [member("n1", "a", 8, 100), member("n2", "b", 6, 50)];
        let found = size(&two, None).unwrap();
        assert_eq!((found.per_node, found.params.threads, found.grid), (6, 12, (3, 4)));
        let bytes = found.params.n * found.params.n * 8;
        // 80 % of twice 50 GB, down to whole panels.
        assert!((79_000_000_000..=80_000_000_000).contains(&bytes), "{bytes}");
        assert_eq!((found.params.n % 192, found.params.nb), (0, Some(192)));
    }

    #[test]
    fn nodes_on_one_machine_share_its_cores_and_memory() {
        let apart = size(&[member("n1", "a", 4, 8), member("n2", "b", 4, 8)], None).unwrap();
        let same = size(&[member("n1", "a", 4, 8), member("n2", "a", 4, 8)], None).unwrap();
        assert_eq!((apart.params.threads, same.params.threads), (8, 4));
        let ratio = (apart.params.n as f64 / same.params.n as f64).powi(2);
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
        let rated = |machine: &str, cores: u32| {
            let two = [member("n1", "a", cores, 1000), member("n2", machine, cores, 1000)];
            size(&two.map(|member| Member { rate: Some(1e11), ..member }), Some(60.0)).unwrap().params.n as f64
        };
        // As many processes at half the rate: that many times fewer operations, which grow with the cube of the order.
        let ratio = (rated("b", 4) / rated("a", 8)).powi(3);
        assert!((1.8..2.2).contains(&ratio), "{ratio}");
        let crowded = size(&[member("n1", "a", 1, 8), member("n2", "a", 1, 8)], None).unwrap();
        assert_eq!((crowded.per_node, crowded.grid), (1, (1, 2)), "each has one at least");
    }

    #[test]
    fn the_time_bounds_the_order() {
        let mut two = [member("n1", "a", 8, 1000), member("n2", "b", 8, 1000)];
        let slow = size(&two, Some(60.0)).unwrap();
        assert!(slow.seconds <= 60.0 && slow.seconds > 50.0, "{slow:?}");
        for member in &mut two {
            member.rate = Some(1e12);
        }
        let known = size(&two, Some(60.0)).unwrap();
        assert!(known.seconds <= 60.0 && known.params.n > slow.params.n, "{known:?}");
        two[1].rate = Some(1e11);
        assert!(size(&two, Some(60.0)).unwrap().params.n < known.params.n, "the slowest decides");
        let longer = size(&two, Some(120.0)).unwrap();
        assert!(longer.params.n > size(&two, Some(60.0)).unwrap().params.n);
    }

    #[test]
    fn what_cannot_be_solved_is_refused() {
        assert!(size(&[], None).unwrap_err().contains("needs nodes"));
        let error = size(&[member("n1", "a", 1, 0), member("n2", "b", 1, 8)], None).unwrap_err();
        assert!(error.contains("no problem size fits") && error.contains("N = 192"), "{error}");
        assert!(size(&[member("n1", "a", 1, 1)], Some(0.1)).unwrap_err().contains("no problem size fits"));
        let error = size(&[member("n1", "a", u32::MAX, 1), member("n2", "b", u32::MAX, 1)], None).unwrap_err();
        assert!(error.contains("too many"), "{error}");
    }
}
