//! Latency under load: one thread chases pointers through half of the working set, while the others load the memory with the
//! other half. A load is a stream that pauses after each page; only the pauses differ between benchmarks.

use areas::memory::blocks::parts;
use model::experiment::{Background, MemoryParams};
use model::unit::format_size;

use super::super::{Measure, Trial, Trouble};
use super::chase::ChaseTrial;
use super::stream::{PIECE_BYTES, StreamTrial};

pub(super) fn open(params: &MemoryParams, seed: u64, thread: usize) -> Result<Box<dyn Trial>, Trouble> {
    let Some(background) = params.background else {
        return Err(Trouble::Failed("a chase under load has no load".to_owned()));
    };
    if params.threads < 2 {
        return Err(Trouble::Unavailable("latency under load needs a second thread that makes the load".to_owned()));
    }
    if thread == 0 {
        return Ok(Box::new(ChaseTrial::open(params, chased_bytes(params), Measure::Loaded, seed)?));
    }
    Ok(Box::new(load(params, background, seed, thread)?))
}

fn chased_bytes(params: &MemoryParams) -> usize {
    usize::try_from(params.working_set / 2).unwrap_or(usize::MAX / 4)
}

fn pieces(params: &MemoryParams, background: Background) -> usize {
    let loads = u64::from(params.threads.saturating_sub(1).max(1));
    let bytes = params.working_set / 2 / loads / parts(background.op);
    usize::try_from(bytes).unwrap_or(usize::MAX / 4) / PIECE_BYTES
}

fn load(params: &MemoryParams, background: Background, seed: u64, thread: usize) -> Result<StreamTrial, Trouble> {
    let pieces = pieces(params, background);
    let load = StreamTrial::load(background, params.pages, pieces, seed, thread)?;
    load.ok_or_else(|| {
        let least = format_size(2 * PIECE_BYTES as u64 * parts(background.op) * u64::from(params.threads));
        Trouble::Unavailable(format!("the working set is below {least}, one page per load and array"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Profile;
    use crate::engines::memory::tests::params;
    use model::isa::{MemoryOp, MemoryPattern};
    use model::unit::Unit;
    use sys::clock::Timer;

    fn loaded(op: MemoryOp, pause_ns: u32, threads: u32) -> MemoryParams {
        let chase = params(MemoryPattern::Chase, MemoryOp::Load, 4 << 20);
        MemoryParams { background: Some(Background { op, pause_ns }), chains: Some(1), threads, ..chase }
    }

    fn opened(params: &MemoryParams) -> StreamTrial {
        load(params, params.background.unwrap(), 3, 1).unwrap()
    }

    #[test]
    fn every_load_verifies_over_part_of_a_pass_and_several() {
        for op in [MemoryOp::Read, MemoryOp::Write, MemoryOp::WriteNt, MemoryOp::CopyNt] {
            let mut load = opened(&loaded(op, 0, 2));
            for pieces in [1, 5, 511, 512, 1300, 1] {
                load.run(pieces);
                load.verify().unwrap_or_else(|wrong| panic!("{op}, {pieces} pieces: {wrong}"));
            }
        }
    }

    #[test]
    fn half_of_the_working_set_is_the_chases() {
        let params = loaded(MemoryOp::CopyNt, 0, 5);
        assert_eq!(chased_bytes(&params), 2 << 20);
        assert_eq!(pieces(&params, params.background.unwrap()), (2 << 20) / 4 / 2 / PIECE_BYTES);
        let profile = opened(&params).profile();
        assert_eq!(profile, Profile::unpaced(Measure::Rate(Unit::BytePerSecond), 2.0 * PIECE_BYTES as f64));
    }

    #[test]
    fn pauses_are_waited_for() {
        let mut load = opened(&loaded(MemoryOp::Read, 200_000, 2));
        let timer = Timer::system();
        let start = timer.now();
        load.run(5);
        assert!(timer.seconds(start, timer.now()) >= 5.0 * 199e-6);
    }

    #[test]
    fn the_first_thread_chases_and_the_others_load() {
        let measure = |thread| open(&loaded(MemoryOp::Read, 100, 2), 3, thread).unwrap().profile().measure;
        assert_eq!((measure(0), measure(1)), (Measure::Loaded, Measure::Rate(Unit::BytePerSecond)));
        let refused = |params: &MemoryParams| open(params, 3, 1).err().map(|trouble| trouble.to_string());
        assert!(refused(&loaded(MemoryOp::Read, 0, 1)).unwrap().contains("second thread"));
        assert!(refused(&loaded(MemoryOp::Update, 0, 2)).unwrap().contains("update cannot be the load"));
        let small = MemoryParams { working_set: 4096, ..loaded(MemoryOp::Read, 0, 2) };
        assert!(refused(&small).unwrap().contains("below 16KiB"));
    }
}
