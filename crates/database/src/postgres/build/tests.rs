//! Builds of a source that is a few lines of shell and make.

use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

/// Prints what it was told, and makes a makefile for each part whose `all`
/// does `$1`.
const CONFIGURE: &str = r#"#!/bin/sh
PACKAGE_NAME='PostgreSQL'
PACKAGE_VERSION='16.99'
echo "told $*" >&2
echo answers > config.cache
for part in PARTS; do
  mkdir -p $part
  printf 'all generated-headers:\n\t%s\ninstall:\n\tmkdir -p $(DESTDIR)/pgsql/bin\n' 'ALL' > $part/Makefile
  printf '\tmkdir -p $(DESTDIR)/pgsql/share/extension\n' >> $part/Makefile
  for piece in PIECES; do
    printf '\techo "$(rpathdir)" > $(DESTDIR)/pgsql/%s; chmod 700 $(DESTDIR)/pgsql/%s\n' \
      $piece $piece >> $part/Makefile
  done
done
"#;

struct Fake {
    scratch: TempDir,
    source: Source,
}

impl Fake {
    fn new(all: &str) -> Self {
        // Servers' user has to reach it.
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let directory = scratch.path().join("source");
        fs::create_dir_all(directory.join("src/backend/parser")).unwrap();
        fs::write(directory.join("src/backend/parser/gram.c"), "").unwrap();
        let configure = CONFIGURE
            .replace("PARTS", &parts().collect::<Vec<_>>().join(" "))
            .replace("PIECES", &PIECES.join(" "))
            .replace("ALL", all);
        fs::write(directory.join("configure"), configure).unwrap();
        Self {
            source: Source::Directory(directory),
            scratch,
        }
    }

    fn cache(&self) -> PathBuf {
        self.scratch.path().join("cache")
    }

    fn build(
        &self,
        page_size: PageSize,
        step: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<PathBuf, DatabaseError> {
        build_in(&self.cache(), &self.source, page_size, kib(8), step)
    }
}

fn kib(count: u32) -> PageSize {
    PageSize::new(count << 10).unwrap()
}

fn go_on(_: &str) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_build_is_made_once_and_found_again() {
    let fake = Fake::new("echo making");
    assert_eq!(find_in(&fake.cache(), &fake.source, kib(4), kib(8)), None);
    let mut told = Vec::new();
    let bin = fake
        .build(kib(4), &mut |what| {
            told.push(what.to_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(
        told.iter()
            .any(|what| what.starts_with("build PostgreSQL 16.99 at 4 KiB pages: configure, 0 s")),
        "{told:?}"
    );
    // Which the server's loader replaces, not make.
    let written = fs::read_to_string(bin.join("postgres")).unwrap();
    assert!(written.trim_end().ends_with("/../lib"), "{written}");
    let mode = fs::metadata(bin.join("initdb"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(
        find_in(&fake.cache(), &fake.source, kib(4), kib(8)),
        Some(bin.clone())
    );
    let again = fake.build(kib(4), &mut |what| panic!("{what}")).unwrap();
    assert_eq!(again, bin);
    // What is not complete is built again.
    fs::remove_file(bin.with_file_name("share/postgres.bki")).unwrap();
    assert_eq!(find_in(&fake.cache(), &fake.source, kib(4), kib(8)), None);
    assert_eq!(fake.build(kib(4), &mut go_on).unwrap(), bin);
    let other = fake.build(kib(16), &mut go_on).unwrap();
    assert_ne!(other, bin);
    let left: Vec<String> = fs::read_dir(fake.cache())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("build-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let log = fs::read_dir(fake.cache().join("logs"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .find(|log| log.contains("--with-blocksize=16"))
        .unwrap();
    assert!(log.contains("--with-wal-blocksize=8"), "{log}");
}

#[test]
fn a_build_that_fails_shows_and_keeps_its_log() {
    let fake = Fake::new("echo no such header; false");
    let error = fake.build(kib(4), &mut go_on).unwrap_err().to_string();
    assert!(error.contains("no such header"), "{error}");
    let log = error.split("log: ").nth(1).unwrap().trim_end_matches(')');
    assert!(fs::read_to_string(log).unwrap().contains("no such header"));
    assert_eq!(find_in(&fake.cache(), &fake.source, kib(4), kib(8)), None);
}

#[test]
fn a_build_is_stopped() {
    let fake = Fake::new("sleep 600");
    let since = Instant::now();
    let error = fake
        .build(kib(4), &mut |what| {
            if what.contains("make") {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap_err();
    assert!(matches!(error, DatabaseError::Stopped), "{error}");
    assert!(since.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_configured_source_is_refused() {
    let fake = Fake::new("true");
    let Source::Directory(directory) = &fake.source else {
        unreachable!()
    };
    fs::write(directory.join("config.status"), "").unwrap();
    let error = fake.build(kib(4), &mut go_on).unwrap_err().to_string();
    assert!(error.contains("make distclean"), "{error}");
}

#[test]
fn missing_programs_are_named_with_their_packages() {
    require("try", &[("sh", "dash")]).unwrap();
    let error = require(
        "build it",
        &[("sh", "dash"), ("no-bison", "bison"), ("no-flex", "flex")],
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "to build it, no-bison and no-flex cannot be found: install the packages: \
         apt-get install bison flex"
    );
}
