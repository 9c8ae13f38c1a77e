//! The shared key of a session, and the proof of knowing it.
//! A proof is an HMAC-SHA256 over prover, version and a nonce of each side, against replay and reflection; no encryption.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::preface::Token;

/// Minimum length: 128 bits.
const LEAST_KEY_BYTES: usize = 16;
/// Maximum length: anything longer is the wrong file.
const MOST_KEY_BYTES: usize = 4096;
const ABOUT: &[u8] = b"assay net visit";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prover {
    Client,
    Server,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Challenge {
    pub(crate) version: u32,
    pub(crate) client: Token,
    pub(crate) server: Token,
}

/// A key, which is never shown.
#[derive(Clone)]
pub struct Key(Vec<u8>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Key {
    /// Reads a key from a file that only this user can use, or from `input` if the path is `-`, without surrounding white space.
    pub fn read(path: &Path, input: &mut dyn Read) -> Result<Self, String> {
        let from_input = path == Path::new("-");
        let name = if from_input { "standard input".to_owned() } else { format!("'{}'", path.display()) };
        let cannot = |error: std::io::Error| format!("cannot read the key from {name}: {error}");
        let mut bytes = Vec::new();
        let most = MOST_KEY_BYTES as u64 + 1;
        let read = if from_input {
            input.take(most).read_to_end(&mut bytes)
        } else {
            let file = File::open(path).map_err(cannot)?;
            let found = file.metadata().map_err(cannot)?;
            check_private(path, found.mode(), found.uid(), rustix::process::geteuid().as_raw())?;
            file.take(most).read_to_end(&mut bytes)
        };
        read.map_err(cannot)?;
        Self::new(&bytes).map_err(|why| format!("the key from {name} {why}"))
    }

    pub(crate) fn new(bytes: &[u8]) -> Result<Self, String> {
        let key = bytes.trim_ascii();
        match key.len() {
            length if length < LEAST_KEY_BYTES => Err(format!(
                "has {length} bytes, and at least {LEAST_KEY_BYTES} are required; create one with head -c 24 /dev/urandom | base64"
            )),
            _ if bytes.len() > MOST_KEY_BYTES => Err(format!("is longer than {MOST_KEY_BYTES} bytes")),
            _ => Ok(Self(key.to_vec())),
        }
    }

    fn authenticator(&self, prover: Prover, challenge: &Challenge) -> Option<Hmac<Sha256>> {
        // HMAC accepts keys of any length.
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.0).ok()?;
        mac.update(ABOUT);
        mac.update(&[prover as u8]);
        mac.update(&challenge.version.to_be_bytes());
        mac.update(challenge.client.as_str().as_bytes());
        mac.update(challenge.server.as_str().as_bytes());
        Some(mac)
    }

    /// This side's proof in hexadecimal digits.
    pub(crate) fn proof(&self, prover: Prover, challenge: &Challenge) -> String {
        let code = self.authenticator(prover, challenge).map(|mac| mac.finalize().into_bytes());
        let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
        code.iter().flatten().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    /// Whether this proves that side, in constant time.
    pub(crate) fn is_proven(&self, prover: Prover, challenge: &Challenge, proof: &str) -> bool {
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = proof.as_bytes().chunks(2).map(byte).collect();
        match (self.authenticator(prover, challenge), bytes) {
            (Some(mac), Some(bytes)) => mac.verify_slice(&bytes).is_ok(),
            _ => false,
        }
    }
}

/// Whether only `user` (and root) can read and change a file with this mode and owner.
fn check_private(path: &Path, mode: u32, owner: u32, user: u32) -> Result<(), String> {
    let path = path.display();
    if owner != user && owner != 0 {
        return Err(format!(
            "the key file '{path}' belongs to another user ({owner}), who can change it; copy it to a file of your own \
             and run chmod 600 FILE"
        ));
    }
    if mode & 0o077 != 0 {
        let mode = mode & 0o7777;
        return Err(format!("other users can use the key file '{path}' (mode {mode:04o}); run chmod 600 {path}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::tests::scratch;

    const KEY: &[u8] = b"0123456789abcdef";

    fn token(digit: char) -> Token {
        Token::parse(&digit.to_string().repeat(32)).unwrap()
    }

    fn challenge() -> Challenge {
        Challenge { version: 1, client: token('a'), server: token('b') }
    }

    #[test]
    fn only_a_proof_of_this_key_side_and_challenge_is_one() {
        let key = Key::new(KEY).unwrap();
        let proof = key.proof(Prover::Client, &challenge());
        assert_eq!(proof.len(), 64);
        assert!(key.is_proven(Prover::Client, &challenge(), &proof));
        assert!(!key.is_proven(Prover::Server, &challenge(), &proof), "sent back by the other side");
        let others = [
            Challenge { version: 2, ..challenge() },
            Challenge { client: token('c'), ..challenge() },
            Challenge { server: token('c'), ..challenge() },
            Challenge { client: token('b'), server: token('a'), ..challenge() },
        ];
        for other in others {
            assert!(!key.is_proven(Prover::Client, &other, &proof), "overheard: {other:?}");
        }
        let other = Key::new(b"0123456789abcdeg").unwrap();
        assert!(!other.is_proven(Prover::Client, &challenge(), &proof));
        for wrong in ["", &proof[..62], &proof[1..], "zz", "é", &format!("{proof}00"), &"0".repeat(64)] {
            assert!(!key.is_proven(Prover::Client, &challenge(), wrong), "{wrong}");
        }
    }

    // The same by Python: hmac.new(b'0123456789abcdef', b'assay net session' + bytes([0]) + (1).to_bytes(4, 'big') +
    // b'a' * 32 + b'b' * 32, 'sha256').hexdigest()
    #[test]
    fn a_proof_is_the_one_that_others_compute() {
        let proof = Key::new(KEY).unwrap().proof(Prover::Client, &challenge());
        assert_eq!(proof, "828e6a0d243dc831f35fd619b6edccfe8f8d76bf469a3f3c7bbf84f4c704f325");
    }

    #[test]
    fn a_key_has_its_length_and_no_white_space_around_it() {
        assert_eq!(Key::new(b"  0123456789abcdef\n").unwrap().0, KEY);
        assert!(Key::new(b"0123456789abcde\n\n\n\n").unwrap_err().contains("15 bytes"));
        assert!(Key::new(&[b'x'; MOST_KEY_BYTES + 1]).unwrap_err().contains("longer"));
        assert!(Key::read(Path::new("/no/such/key"), &mut std::io::empty()).unwrap_err().contains("'/no/such/key'"));
        assert_eq!(format!("{:?}", Key::new(KEY).unwrap()), "Key(…)");
    }

    #[test]
    fn a_key_file_that_other_users_can_use_is_refused() {
        let scratch = scratch();
        let path = scratch.path().join("net.key");
        std::fs::write(&path, KEY).unwrap();
        let read = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            Key::read(&path, &mut std::io::empty()).map(drop)
        };
        assert_eq!((read(0o600), read(0o400)), (Ok(()), Ok(())));
        for mode in [0o640, 0o604, 0o620, 0o602, 0o601, 0o644] {
            let error = read(mode).unwrap_err();
            assert!(error.ends_with(&format!("run chmod 600 {}", path.display())), "{error}");
        }
        let of = |owner, user| check_private(&path, 0o600, owner, user);
        assert_eq!((of(1000, 1000), of(0, 1000)), (Ok(()), Ok(())), "its own and root's");
        assert!(of(1001, 1000).unwrap_err().contains("chmod 600"));
    }
}
