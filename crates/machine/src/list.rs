//! Small formats of the kernel's files: lists of CPU numbers (`0-3,8,10-11`), numbered names, choices.

/// No kernel supports more CPUs; a recorded file may hold anything.
pub(crate) const HIGHEST_CPU: u32 = 65_535;

/// The numbers in a list, ascending and distinct. Invalid items are ignored.
pub fn parse_list(text: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = text.trim().split(',').filter_map(parse_range).flatten().collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The numbers in a mask of 32-bit groups, the highest first: `00000001,0000ffff`. `None` if it is none.
pub(crate) fn parse_mask(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for (place, group) in text.trim().rsplit(',').enumerate() {
        let group = u32::from_str_radix(group.trim(), 16).ok()?;
        let first = u32::try_from(place).ok()?.checked_mul(u32::BITS).filter(|first| *first < HIGHEST_CPU)?;
        numbers.extend((0..u32::BITS).filter(|bit| group >> bit & 1 == 1).map(|bit| first + bit));
    }
    Some(numbers)
}

/// The digits of a name such as `nvme0` or `ata3`; `None` if it is not `word` and a number.
pub(crate) fn number_after<'n>(name: &'n str, word: &str) -> Option<&'n str> {
    name.strip_prefix(word).filter(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The word in brackets: `always [madvise] never`.
pub(crate) fn bracketed(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

fn parse_range(item: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = item.split_once('-').unwrap_or((item, item));
    let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last && last <= HIGHEST_CPU).then_some(first..=last)
}

#[cfg(test)]
mod tests {
    use super::{parse_list, parse_mask};

    #[test]
    fn ranges_and_numbers_mix() {
        assert_eq!(parse_list("0-2,5, 7-7\n"), [0, 1, 2, 5, 7]);
        assert_eq!(parse_list("x,3-1,-,4-,99999999999,0-4294967295,2"), [2]);
        assert!(parse_list("").is_empty());
    }

    #[test]
    fn masks_have_groups_of_32_bits() {
        assert_eq!(parse_mask("0000000f\n").unwrap(), [0, 1, 2, 3]);
        assert_eq!(parse_mask("3,00000000,80000000").unwrap(), [31, 64, 65]);
        assert_eq!(parse_mask("0").unwrap(), [0; 0]);
        assert_eq!((parse_mask(""), parse_mask("0-3"), parse_mask("x")), (None, None, None));
    }
}
