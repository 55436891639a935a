//! Versions in the names of tarballs.

/// Compressed archives of source that are known.
const SUFFIXES: [&str; 3] = [".tar.gz", ".tar.bz2", ".tar.xz"];

/// Whether a file's name is that of a tarball.
pub(super) fn is_tarball(name: &str) -> bool {
    SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// The numbers of a version, by which versions are in order.
pub(super) fn numbers(version: &str) -> Vec<u32> {
    version
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

/// The version in a tarball's name: PostgreSQL's own `postgresql-17.4.tar.bz2`
/// or a source package's `postgresql-17_17.4.orig.tar.bz2`.
pub(super) fn version_in_name(name: &str) -> Option<String> {
    let name = SUFFIXES
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))?
        .strip_prefix("postgresql-")?;
    let version = match name.split_once('_') {
        Some((_, version)) => version.split(".orig").next()?,
        None => name,
    };
    is_version(version).then(|| version.to_owned())
}

/// Whether it is `17.4` or `18beta1`: it becomes part of a file's name.
pub(super) fn is_version(version: &str) -> bool {
    version.starts_with(|c: char| c.is_ascii_digit())
        && version.len() <= 20
        && version
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
        // `postgresql-17.tar.gz` may be any of its minor versions.
        && version.bytes().any(|byte| !byte.is_ascii_digit())
}
