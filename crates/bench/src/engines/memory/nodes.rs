use model::experiment::MemoryParams;
use model::isa::MemoryPattern;

use super::super::Trouble;

/// The node of the buffers, where the benchmark names one: `0-1` is threads on node 0, memory on node 1.
fn memory_node(params: &MemoryParams) -> Option<Result<u32, Trouble>> {
    let nodes = params.nodes.as_ref().filter(|_| params.pattern != MemoryPattern::Pair)?;
    let node = nodes.split_once('-').and_then(|(_, node)| node.parse().ok());
    Some(node.ok_or_else(|| Trouble::Failed(format!("'{nodes}' does not name two memory nodes"))))
}

/// Makes the kernel take the calling thread's buffers from the node that the benchmark names, if any. The policy is the
/// thread's and not that of single mappings, so it holds for whatever the thread touches first.
pub(super) fn bind(params: &MemoryParams) -> Result<(), Trouble> {
    let Some(node) = memory_node(params).transpose()? else { return Ok(()) };
    sys::memory::bind_thread_to_node(node).map_err(|error| {
        Trouble::Unavailable(format!(
            "the kernel refuses memory of node {node}: {error}. Allow the system call set_mempolicy, and the node in \
             cpuset.mems of this control group"
        ))
    })
}

/// The nodes of equal shares of the buffers, given those of the threads.
pub(super) fn homes(params: &MemoryParams, of_threads: Vec<u32>) -> Vec<u32> {
    match (memory_node(params), of_threads.split_first()) {
        (Some(Ok(node)), _) => vec![node],
        // Half of the working set is the chase's, the other half is shared by the loads.
        (_, Some((first, loads))) if params.background.is_some() => {
            loads.iter().map(|_| *first).chain(loads.iter().copied()).collect()
        }
        _ => of_threads,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::memory::tests::params;
    use model::experiment::Background;
    use model::isa::MemoryOp;

    fn on(nodes: &str) -> MemoryParams {
        let chase = params(MemoryPattern::Chase, MemoryOp::Load, 1 << 20);
        MemoryParams { nodes: Some(nodes.to_owned()), ..chase }
    }

    #[test]
    fn the_second_of_two_nodes_is_that_of_the_memory() {
        assert_eq!(memory_node(&on("0-1")), Some(Ok(1)));
        assert!(matches!(memory_node(&on("0")), Some(Err(Trouble::Failed(_)))));
        let pair = MemoryParams { pattern: MemoryPattern::Pair, ..on("cpu0-cpu1") };
        assert_eq!((memory_node(&pair), bind(&pair)), (None, Ok(())));
    }

    #[test]
    fn a_node_that_is_not_there_is_a_reason() {
        let refused = std::thread::spawn(|| bind(&on("0-1023"))).join().unwrap();
        assert!(matches!(refused, Err(Trouble::Unavailable(reason)) if reason.contains("memory of node 1023")));
    }

    #[test]
    fn buffers_are_expected_where_the_row_says() {
        assert_eq!(homes(&on("0-1"), vec![0, 0]), [1]);
        let plain = params(MemoryPattern::Sequential, MemoryOp::Read, 1 << 20);
        assert_eq!(homes(&plain, vec![0, 1]), [0, 1]);
        let loaded = MemoryParams { background: Some(Background { op: MemoryOp::Read, pause_ns: 0 }), ..plain };
        assert_eq!(homes(&loaded, vec![0, 0, 1]), [0, 0, 0, 1], "half of all is the first thread's");
    }
}
