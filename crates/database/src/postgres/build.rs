//! Servers built from source, one for each block size, which PostgreSQL fixes
//! when it is compiled.
//!
//! The parts are the server, `initdb` and `pg_ctl`, with as few options as
//! possible: a C compiler and make are enough for versions up to 16; later
//! ones, and checkouts of git, need bison, flex and perl besides.

use std::{
    ffi::OsString,
    fs,
    num::NonZero,
    ops::ControlFlow,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use octavo_units::PageSize;
use rustix::process::Signal;
use sha2::{Digest, Sha256};

use super::{
    cache::{Cache, Workplace, cache_directory, open_to_all, program_on_path, require},
    refusal::refuse,
    source::{self, Source, SourceAtHand, SourceFiles},
};
use crate::{
    DatabaseError, Result,
    files::named,
    server::{
        account::Account,
        process::{Launch, run_tool},
        tree,
    },
};

/// Where the tree is said to be installed. Programs find the rest of it from
/// their own place, so the tree can lie anywhere. Names with `pgsql` in them
/// get no further directory below `lib` and `share`.
const PREFIX: &str = "/pgsql";

/// Changed with the options and parts below, so that what earlier versions of
/// Octavo built is not taken for what this one would build.
const RECIPE: u32 = 3;

/// Told to `configure` besides the block sizes: nothing that would need a
/// library, none of which is on a query's way. One that a version does not
/// have is passed over.
const OPTIONS: [&str; 5] = [
    "--without-readline",
    "--without-zlib",
    "--without-icu",
    "--without-openssl",
    "CFLAGS=-O2",
];

/// The parts that are built, in this order.
const PARTS: [&str; 11] = [
    "src/port",
    "src/common",
    "src/backend",
    "src/backend/utils/mb/conversion_procs",
    "src/backend/snowball",
    "src/timezone",
    "src/interfaces/libpq",
    "src/fe_utils",
    "src/bin/initdb",
    "src/bin/pg_ctl",
    "src/pl/plpgsql",
];

/// Built and installed besides, of contrib: what schemas often have types, operators and functions of,
/// and needs no library of its own (<https://www.postgresql.org/docs/current/contrib.html>); and
/// `pg_buffercache`, which tells how often pages are pinned.
const CONTRIB: [&str; 17] = [
    "pg_buffercache",
    "bloom",
    "btree_gin",
    "btree_gist",
    "citext",
    "cube",
    "earthdistance",
    "fuzzystrmatch",
    "hstore",
    "intarray",
    "isn",
    "lo",
    "ltree",
    "pg_trgm",
    "seg",
    "tablefunc",
    "unaccent",
];

/// All parts that are built, in their order.
fn parts() -> impl Iterator<Item = String> {
    let of_contrib = CONTRIB.iter().map(|module| format!("contrib/{module}"));
    PARTS.iter().map(ToString::to_string).chain(of_contrib)
}

/// The parts that only others are made of.
const NOT_INSTALLED: [&str; 3] = ["src/port", "src/common", "src/fe_utils"];

/// Installed besides where a version has it: since 17 the catalogs that
/// `initdb` fills a cluster with are not the server's part.
const CATALOGS: &str = "src/include/catalog";

/// What a build that is complete has.
const PIECES: [&str; 8] = [
    "bin/postgres",
    "bin/initdb",
    "bin/pg_ctl",
    "share/postgres.bki",
    "share/snowball_create.sql",
    "share/extension/plpgsql.control",
    "share/extension/pg_buffercache.control",
    "share/extension/unaccent.control",
];

/// No machine takes this long for one of the steps.
const STEP_LIMIT: Duration = Duration::from_secs(2 * 3600);

/// Between two reports of a step.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

/// Gets the programs of a page size and a block size of the write-ahead log:
/// from the cache, or built, which takes minutes. Returns their directory.
///
/// Servers of another user than root can run them. `step` is told several
/// times a second what is being done, and may stop it, which ends in
/// [`DatabaseError::Stopped`]. A build that fails is told with the last lines
/// of its log, which is kept.
pub(crate) fn build(
    source: &Source,
    page_size: PageSize,
    wal_block_size: PageSize,
    step: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<PathBuf> {
    build_in(&cache_directory()?, source, page_size, wal_block_size, step)
}

/// The programs that [`build`] would return, where they are in the cache.
pub(crate) fn find(
    source: &Source,
    page_size: PageSize,
    wal_block_size: PageSize,
) -> Option<PathBuf> {
    find_in(&cache_directory().ok()?, source, page_size, wal_block_size)
}

fn find_in(
    cache: &Path,
    source: &Source,
    page_size: PageSize,
    wal_block_size: PageSize,
) -> Option<PathBuf> {
    let found = source::at_hand(source, cache).ok().flatten()?;
    let tree = cache.join(name_of(&found, page_size, wal_block_size));
    missing_piece(&tree).is_none().then(|| tree.join("bin"))
}

/// What a tree of programs lacks to be complete.
fn missing_piece(tree: &Path) -> Option<&'static str> {
    PIECES.into_iter().find(|piece| !tree.join(piece).is_file())
}

fn build_in(
    root: &Path,
    source: &Source,
    page_size: PageSize,
    wal_block_size: PageSize,
    step: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<PathBuf> {
    if let Some(account) = Account::of_servers()? {
        account.check_reach(&root.join("bin"))?;
    }
    let find = || find_in(root, source, page_size, wal_block_size);
    if let Some(bin) = find() {
        return Ok(bin);
    }
    // Errors of the source now, not after the wait for the lock.
    source::version_of(source)?;
    let cache = Cache::lock(root, step)?;
    // Another one may have built it meanwhile.
    if let Some(bin) = find() {
        return Ok(bin);
    }
    let workplace = cache.workplace()?;
    let log = fresh(cache.log("source"))?;
    let found = source::obtain(source, &cache, &workplace, &log, step)?;
    let name = name_of(&found, page_size, wal_block_size);
    let tree = root.join(&name);
    if missing_piece(&tree).is_some() {
        let log = fresh(cache.log(&name))?;
        Build {
            what: format!("build PostgreSQL {} at {page_size} pages", found.version),
            found: &found,
            page_size,
            wal_block_size,
            cache: &cache,
            workplace: &workplace,
            log: &log,
            step,
        }
        .run(&tree)?;
    }
    Ok(tree.join("bin"))
}

/// A log without the lines of an earlier attempt.
fn fresh(log: PathBuf) -> Result<PathBuf> {
    tree::remove_all(&log)?;
    Ok(log)
}

/// The directory of a build in the cache.
fn name_of(found: &SourceAtHand, page_size: PageSize, wal_block_size: PageSize) -> String {
    format!(
        "postgresql-{}-{}k-wal{}k-{}-r{RECIPE}",
        found.version,
        page_size.get() >> 10,
        wal_block_size.get() >> 10,
        found.fingerprint
    )
}

/// One build.
struct Build<'a> {
    what: String,
    found: &'a SourceAtHand,
    page_size: PageSize,
    wal_block_size: PageSize,
    cache: &'a Cache,
    workplace: &'a Workplace,
    log: &'a Path,
    step: &'a mut dyn FnMut(&str) -> ControlFlow<()>,
}

impl Build<'_> {
    /// Builds and moves the result to `tree` at once.
    fn run(&mut self, tree: &Path) -> Result<()> {
        let source = self.unpack()?;
        self.check_programs(&source)?;
        let objects = self.workplace.directory("objects")?;
        let staged = self.workplace.directory("staged")?;
        self.configure(&source, &objects)?;
        self.make(&objects)?;
        self.install(&objects, &staged)?;
        // The prefix begins with a slash, which joining would start anew at.
        let built = staged.join(PREFIX.trim_start_matches('/'));
        if let Some(piece) = missing_piece(&built) {
            return Err(DatabaseError::Program {
                action: "install",
                program: "make".into(),
                reason: format!(
                    "{}: no {piece} was installed (all of its log: {})",
                    self.what,
                    self.log.display()
                ),
            });
        }
        // Headers are for those who compile against the server.
        tree::remove_all(&built.join("include"))?;
        open_to_all(&built)?;
        // All of it is durable before it has its name.
        tree::sync(&built)?;
        tree::remove_all(tree)?;
        fs::rename(&built, tree).map_err(named("move to", tree))
    }

    /// The directory with `configure`.
    fn unpack(&mut self) -> Result<PathBuf> {
        match &self.found.place {
            SourceFiles::Directory(path) => {
                // make would take the objects of the other block size.
                if path.join("config.status").exists() {
                    return Err(refuse(
                        "source",
                        path.display(),
                        "something was built in it, which would be mixed into this build: run \
                         'make distclean' in it, or give a tarball",
                    ));
                }
                std::path::absolute(path).map_err(named("find", path))
            }
            SourceFiles::Tarball(path) => {
                let path = std::path::absolute(path).map_err(named("find", path))?;
                require("unpack PostgreSQL's source", &unpackers(&path))?;
                let directory = self.workplace.directory("source")?;
                let arguments = vec![
                    "--extract".into(),
                    "--no-same-owner".into(),
                    "--no-same-permissions".into(),
                    "--file".into(),
                    path.clone().into(),
                ];
                self.tool("unpack", "unpack", "tar", arguments, &directory)?;
                directory_with_configure(&directory).ok_or_else(|| {
                    refuse(
                        "source",
                        path.display(),
                        "it has no configure at its top: give a tarball as PostgreSQL publishes \
                         them",
                    )
                })
            }
        }
    }

    fn check_programs(&self, source: &Path) -> Result<()> {
        let mut programs = vec![("make", "make"), ("perl", "perl")];
        if ["cc", "gcc", "clang"]
            .iter()
            .all(|compiler| program_on_path(compiler).is_none())
        {
            programs.push(("cc", "gcc libc6-dev"));
        }
        // Tarballs had the parser in C up to version 16.
        if !source.join("src/backend/parser/gram.c").exists() {
            programs.extend([("bison", "bison"), ("flex", "flex")]);
        }
        require(&self.what, &programs)
    }

    /// Configures, sharing what `configure` finds out with other block sizes.
    fn configure(&mut self, source: &Path, objects: &Path) -> Result<()> {
        let shared = self
            .cache
            .root()
            .join(format!("configure-{}.cache", self.surroundings()));
        let answers = objects.join("config.cache");
        // A copy: one that is killed leaves its answers half written.
        let is_shared = fs::copy(&shared, &answers).is_ok();
        let mut configured = self.run_configure(source, objects);
        if is_shared
            && let Err(error) = &configured
            && !matches!(error, DatabaseError::Stopped)
        {
            // The answers may be those of another compiler.
            tree::remove_all(&shared)?;
            tree::remove_all(&answers)?;
            configured = self.run_configure(source, objects);
        }
        if configured.is_err() {
            // What the compiler said is in a log of its own.
            let _not_there = fs::copy(
                objects.join("config.log"),
                self.log.with_extension("config.log"),
            );
        }
        configured?;
        if !is_shared {
            // Without it, other block sizes are configured anew.
            let _slower = fs::rename(&answers, &shared);
        }
        Ok(())
    }

    fn run_configure(&mut self, source: &Path, objects: &Path) -> Result<()> {
        let mut arguments: Vec<OsString> = vec![
            source.join("configure").into(),
            format!("--prefix={PREFIX}").into(),
            format!("--with-blocksize={}", self.page_size.get() >> 10).into(),
            format!("--with-wal-blocksize={}", self.wal_block_size.get() >> 10).into(),
            "--cache-file=config.cache".into(),
        ];
        arguments.extend(OPTIONS.map(OsString::from));
        self.tool("configure", "configure", "sh", arguments, objects)
    }

    /// Tells answers of `configure` apart that would differ: by the version
    /// and the compiler.
    fn surroundings(&self) -> String {
        let mut hash = Sha256::new();
        for compiler in ["gcc", "cc", "clang"] {
            let path = program_on_path(compiler).and_then(|path| fs::canonicalize(path).ok());
            if let Some(path) = path
                && let Ok(about) = fs::metadata(&path)
            {
                hash.update(path.as_os_str().as_encoded_bytes());
                hash.update(about.len().to_le_bytes());
                hash.update(about.mtime().to_le_bytes());
            }
        }
        let compilers = source::short(hash);
        format!(
            "{}-{}-{compilers}-r{RECIPE}",
            self.found.version, self.found.fingerprint
        )
    }

    fn make(&mut self, objects: &Path) -> Result<()> {
        let jobs = thread::available_parallelism().map_or(1, NonZero::get);
        let jobs = format!("-j{jobs}");
        let make = |target: Option<&str>| {
            let mut arguments: Vec<OsString> = vec![(&jobs).into(), relocatable().into()];
            arguments.extend(target.map(OsString::from));
            arguments
        };
        // The parts are made one after the other, each by several processes,
        // and all need these.
        let headers = make(Some("generated-headers"));
        let backend = objects.join("src/backend");
        self.tool("compile", "make headers", "make", headers, &backend)?;
        for part in parts() {
            let phase = format!("make {part}");
            self.tool("compile", &phase, "make", make(None), &objects.join(part))?;
        }
        Ok(())
    }

    fn install(&mut self, objects: &Path, staged: &Path) -> Result<()> {
        let mut destination = OsString::from("DESTDIR=");
        destination.push(staged);
        let has_catalogs = objects.join(CATALOGS).join("Makefile").exists();
        if has_catalogs {
            // It installs headers too, into a directory that is made by what
            // is left out here.
            let headers = staged
                .join(PREFIX.trim_start_matches('/'))
                .join("include/server/catalog");
            fs::create_dir_all(&headers).map_err(named("create", &headers))?;
        }
        let installed = parts()
            .filter(|part| !NOT_INSTALLED.contains(&part.as_str()))
            .chain(has_catalogs.then(|| CATALOGS.to_owned()));
        for part in installed {
            let arguments = vec![destination.clone(), relocatable().into(), "install".into()];
            self.tool("install", "install", "make", arguments, &objects.join(part))?;
        }
        Ok(())
    }

    fn tool(
        &mut self,
        action: &'static str,
        phase: &str,
        program: &str,
        arguments: Vec<OsString>,
        directory: &Path,
    ) -> Result<()> {
        let Self {
            what, step, log, ..
        } = self;
        // Also of one that ends before it is looked at.
        let (since, mut reported) = (Instant::now(), Instant::now());
        if step(&format!("{what}: {phase}, 0 s")).is_break() {
            return Err(DatabaseError::Stopped);
        }
        let ran = run_tool(
            action,
            &Launch {
                program: Path::new(program),
                arguments,
                directory,
                log,
                account: None,
                group: None,
                on_death: Signal::TERM,
                // Compilers leave nothing elsewhere either.
                input: None,
                environment: vec![("TMPDIR".into(), directory.into())],
            },
            STEP_LIMIT,
            &mut || {
                if reported.elapsed() < REPORT_INTERVAL {
                    return false;
                }
                reported = Instant::now();
                step(&format!("{what}: {phase}, {} s", since.elapsed().as_secs())).is_break()
            },
        );
        ran.map_err(|error| match error {
            DatabaseError::Program {
                action,
                program,
                reason,
            } => DatabaseError::Program {
                action,
                program,
                reason: format!("{what}: {reason}\n(all of its log: {})", log.display()),
            },
            other => other,
        })
    }
}

/// Lets programs look for libpq beside themselves rather than below the
/// prefix.
fn relocatable() -> &'static str {
    // Not a variable of make: it reads two dollars as one.
    "rpathdir=$$ORIGIN/../lib"
}

/// What a tarball is unpacked with, by its name.
fn unpackers(tarball: &Path) -> Vec<(&'static str, &'static str)> {
    let mut programs = vec![("tar", "tar")];
    match tarball.extension().and_then(|suffix| suffix.to_str()) {
        Some("bz2") => programs.push(("bzip2", "bzip2")),
        Some("xz") => programs.push(("xz", "xz-utils")),
        Some("gz") => programs.push(("gzip", "gzip")),
        _ => {}
    }
    programs
}

/// `directory`, or the one in it that has `configure`.
fn directory_with_configure(directory: &Path) -> Option<PathBuf> {
    let has_it = |path: &PathBuf| path.join("configure").is_file();
    let below = fs::read_dir(directory).ok()?.flatten();
    std::iter::once(directory.to_owned())
        .chain(below.map(|entry| entry.path()))
        .find(has_it)
}

#[cfg(test)]
mod tests;
