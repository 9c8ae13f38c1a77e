//! The 48 bytes that begin every connection and UDP flow: purpose and token. Strangers are known before anything is allocated.

use std::fmt;

use rustix::rand::{GetRandomFlags, getrandom};

const MAGIC: [u8; 8] = *b"assaynet";
const FORM: u8 = 1;
/// Hexadecimal digits of a token.
pub(crate) const TOKEN_BYTES: usize = 32;
/// Magic, format, purpose, two zero bytes, number, token.
pub(crate) const PREFACE_BYTES: usize = MAGIC.len() + 1 + 1 + 2 + 4 + TOKEN_BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Session,
    /// Control connection of a process run, with the session's token.
    ProcessRun,
    Data,
    /// The connection is the operation: set up, one round trip, closed.
    Operation,
}

impl Purpose {
    const ALL: [(Self, u8); 4] = [(Self::Session, 1), (Self::ProcessRun, 2), (Self::Data, 3), (Self::Operation, 4)];
}

/// Admits a connection: random hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Token([u8; TOKEN_BYTES]);

impl Token {
    /// From the kernel's random source.
    pub(crate) fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let mut bytes = [0; TOKEN_BYTES / 2];
        // So few bytes are returned at once or not at all.
        let filled = getrandom(&mut bytes, GetRandomFlags::empty()).is_ok_and(|count| count == bytes.len());
        let digits = if filled {
            format!("{:032x}", u128::from_ne_bytes(bytes))
        } else {
            // Old kernel: the standard library's hash keys come from the same source.
            let part = |part: u8| RandomState::new().hash_one(part);
            format!("{:016x}{:016x}", part(0), part(1))
        };
        let mut token = [0; TOKEN_BYTES];
        token.copy_from_slice(digits.as_bytes());
        Self(token)
    }

    pub(crate) const NONE: Self = Self([b'0'; TOKEN_BYTES]);

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits: [u8; TOKEN_BYTES] = text.as_bytes().try_into().ok()?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(Self(digits))
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Its first 64 bits, as a common seed of both ends.
    pub(crate) fn seed(&self) -> u64 {
        self.as_str().get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
    }
}

/// Logs must not show a token, which admits its holder.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preface {
    pub(crate) purpose: Purpose,
    pub(crate) number: u32,
    /// Zeros before admission.
    pub(crate) token: Token,
}

impl Preface {
    pub(crate) fn bytes(&self) -> [u8; PREFACE_BYTES] {
        let purpose = Purpose::ALL.iter().find(|(purpose, _)| *purpose == self.purpose).map_or(0, |(_, byte)| *byte);
        let parts: [&[u8]; 4] = [&MAGIC, &[FORM, purpose, 0, 0], &self.number.to_le_bytes(), &self.token.0];
        let mut bytes = [0; PREFACE_BYTES];
        bytes.copy_from_slice(&parts.concat());
        bytes
    }

    pub(crate) fn read(bytes: &[u8; PREFACE_BYTES]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let ([form, purpose, 0, 0], rest) = rest.split_first_chunk::<4>()? else { return None };
        let (number, token) = rest.split_first_chunk::<4>()?;
        let (purpose, _) = *Purpose::ALL.iter().find(|(_, byte)| byte == purpose)?;
        let token = Token::parse(std::str::from_utf8(token).ok()?)?;
        (*form == FORM).then_some(Self { purpose, number: u32::from_le_bytes(*number), token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preface_reads_back_and_a_strangers_does_not() {
        let token = Token::new();
        for (purpose, _) in Purpose::ALL {
            let preface = Preface { purpose, number: 7, token };
            assert_eq!(Preface::read(&preface.bytes()), Some(preface));
        }
        let bytes = Preface { purpose: Purpose::Data, number: u32::MAX, token }.bytes();
        for at in [0, 7, 8, 9, 10, 11, 16, PREFACE_BYTES - 1] {
            let mut wrong = bytes;
            wrong[at] = 0xff;
            assert_eq!(Preface::read(&wrong), None, "byte {at}");
        }
    }

    #[test]
    fn tokens_differ_and_only_digits_are_one() {
        assert_ne!(Token::new(), Token::new());
        let token = Token::new();
        assert_eq!(Token::parse(token.as_str()), Some(token));
        for wrong in ["", "0123", &"g".repeat(TOKEN_BYTES), &"0".repeat(TOKEN_BYTES + 1)] {
            assert_eq!(Token::parse(wrong), None);
        }
        assert_eq!(Token::parse("00000000000000ff0000000000000000").unwrap().seed(), 255);
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
