//! Authentication: the proofs that are sent in place of a password
//! (<https://mariadb.com/kb/en/connection/#authentication-plugins>).

use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::failure::Failure;

/// The methods that are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`, MySQL's default since 8.0.
    CachingSha2,
    /// `mysql_clear_password`.
    Clear,
    /// `auth_socket` and `unix_socket`: the server asks the operating system
    /// who we are.
    Socket,
}

impl Method {
    /// By the name that the server says.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"mysql_native_password" => Some(Self::Native),
            b"caching_sha2_password" => Some(Self::CachingSha2),
            b"mysql_clear_password" => Some(Self::Clear),
            b"auth_socket" | b"unix_socket" => Some(Self::Socket),
            _ => None,
        }
    }

    /// The name to answer with.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Clear => "mysql_clear_password",
            Self::Socket => "auth_socket",
        }
    }

    /// The first answer, given the server's random bytes. The password itself
    /// is only sent over a Unix socket.
    pub(crate) fn answer(
        self,
        password: &str,
        nonce: &[u8],
        is_local: bool,
    ) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Socket => Ok(Vec::new()),
            Self::Native | Self::CachingSha2 if password.is_empty() => Ok(Vec::new()),
            Self::Native => Ok(native(password, nonce).to_vec()),
            Self::CachingSha2 => Ok(caching_sha2(password, nonce).to_vec()),
            Self::Clear => clear(password, is_local),
        }
    }
}

/// The password itself.
pub(crate) fn clear(password: &str, is_local: bool) -> Result<Vec<u8>, Failure> {
    if !is_local {
        return Err(Failure::Refused(
            "the server wants the password itself, which is only sent over a Unix socket: \
             connect through its socket, or let the account use mysql_native_password, or log in \
             once with another client, after which caching_sha2_password knows the account"
                .into(),
        ));
    }
    let mut bytes = password.as_bytes().to_vec();
    bytes.push(0);
    Ok(bytes)
}

/// `SHA1(password) ^ SHA1(nonce + SHA1(SHA1(password)))`
fn native(password: &str, nonce: &[u8]) -> [u8; 20] {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new()
        .chain_update(nonce)
        .chain_update(twice)
        .finalize();
    std::array::from_fn(|at| once[at] ^ mask[at])
}

/// `SHA256(password) ^ SHA256(SHA256(SHA256(password)) + nonce)`
fn caching_sha2(password: &str, nonce: &[u8]) -> [u8; 32] {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new()
        .chain_update(twice)
        .chain_update(nonce)
        .finalize();
    std::array::from_fn(|at| once[at] ^ mask[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// As the server checks: it stores `SHA1(SHA1(password))`, takes the mask
    /// off, and hashes once more.
    #[test]
    fn the_server_can_check_a_native_answer() {
        let nonce = b"01234567890123456789";
        let answer = Method::Native.answer("sécret", nonce, false).unwrap();
        let stored = Sha1::digest(Sha1::digest("sécret"));
        let mask = Sha1::new()
            .chain_update(nonce)
            .chain_update(stored)
            .finalize();
        let once: Vec<u8> = answer.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(hex(&Sha1::digest(once)), hex(&stored));
    }

    #[test]
    fn the_server_can_check_a_cached_answer() {
        let nonce = b"01234567890123456789";
        let answer = Method::CachingSha2.answer("secret", nonce, false).unwrap();
        let stored = Sha256::digest(Sha256::digest("secret"));
        let mask = Sha256::new()
            .chain_update(stored)
            .chain_update(nonce)
            .finalize();
        let once: Vec<u8> = answer.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(hex(&Sha256::digest(once)), hex(&stored));
    }

    #[test]
    fn a_password_itself_stays_on_the_machine() {
        assert_eq!(Method::Clear.answer("x", b"", true).unwrap(), b"x\0");
        let error = Method::Clear.answer("x", b"", false).unwrap_err();
        assert!(error.to_string().contains("Unix socket"), "{error}");
        assert_eq!(Method::Native.answer("", b"", false).unwrap(), b"");
        assert_eq!(Method::named(b"ed25519"), None);
    }
}
