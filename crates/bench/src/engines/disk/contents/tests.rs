use std::collections::HashSet;

use super::*;

const ANY: fn(Origin) -> bool = |_| true;

fn laid_out(contents: &Contents, offset: u64, pages: usize) -> Vec<u8> {
    let mut bytes = vec![0; pages * PAGE_BYTES];
    contents.fill(&mut bytes, 0);
    contents.stamp(&mut bytes, 0, offset, SectorKind::Page, Origin::default());
    bytes
}

#[test]
fn what_was_written_checks_in_pages_and_in_sectors() {
    let contents = Contents::new(7);
    let bytes = laid_out(&contents, 1 << 30, 16);
    contents.check(&bytes, 1 << 30, ANY).unwrap();
    contents.check_place(&bytes, 1 << 30).unwrap();
    // From the middle of a page on, as small blocks are read.
    contents.check(&bytes[512..1024], (1 << 30) + 512, ANY).unwrap();
    let origin = Origin { run: 3, lane: 1023, count: 1 << 39 };
    let mut small = vec![0; 1536];
    contents.fill(&mut small, 99);
    contents.stamp(&mut small, 99, 1536, SectorKind::Sector, origin);
    contents.check(&small, 1536, |found| found == origin).unwrap();
    assert!(contents.check(&small, 1536, |found| found != origin).is_err(), "a stale block was taken");
}

#[test]
fn a_page_of_which_single_sectors_were_rewritten_checks() {
    let contents = Contents::new(7);
    for rewritten in 0..8 {
        let mut page = laid_out(&contents, 8192, 1);
        let mut pool = vec![0; 512];
        contents.fill(&mut pool, 5000);
        contents.stamp(&mut pool, 5000, 8192 + 512 * rewritten as u64, SectorKind::Sector, Origin::default());
        page[512 * rewritten..][..512].copy_from_slice(&pool);
        contents.check(&page, 8192, ANY).unwrap();
    }
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let contents = Contents::new(11);
    let mut bytes = laid_out(&contents, 4096, 1);
    for bit in 0..PAGE_BYTES * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(contents.check(&bytes, 4096, ANY).is_err(), "bit {bit} was not missed");
        if bit < STAMP_WORDS * 64 {
            assert!(contents.check_place(&bytes, 4096).is_err(), "bit {bit} of the stamp was not missed");
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    contents.check(&bytes, 4096, ANY).unwrap();
}

fn of_words(seed: u64) -> Contents {
    Contents { grain: Grain::Words, ..Contents::new(seed) }
}

#[test]
fn words_check_one_by_one_and_say_which_launch_wrote_them() {
    assert_eq!(LAUNCH_FACTOR.wrapping_mul(LAUNCH_INVERSE), 1);
    let contents = of_words(7);
    let mut bytes = laid_out(&contents, 1 << 20, 1);
    contents.check(&bytes, 1 << 20, |origin| origin.run == 0).unwrap();
    let last = Origin { run: (1 << 24) - 1, lane: 9, count: 7 };
    for (run, at) in [(3, 80), (last.run, 88)] {
        let word = &mut bytes[at..at + 8];
        contents.stamp(word, 0, (1 << 20) + at as u64, SectorKind::Sector, Origin { run, ..last });
        contents.check(word, (1 << 20) + at as u64, |origin| origin.run == run).unwrap();
    }
    contents.check(&bytes, 1 << 20, ANY).unwrap();
    let error = contents.check(&bytes[80..88], (1 << 20) + 80, |origin| origin.run == 4).unwrap_err();
    assert_eq!(
        error.to_string(),
        "at byte 1048656 of the test file the last write is missing: there is a word of process run 3"
    );
    assert!(bits_per_byte(laid_out(&contents, 0, 256).into_iter()) > 7.97, "nothing to compress");
}

#[test]
fn a_wrong_word_is_found_whatever_is_wrong_with_it() {
    let contents = of_words(11);
    let bytes = laid_out(&contents, 0, 1);
    let word: [u8; 8] = bytes[64..72].try_into().unwrap();
    for bit in 0..64 {
        let flipped = (u64::from_le_bytes(word) ^ 1 << bit).to_le_bytes();
        assert!(contents.check(&flipped, 64, ANY).is_err() && contents.check_place(&flipped, 64).is_err(), "bit {bit}");
    }
    assert!(contents.check(&word, 72, ANY).unwrap_err().to_string().contains("has not written"), "another place");
    assert!(contents.check(&[0; 8], 64, ANY).unwrap_err().to_string().contains("there are zeros"));
    assert!(of_words(12).check(&word, 64, ANY).is_err(), "another run's");
}

fn in_blocks(contents: &Contents, block: usize, bytes: usize, run: u32) -> Vec<u8> {
    let mut written = vec![0; bytes / block * block];
    for (index, part) in written.chunks_mut(block).enumerate() {
        let origin = Origin { run, ..Origin::default() };
        contents.stamp(part, 0, (index * block) as u64, SectorKind::Sector, origin);
    }
    written
}

#[test]
fn bytes_are_the_same_in_blocks_of_any_size_and_say_which_launch_wrote_them() {
    let contents = Contents { grain: Grain::Bytes, ..Contents::new(7) };
    let whole = in_blocks(&contents, 5000, 5000, 3);
    for block in [1, 2, 3, 7, 9, 13, 100, 1001, 4099] {
        let parts = in_blocks(&contents, block, 5000, 3);
        assert_eq!(parts, whole[..parts.len()], "blocks of {block}");
        for (index, part) in parts.chunks(block).enumerate() {
            let offset = (index * block) as u64;
            contents.check(part, offset, |found| contents.is_of_run(found, 3)).unwrap();
            contents.check_place(part, offset).unwrap();
            let stale = contents.check(part, offset, |found| contents.is_of_run(found, 4));
            assert!(stale.unwrap_err().to_string().contains("a byte of another process run"));
        }
    }
    assert!(bits_per_byte(in_blocks(&contents, 7, 1 << 20, 9).into_iter()) > 7.97, "nothing to compress");
}

#[test]
fn a_wrong_byte_is_found_by_half_of_its_bits_and_a_wrong_block_by_many_bytes() {
    let contents = Contents { grain: Grain::Bytes, ..Contents::new(11) };
    let mut bytes = in_blocks(&contents, 13, 13 * 40, 5);
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let own = contents.check(&bytes, 0, |found| contents.is_of_run(found, 5));
        assert!(own.is_err(), "bit {bit}: no byte of this process run");
        let of_any_launch = contents.check(&bytes, 0, ANY);
        assert_eq!(of_any_launch.is_err(), bit % 8 >= 4, "bit {bit}: another process run's where the mark is");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    let moved = |offset| contents.check(&bytes[13..26], offset, ANY);
    assert!(moved(13).is_ok() && moved(0).is_err() && moved(26).is_err(), "another place");
    assert!(contents.check(&[0; 13], 0, ANY).unwrap_err().to_string().contains("there are zeros"));
    let other = Contents { grain: Grain::Bytes, ..Contents::new(12) };
    assert!(other.check(&bytes, 0, ANY).unwrap_err().to_string().contains("has not written"), "another run's");
}

#[test]
fn another_place_zeros_and_another_runs_data_are_found_and_named() {
    let contents = Contents::new(1);
    let bytes = laid_out(&contents, 0, 2);
    let error = contents.check_place(&bytes, 4096).unwrap_err().to_string();
    assert_eq!(error, "at byte 4096 of the test file there is what belongs at byte 0");
    let error = contents.check_place(&[0; 4096], 8192).unwrap_err().to_string();
    assert_eq!(error, "at byte 8192 of the test file there are zeros instead of what was written");
    let other = Contents::new(2);
    assert!(other.check_place(&bytes, 0).unwrap_err().to_string().contains("has not written"));
    // Sectors in the wrong order inside a page, of which all but the first have no offset of their own.
    let mut swapped = bytes.clone();
    swapped[512..1536].rotate_left(512);
    assert!(contents.check(&swapped, 0, ANY).unwrap_err().to_string().contains("a page made of two"));
    let mut headless = bytes;
    headless.copy_within(512..1024, 0);
    assert!(contents.check_place(&headless, 0).is_err());
}

#[test]
fn no_two_pages_of_a_file_are_equal_although_the_pool_comes_round() {
    let contents = Contents::new(3);
    let mut pool = vec![0; 4 * PAGE_BYTES];
    contents.fill(&mut pool, 0);
    let mut seen = HashSet::new();
    for (write, offset) in (0..4_u64).flat_map(|write| (0..64).map(move |page| (write, page * 4096))) {
        let start = usize::try_from(offset).unwrap() % pool.len();
        let page = &mut pool[start..start + PAGE_BYTES];
        let number = u32::try_from(start / SECTOR_BYTES).unwrap();
        contents.stamp(page, number, offset, SectorKind::Page, Origin { run: 1, lane: 0, count: write });
        assert!(seen.insert(page.to_vec()), "write {write} of the page at {offset} was there before");
    }
}

#[test]
fn files_of_several_threads_and_of_consecutive_seeds_have_no_sector_in_common() {
    // As the runner gives seeds to files (`run/files.rs`), of two consecutive runs.
    let seeds = [7, 8].into_iter().flat_map(|seed| (0..4_u64).map(move |thread| seed + (thread << 32)));
    let mut seen = HashSet::new();
    for seed in seeds {
        let mut pool = vec![0; 256 * SECTOR_BYTES];
        Contents::new(seed).fill(&mut pool, 0);
        for (number, sector) in pool.chunks(SECTOR_BYTES).enumerate() {
            assert!(seen.insert(sector[WORD_BYTES..].to_vec()), "sector {number} of seed {seed:#x} was there before");
        }
    }
}

/// Bits per byte by the frequencies of bytes: what an entropy coder could reach.
fn bits_per_byte(bytes: impl Iterator<Item = u8>) -> f64 {
    let mut counts = [0_u32; 256];
    bytes.for_each(|byte| counts[usize::from(byte)] += 1);
    let total: f64 = counts.iter().map(|&count| f64::from(count)).sum();
    let part = |count: &u32| f64::from(*count) / total;
    -counts.iter().filter(|count| **count > 0).map(|count| part(count) * part(count).log2()).sum::<f64>()
}

#[test]
fn there_is_nothing_to_compress() {
    let bytes = laid_out(&Contents::new(5), 0, 256);
    assert!(bits_per_byte(bytes.iter().copied()) > 7.97);
    for distance in [1, 8, 512, 4096] {
        let differences = bytes.iter().zip(&bytes[distance..]).map(|(a, b)| a ^ b);
        assert!(bits_per_byte(differences) > 7.85, "bytes {distance} apart are alike");
    }
    // Repetitions, as dictionary coders look for them: eight bytes that occurred before.
    let mut seen = HashSet::new();
    let repeated = bytes.windows(8).filter(|window| !seen.insert(*window)).count();
    assert!(repeated * 200 < bytes.len(), "{repeated} repetitions in {} bytes", bytes.len());
}
