//! What every connection, and every first datagram of a UDP flow, begins with: whose it is and what it is for, in 48
//! bytes of fixed places, so that a stranger is told apart before anything is made for it.

use std::fmt;

use rustix::rand::{GetRandomFlags, getrandom};

/// What a preface begins with.
const MAGIC: [u8; 8] = *b"assaynet";

/// The form of the preface.
const FORM: u8 = 1;

/// Bytes of a token: hexadecimal digits.
pub(crate) const TOKEN_BYTES: usize = 32;

/// Magic, form, purpose, two bytes of nothing, thread, token.
pub(crate) const PREFACE_BYTES: usize = MAGIC.len() + 1 + 1 + 2 + 4 + TOKEN_BYTES;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The client of a server asks to be let in, and stays as long as it measures.
    Session,
    /// The control connection of one launch. The token is the one that admits it.
    ProcessRun,
    /// Data of one thread of a launch. The token is the session's.
    Data,
    /// A connection that is itself the operation: set up, one message there and back, closed. The token is the session's.
    Operation,
}

impl Purpose {
    /// Each with its byte.
    const ALL: [(Self, u8); 4] = [(Self::Session, 1), (Self::ProcessRun, 2), (Self::Data, 3), (Self::Operation, 4)];
}

/// What lets a connection in, or tells whose it is: hexadecimal digits that nobody can guess.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Token([u8; TOKEN_BYTES]);

impl Token {
    /// A new one, from the kernel's source of randomness.
    pub(crate) fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let mut bytes = [0; TOKEN_BYTES / 2];
        // So few bytes come at once or not at all.
        let filled = getrandom(&mut bytes, GetRandomFlags::empty()).is_ok_and(|count| count == bytes.len());
        let digits = if filled {
            format!("{:032x}", u128::from_ne_bytes(bytes))
        } else {
            // A kernel without that call: the keys of the standard library's hash maps come from the same source.
            let part = |part: u8| RandomState::new().hash_one(part);
            format!("{:016x}{:016x}", part(0), part(1))
        };
        let mut token = [0; TOKEN_BYTES];
        token.copy_from_slice(digits.as_bytes());
        Self(token)
    }

    /// The one of connections that nobody has let in yet.
    pub(crate) const NONE: Self = Self([b'0'; TOKEN_BYTES]);

    /// From its digits; `None` if they are none, or not so many.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits: [u8; TOKEN_BYTES] = text.as_bytes().try_into().ok()?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(Self(digits))
    }

    /// Its digits.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Its first 64 bits, as a seed that both ends know.
    pub(crate) fn seed(&self) -> u64 {
        self.as_str().get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
    }
}

/// A token lets its holder in, so logs do not show it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The first bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preface {
    /// What it is for.
    pub(crate) purpose: Purpose,
    /// Which of its kind: the number of the data connection.
    pub(crate) number: u32,
    /// Whose it is; all zeros where nobody has been let in yet.
    pub(crate) token: Token,
}

impl Preface {
    /// As it is sent.
    pub(crate) fn bytes(&self) -> [u8; PREFACE_BYTES] {
        let purpose = Purpose::ALL.iter().find(|(purpose, _)| *purpose == self.purpose).map_or(0, |(_, byte)| *byte);
        let parts: [&[u8]; 4] = [&MAGIC, &[FORM, purpose, 0, 0], &self.number.to_le_bytes(), &self.token.0];
        let mut bytes = [0; PREFACE_BYTES];
        bytes.copy_from_slice(&parts.concat());
        bytes
    }

    /// From what came; `None` if it is none of ours.
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
