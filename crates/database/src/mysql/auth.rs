//! Authentication: the proofs that are sent in place of a password
//! (<https://mariadb.com/kb/en/connection/#authentication-plugins>).

use rsa::{PublicKey, pkcs8::DecodePublicKey};
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

    /// The first answer, given the server's nonce. The password itself is
    /// only sent over a Unix socket.
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

/// The password itself and the zero that ends it.
pub(crate) fn clear(password: &str, is_local: bool) -> Result<Vec<u8>, Failure> {
    if !is_local {
        return Err(Failure::Refused(
            "the account logs in by mysql_clear_password, which sends the password unencrypted: \
             connect through the server's Unix socket, or let the account use \
             caching_sha2_password"
                .into(),
        ));
    }
    Ok(terminated(password))
}

fn terminated(password: &str) -> Vec<u8> {
    let mut bytes = password.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// The password as `caching_sha2_password` takes it over a network: with the
/// nonce over it, and encrypted with the server's RSA key, which is a
/// `SubjectPublicKeyInfo` in PEM; RSAES-OAEP with SHA-1 and MGF1
/// (<https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html>).
///
/// Nothing proves that the key is the server's: whoever can change what is on
/// the way could put another one in its place.
pub(crate) fn encrypted(password: &str, nonce: &[u8], key: &[u8]) -> Result<Vec<u8>, Failure> {
    if nonce.is_empty() {
        return Err(Failure::Malformed("a login without a nonce"));
    }
    let key = std::str::from_utf8(key)
        .ok()
        .and_then(|pem| PublicKey::from_public_key_pem(pem).ok())
        .ok_or(Failure::Malformed(
            "a public key that is no RSA key of 1,024 to 8,192 bits",
        ))?;
    let mut bytes = terminated(password);
    for (byte, mask) in bytes.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    key.oaep_encrypt::<Sha1>(&bytes).map_err(|error| {
        Failure::Refused(format!(
            "the password, of {} bytes, cannot be encrypted with the server's RSA key ({error}): \
             use a shorter one, or connect through the server's Unix socket",
            password.len()
        ))
    })
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
    use super::{server_side::*, *};

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
        assert!(!error.to_string().contains("native"), "{error}");
        assert_eq!(Method::Native.answer("", b"", false).unwrap(), b"");
        assert_eq!(Method::named(b"ed25519"), None);
    }

    const NONCE: &[u8] = b"01234567890123456789";

    #[test]
    fn only_the_owner_of_the_key_reads_an_encrypted_password() {
        let key = private_key();
        let pem = public_pem(&key);
        let long = "x".repeat(80);
        for password in ["", "sécret", &long] {
            let encrypted = encrypted(password, NONCE, pem.as_bytes()).unwrap();
            assert_eq!(encrypted.len(), 128);
            assert_eq!(decrypted(&key, &encrypted, NONCE), terminated(password));
        }
        // 128 bytes less two hashes and two bytes, and the zero at the end.
        let error = encrypted(&"x".repeat(86), NONCE, pem.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("of 86 bytes"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_keys_do_not_panic(
            key in proptest::collection::vec(proptest::num::u8::ANY, 0..80),
            cut in 0..272_usize,
            changed in proptest::num::u8::ANY,
        ) {
            proptest::prop_assert!(encrypted("x", NONCE, &key).is_err());
            static PEM: std::sync::OnceLock<String> = std::sync::OnceLock::new();
            let mut pem = PEM.get_or_init(|| public_pem(&private_key())).clone().into_bytes();
            let cut = cut.min(pem.len() - 1);
            let _either = encrypted("x", NONCE, &pem[..cut]);
            pem[cut] = changed;
            let _either = encrypted("x", NONCE, &pem);
        }
    }
}

/// A server's side of the RSA exchange, for tests.
#[cfg(test)]
pub(super) mod server_side {
    use rand::{SeedableRng, rngs::StdRng};
    use rsa::{
        PrivateKey,
        pkcs8::{EncodePublicKey, LineEnding},
    };

    use super::Sha1;

    /// As short as is taken, so that it is made soon.
    pub(in super::super) fn private_key() -> PrivateKey {
        PrivateKey::new(&mut StdRng::seed_from_u64(1), 1024).unwrap()
    }

    pub(in super::super) fn public_pem(key: &PrivateKey) -> String {
        key.to_public_key()
            .to_public_key_pem(LineEnding::LF)
            .unwrap()
    }

    pub(in super::super) fn decrypted(key: &PrivateKey, bytes: &[u8], nonce: &[u8]) -> Vec<u8> {
        let masked = key.oaep_decrypt::<Sha1>(bytes).unwrap();
        let mask = nonce.iter().cycle();
        masked.iter().zip(mask).map(|(a, b)| a ^ b).collect()
    }
}
