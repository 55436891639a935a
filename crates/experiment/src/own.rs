//! The plan of advise for the user's own data and statements.

use std::{ffi::OsStr, path::Path, sync::Arc, time::Duration};

use octavo_database::{
    CopyOwn, Database, DatabaseError, DatabaseSpec, FoundDigests, OwnError, Settings, Statements,
    Tried,
};
use octavo_script::{Definitions, Script, SyntaxError};
use octavo_storage::text;
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    Mix, WorkloadSpec, own,
    user::{
        CopyOf, Copying, DigestKind, LeftOut, Own, OwnDigests, OwnRecording, OwnScript, Pace,
        Prepared, RecordedKind,
    },
};

use crate::{
    advise::DATA_OVER_MEMORY,
    causes::with_causes,
    machine,
    plan::{Design, Factor, Level, MARGIN, OwnSettings, Plan, Storage, TestedDatabase},
};

/// Why there is no such plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnPlanError {
    /// A script cannot be read as a text.
    #[error("{0}")]
    File(String),
    /// A script's text.
    #[error(transparent)]
    Script(Box<SyntaxError>),
    /// The user's database.
    #[error(transparent)]
    Own(#[from] OwnError),
    /// Octavo's.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The database's own files cannot be copied.
    #[error("--copy-of does not work with {0} yet")]
    Unsupported(&'static str),
    /// No script is given, and none can be guessed.
    #[error("there is no table with numbered rows to guess statements from: give --script")]
    NoGuess,
    /// Digests are asked for that there are not.
    #[error("there are no digests to run: {0}; give --script or --recording")]
    NoDigests(String),
    /// The weights of all scripts are 0, or too large together.
    #[error(
        "the weights of scripts, behind the @ of each --script, sum to {0}, and have to sum to 1 to {max}",
        max = Mix::SUM_MAX
    )]
    Weights(u64),
    /// No script sends a statement.
    #[error("there is no SQL statement in {0}, so there is nothing to measure: write one into it")]
    NoStatement(String),
    /// A plan has several kinds of databases.
    #[error("copy-of is of one kind of database: name one in [cells]")]
    Databases,
    /// A plan compares others than the present page size.
    #[error("page-size has to have the present one, {0}, which the others are compared with")]
    PresentPageSize(PageSize),
    /// A script asks outside of a transaction for what the statement before it did.
    #[error(
        "a script asks outside of a transaction what the statement before did, as with \
         last_insert_rowid(), and several clients share a connection: put BEGIN and END around \
         both, or measure with one client"
    )]
    OneClient,
    /// There are more clients than sessions to be sent again.
    #[error(
        "--clients {clients} is more than the recording has sessions, {sessions}, and a session's \
         statements are kept in their order: give --clients {sessions} or fewer"
    )]
    Sessions {
        /// The clients.
        clients: u32,
        /// The sessions.
        sessions: u32,
    },
    /// There are fewer clients than sessions that were at work at the same time.
    #[error(
        "--clients {clients} is fewer than the {sessions} sessions that the recording has at work at \
         the same time, which would wait for each other at its pace: give --clients {sessions}"
    )]
    SessionsAtOnce {
        /// The clients.
        clients: u32,
        /// The sessions.
        sessions: u32,
    },
    /// A pace is asked for, and the recording does not say when it had what.
    #[error(
        "--pace is not possible with this recording, which has no times: leave --pace out, or record \
         a log that has them (docs/recordings.md)"
    )]
    NoTimes,
    /// A pace is asked for, and the recording has a long pause.
    #[error(
        "--pace would wait as long as the recording was silent, {pause_s} s in one piece, up to \
         {at_s} s from its beginning: cut the log there, or give a higher --pace"
    )]
    LongPause {
        /// The pause at that pace, in seconds.
        pause_s: u64,
        /// When it ends, as recorded, in seconds.
        at_s: u64,
    },
}

/// The longest silence of a recording that is waited for. Chosen: people's pauses are shorter, nights
/// and clocks that were set are longer.
const PAUSE_MAX: Duration = Duration::from_secs(60);

impl OwnPlanError {
    /// Whether the caller asked to stop.
    pub fn is_stopped(&self) -> bool {
        matches!(
            self,
            Self::Own(OwnError::Database(DatabaseError::Stopped))
                | Self::Database(DatabaseError::Stopped)
        )
    }
}

/// The least memory that is chosen: enough for all page sizes with one client.
const MEMORY_MIN: ByteCount = ByteCount::mib(2);

/// The most bytes of a script.
const SCRIPT_MAX: ByteCount = ByteCount::mib(1);

/// A plan with the page sizes and clients that the database's description gives, the user's
/// present page size as the reference, and two memories: the cache that there is, and what
/// holds a ninth of the data. `given` are the database's options. The rows of a sample are counted
/// until `stopped` says so.
///
/// # Errors
/// When a script or the user's database cannot be used; nothing was changed then.
pub fn plan(
    spec: &DatabaseSpec,
    given: &[(String, String)],
    settings: &OwnSettings,
    stopped: &dyn Fn() -> bool,
) -> Result<Plan, OwnPlanError> {
    let kind = spec.kind();
    let Looked { users, found } = look(spec.make()?.as_ref(), kind.name, settings, stopped)?;
    let spec = DatabaseSpec::new(kind, with_needed(given, &found.options))?;
    let clients = clients(
        kind.defaults.clients,
        settings.clients,
        users.recording.as_ref(),
    )?;
    let present = users.copy.page_size;
    let mut page_sizes = kind.defaults.page_sizes.to_vec();
    page_sizes.push(present);
    page_sizes.sort_unstable();
    page_sizes.dedup();
    // Without a server each connection has a cache of its own.
    let caches = if kind.is_server { 1 } else { clients };
    let cache = found.cache.saturating_mul(u64::from(caches));
    let memories = memories(
        spec.make()?.as_ref(),
        cache,
        found.copy.size,
        clients,
        present,
    );
    Ok(Plan {
        name: None,
        workload: own::name(),
        mix: None,
        distribution: None,
        isolation: None,
        seed: Seed::new(1),
        margin: MARGIN,
        design: Design::Race,
        data: vec![own::data(&users)],
        shape: None,
        own: Some(Arc::new(users)),
        storages: vec![Storage::Own],
        page_sizes,
        mixed: Vec::new(),
        memories,
        cpus: vec![None],
        clients: vec![clients],
        ramp: None,
        copies: 1,
        compare: Factor::PageSize,
        reference: Some(Level::PageSize(present)),
        databases: vec![Arc::new(TestedDatabase {
            // What is compared with, and what snapshots are made of first.
            default_page_size: present,
            ..TestedDatabase::new(&spec)?
        })],
    })
}

/// The user's data and statements, looked at.
struct Looked {
    users: Own,
    found: octavo_database::Own,
}

fn look(
    database: &dyn Database,
    name: &'static str,
    settings: &OwnSettings,
    stopped: &dyn Fn() -> bool,
) -> Result<Looked, OwnPlanError> {
    let Some(copies) = database.copies_own() else {
        return Err(OwnPlanError::Unsupported(name));
    };
    let found = copies.examine(&settings.source, &settings.copying, stopped)?;
    let UserStatements {
        scripts,
        guessed,
        recording,
        tried,
    } = statements(copies, &found.copy, settings)?;
    let is_guess = guessed.is_some();
    let guessed = guessed.unwrap_or_default();
    let users = Own {
        is_guess,
        guess_without: guessed.without,
        scripts,
        recording,
        digests: tried.digests,
        without_digests: guessed.without_digests,
        copy: CopyOf {
            sorts_by_bytes: tried.sorts_by_bytes,
            ..found.copy.clone()
        },
        unlike: tried.unlike,
        uneven: found.uneven.clone(),
        limits: found.limits.clone(),
        prepared: Some(tried.prepared),
    };
    Ok(Looked { users, found })
}

/// What a plan says itself.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// Its page sizes.
    pub page_sizes: bool,
    /// How many clients.
    pub clients: bool,
}

/// Puts the user's data and statements into a plan that has all else. Without page sizes of its
/// own it gets the present one, and without clients one, or at a recording's pace as many as that
/// has sessions at work at the same time.
///
/// # Errors
/// As [`plan`], and for what the plan asks for and the user's data or statements do not allow.
pub fn complete(
    plan: &mut Plan,
    settings: &OwnSettings,
    has: Given,
    stopped: &dyn Fn() -> bool,
) -> Result<(), OwnPlanError> {
    let first = Arc::clone(&plan.databases[0]);
    if plan.databases.iter().any(|other| other.name != first.name) {
        return Err(OwnPlanError::Databases);
    }
    let kind = first.kind()?;
    let Looked { users, found } = look(first.make()?.as_ref(), kind.name, settings, stopped)?;
    let present = users.copy.page_size;
    if !has.page_sizes {
        plan.page_sizes = vec![present];
    } else if !plan.page_sizes.contains(&present) {
        return Err(OwnPlanError::PresentPageSize(present));
    }
    let recording = users.recording.as_ref();
    if !has.clients {
        plan.clients = vec![clients(1, None, recording)?];
    }
    for &count in &plan.clients {
        clients(count, Some(count), recording)?;
    }
    if plan.clients != [1] {
        check_several_clients(&users)?;
    }
    for database in &mut plan.databases {
        *database = Arc::new(TestedDatabase {
            options: with_needed(&database.options, &found.options),
            default_page_size: present,
            ..TestedDatabase::clone(database)
        });
    }
    plan.data = vec![own::data(&users)];
    plan.own = Some(Arc::new(users));
    Ok(())
}

/// The user's data and statements for a single run.
#[derive(Debug)]
pub struct SingleRun {
    /// The options of the database, those that the copy needs among them.
    pub options: Vec<(String, String)>,
    /// Whose rows, and what runs.
    pub own: Own,
}

/// Looks at the user's data and statements for a single run. `given` are the database's options.
///
/// # Errors
/// As [`plan`], and where several clients cannot run the statements.
pub fn single_run(
    spec: &DatabaseSpec,
    given: &[(String, String)],
    settings: &OwnSettings,
    stopped: &dyn Fn() -> bool,
) -> Result<SingleRun, OwnPlanError> {
    let kind = spec.kind();
    let Looked { users, found } = look(spec.make()?.as_ref(), kind.name, settings, stopped)?;
    let clients = clients(1, settings.clients, users.recording.as_ref())?;
    if clients > 1 {
        check_several_clients(&users)?;
    }
    Ok(SingleRun {
        options: with_needed(given, &found.options),
        own: users,
    })
}

/// Looks at the user's rows alone.
///
/// # Errors
/// As [`plan`].
pub fn rows(
    spec: &DatabaseSpec,
    given: &[(String, String)],
    source: &OsStr,
) -> Result<SingleRun, OwnPlanError> {
    let database = spec.make()?;
    let Some(copies) = database.copies_own() else {
        return Err(OwnPlanError::Unsupported(spec.kind().name));
    };
    let found = copies.examine(source, &Copying::WHOLE, &|| false)?;
    Ok(SingleRun {
        options: with_needed(given, &found.options),
        own: Own {
            limits: found.limits,
            ..of_rows(found.copy, copies)
        },
    })
}

/// The workload on a copy that was made, which checks it and does nothing else.
pub fn at_rest(copy: &CopyOf, database: &dyn Database) -> WorkloadSpec {
    let own = match database.copies_own() {
        Some(copies) => of_rows(copy.clone(), copies),
        None => without_statements(copy.clone(), None),
    };
    workload(Arc::new(own))
}

/// The workload of a single run.
pub fn workload(own: Arc<Own>) -> WorkloadSpec {
    WorkloadSpec {
        own: Some(Arc::clone(&own)),
        ..WorkloadSpec::new(own::name(), own::data(&own), Seed::new(1))
    }
}

fn of_rows(copy: CopyOf, copies: &dyn CopyOwn) -> Own {
    without_statements(copy, copies.check())
}

/// Rows that are checked, at most.
fn without_statements(copy: CopyOf, check: Option<&'static str>) -> Own {
    Own {
        prepared: Some(Prepared::nothing(check)),
        ..Own::new(
            copy,
            vec![OwnScript {
                name: "nothing".into(),
                weight: 1,
                fingerprint: 0,
            }],
        )
    }
}

/// The options of a database, and those that the copy needs to work as the original does, where
/// no other ones are asked for.
fn with_needed(given: &[(String, String)], needed: &[(String, String)]) -> Vec<(String, String)> {
    let is_given = |name: &String| given.iter().any(|(other, _)| other == name);
    let mut options = needed.to_vec();
    options.retain(|(name, _)| !is_given(name));
    options.extend(given.iter().cloned());
    options
}

/// Refuses statements that need to have one client.
///
/// # Errors
/// [`OwnPlanError::OneClient`].
pub fn check_several_clients(users: &Own) -> Result<(), OwnPlanError> {
    let prepared = users.prepared.as_ref();
    match prepared.is_some_and(Prepared::needs_one_client) {
        true => Err(OwnPlanError::OneClient),
        false => Ok(()),
    }
}

/// What runs.
struct UserStatements {
    scripts: Vec<OwnScript>,
    /// Of a guess.
    guessed: Option<Guessed>,
    recording: Option<OwnRecording>,
    tried: Tried,
}

/// What may be told of a guess.
#[derive(Debug, Default)]
struct Guessed {
    /// What it leaves out.
    without: Vec<String>,
    /// Why digests do not run instead, where the server could have some.
    without_digests: Option<String>,
}

/// The statements of scripts or recordings, the server's digests, or those that are guessed, as the database takes them.
fn statements(
    copies: &dyn CopyOwn,
    copy: &CopyOf,
    settings: &OwnSettings,
) -> Result<UserStatements, OwnPlanError> {
    let source = &settings.source;
    if !settings.recordings.is_empty() {
        return recorded(copies, copy, settings);
    }
    let (scripts, guessed) = match settings.scripts.as_slice() {
        [] => {
            let without_digests = match digested(copies, settings)? {
                Ok(digests) => return Ok(digests),
                Err(reason) => reason,
            };
            let (script, without) = guess(copies, settings)?;
            let guessed = Guessed {
                without,
                without_digests,
            };
            (vec![script], Some(guessed))
        }
        _ => (read(settings)?, None),
    };
    let tried = copies.prepare(source, Statements::Scripts(&scripts))?;
    // What was guessed has no file and is alone.
    let weights = settings.scripts.iter().map(|file| file.weight);
    let weighted = scripts.iter().zip(weights.chain([1]));
    let scripts = weighted.map(|(script, weight)| OwnScript {
        name: script.name().to_owned(),
        weight,
        fingerprint: fingerprint(script, &settings.definitions),
    });
    Ok(UserStatements {
        scripts: scripts.collect(),
        guessed,
        recording: None,
        tried,
    })
}

fn recorded(
    copies: &dyn CopyOwn,
    copy: &CopyOf,
    settings: &OwnSettings,
) -> Result<UserStatements, OwnPlanError> {
    let mut files: Vec<String> = Vec::new();
    for path in &settings.recordings {
        let name = name(path, &files);
        files.push(name);
    }
    let recording = copies.read_recording(&settings.source, copy, &settings.recordings)?;
    if settings.pace.is_some() && !recording.has_times() {
        return Err(OwnPlanError::NoTimes);
    }
    if let Some(pace) = settings.pace {
        let (pause, end) = recording.longest_pause();
        let pause = pace.scale(pause);
        if pause > PAUSE_MAX {
            return Err(OwnPlanError::LongPause {
                pause_s: pause.as_secs(),
                at_s: end.as_secs(),
            });
        }
    }
    // Another pace is another load.
    let pace = settings.pace.map_or(0, |pace| f64::from(pace).to_bits());
    let fingerprint = (recording.fingerprint() ^ pace.rotate_left(32)) >> 12;
    let mut tried = copies.prepare(&settings.source, Statements::Recorded(recording, &files))?;
    if let Some(pace) = settings.pace {
        tried.prepared = tried.prepared.at_pace(pace);
    }
    let recording = of_recording(&tried.prepared, files, settings.pace);
    let counts = tried.prepared.recorded_kinds();
    let scripts = kinds(&RecordedKind::NAMES, &counts, fingerprint);
    Ok(UserStatements {
        scripts,
        guessed: None,
        recording,
        tried,
    })
}

/// Runs of digests that stand for what a server does, at least. Chosen.
const CALLS_MIN: u64 = 1_000;

/// The share of its runs that digests have to stand for, where a guess could be made instead.
/// Chosen.
const CALLS_SHARE_MIN: f64 = 0.5;

/// The server's digests, or why a guess is to be made, if there is anything to be said of that.
fn digested(
    copies: &dyn CopyOwn,
    settings: &OwnSettings,
) -> Result<Result<UserStatements, Option<String>>, OwnPlanError> {
    let without = |reason: String| match settings.digests {
        true => Err(OwnPlanError::NoDigests(reason)),
        false => Ok(Err(Some(reason))),
    };
    let digests = match copies.read_digests(&settings.source)? {
        FoundDigests::Usable(digests) => digests,
        FoundDigests::None(reason) => return without(reason),
        FoundDigests::Never if settings.digests => {
            return without("this database counts none".into());
        }
        FoundDigests::Never => return Ok(Err(None)),
    };
    // A trial takes seconds, and few runs are too few whatever they are.
    let calls = digests.calls();
    if calls == 0 || (calls < CALLS_MIN && !settings.digests) {
        return without(format!("the server has counted {calls} runs of statements"));
    }
    let tried = match copies.prepare(&settings.source, Statements::Digests(digests)) {
        Ok(tried) => tried,
        Err(OwnError::NoDigest { reason }) => return without(reason),
        Err(error) => return Err(error.into()),
    };
    let few = tried.digests.as_ref().and_then(|digests| {
        let share = digests.calls as f64 / digests.of_calls.max(1) as f64;
        let is_few = digests.calls < CALLS_MIN || share < CALLS_SHARE_MIN;
        is_few.then(|| few(digests))
    });
    if let Some(reason) = few.filter(|_| !settings.digests) {
        return Ok(Err(Some(reason)));
    }
    let counts = tried.prepared.digest_kinds();
    // What they are may be another thing at each look.
    let scripts = kinds(&DigestKind::NAMES, &counts, 0);
    Ok(Ok(UserStatements {
        scripts,
        guessed: None,
        recording: None,
        tried,
    }))
}

/// That a copy can run too few of them.
fn few(digests: &OwnDigests) -> String {
    format!(
        "{} of the {} runs that the server has counted can be sent to a copy",
        digests.calls, digests.of_calls
    )
}

/// What may be told of a recording.
fn of_recording(
    prepared: &Prepared,
    files: Vec<String>,
    pace: Option<Pace>,
) -> Option<OwnRecording> {
    let recording = prepared.recording()?;
    let left = recording.left.iter().map(|(reason, count)| LeftOut {
        reason: reason.to_string(),
        statements: *count,
    });
    Some(OwnRecording {
        files,
        sessions: recording.sessions,
        transactions: recording.transactions.len() as u64,
        statements: recording.kept(),
        recorded: recording.statements,
        time: recording.share_of_time(),
        left: left.collect(),
        pace,
        sessions_at_once: recording.sessions_at_once(),
    })
}

/// Kinds of transactions, with their shares of these counts as weights.
fn kinds(names: &[&str], counts: &[u64], fingerprint: u64) -> Vec<OwnScript> {
    let all: u64 = counts.iter().sum();
    let most = u64::from(Mix::SUM_MAX) / 2;
    let weight = |count: u64| {
        let weight = match all <= most {
            true => count,
            // What is there at all is not nothing.
            false => (u128::from(count) * u128::from(most)).div_ceil(u128::from(all)) as u64,
        };
        u32::try_from(weight).unwrap_or(Mix::SUM_MAX)
    };
    let named = names.iter().zip(counts);
    named
        .map(|(name, count)| OwnScript {
            name: (*name).to_owned(),
            weight: weight(*count),
            fingerprint,
        })
        .collect()
}

/// As many clients as are asked for or usual, but not more than a recording has sessions. At a pace as
/// many as it had sessions at the same time, unless more are asked for.
fn clients(
    usual: u32,
    given: Option<u32>,
    recording: Option<&OwnRecording>,
) -> Result<u32, OwnPlanError> {
    let sessions = recording.map_or(u32::MAX, |recording| recording.sessions);
    let paced = recording.filter(|recording| recording.pace.is_some());
    let least = paced.map(|recording| recording.sessions_at_once);
    match given {
        Some(clients) if least.is_some_and(|least| clients < least) => {
            Err(OwnPlanError::SessionsAtOnce {
                clients,
                sessions: least.unwrap_or_default(),
            })
        }
        Some(clients) if clients > sessions => Err(OwnPlanError::Sessions { clients, sessions }),
        Some(clients) => Ok(clients),
        None => Ok(least.unwrap_or(usual.min(sessions))),
    }
}

/// The cache that there is, then what holds a ninth of the data, unless one tells nothing that the
/// other does not; neither below what the present page size needs.
fn memories(
    database: &dyn Database,
    cache: ByteCount,
    size: ByteCount,
    clients: u32,
    page_size: PageSize,
) -> Vec<ByteCount> {
    let is_enough = |memory: ByteCount| {
        let settings = Settings {
            page_size,
            memory,
            clients,
            isolation: None,
        };
        database.accept(&settings).is_ok()
    };
    let least = memory_steps().find(|&memory| is_enough(memory));
    let least = least.unwrap_or(MEMORY_MIN).max(MEMORY_MIN);
    // Copies have fewer pages than a file that grew, and are to be 8 times as large too.
    let share = size.get() / (DATA_OVER_MEMORY + 1);
    let share = ByteCount::new(share);
    // InnoDB's pool has whole MiB, and whole chunks of 128 MiB where it is larger.
    let whole = |memory: ByteCount| match memory.get() >> 27 {
        0 => ByteCount::new(memory.get() >> 20 << 20),
        chunks => ByteCount::new(chunks << 27),
    };
    let share = whole(share).max(least);
    // Caches of 2,000 KiB are to be no less.
    let cache = match cache.get() >> 27 {
        0 => ByteCount::new(cache.get().next_multiple_of(1 << 20)),
        _ => cache,
    };
    let mut memories = vec![whole(cache).max(least)];
    // Twice or half of it would tell nothing else.
    if share > memories[0].saturating_mul(2) || memories[0] > share.saturating_mul(2) {
        memories.push(share);
    }
    memories
}

/// Measures a file that this machine's memory holds with the cache that there is alone, with and
/// without the OS holding the file: which of both is nearer depends on what else wants memory
/// where the database is used. Of a plan whose options say which, or whose file does not fit, and of
/// databases without such an option, memories stay.
///
/// # Errors
/// When the database cannot be made.
pub fn measure_with_os_memory(plan: &mut Plan) -> Result<(), DatabaseError> {
    let database = &plan.databases[0];
    let kind = database.kind()?;
    let (Some((option, value)), Some(own)) = (kind.defaults.held_by_os, &plan.own) else {
        return Ok(());
    };
    let files = own.copy.size.saturating_mul(plan.page_sizes.len() as u64);
    let is_enough = machine::free_memory().is_some_and(|free| files.saturating_mul(2) <= free);
    if database.option(option).is_some() || !is_enough {
        return Ok(());
    }
    let Some(without) = kind.option(option).and_then(|option| option.default) else {
        return Ok(());
    };
    let with = |value: &str| {
        let mut other = TestedDatabase::clone(database);
        other.options.push((option.to_owned(), value.to_owned()));
        Arc::new(other)
    };
    plan.databases = vec![with(value), with(without)];
    // The first is the cache that there is.
    plan.memories.truncate(1);
    Ok(())
}

/// Raises memories that are too small for a page size of the plan, for who asked for the page sizes
/// and not for the memories.
///
/// # Errors
/// When the database cannot be made.
pub fn raise_memories(plan: &mut Plan) -> Result<(), DatabaseError> {
    let database = plan.databases[0].make()?;
    let (clients, isolation) = (plan.clients[0], plan.isolation);
    let is_enough = |memory: ByteCount| {
        plan.page_sizes.iter().all(|&page_size| {
            let settings = Settings {
                page_size,
                memory,
                clients,
                isolation,
            };
            database.accept(&settings).is_ok()
        })
    };
    let Some(least) = memory_steps().find(|&memory| is_enough(memory)) else {
        // What refuses all of them says why.
        return Ok(());
    };
    for memory in &mut plan.memories {
        *memory = least.max(*memory);
    }
    plan.memories.dedup();
    Ok(())
}

/// 2 MiB, 3, 4, 6, 8, 12 and so on.
fn memory_steps() -> impl Iterator<Item = ByteCount> {
    let steps = (21..44).flat_map(|power| [1u64 << power, 3 << (power - 1)]);
    steps.map(ByteCount::new)
}

/// Leaves out page sizes that the plan's least memory is too small for, but for the reference.
///
/// # Errors
/// When the database cannot be made.
pub fn leave_out_large_pages(plan: &mut Plan) -> Result<(), DatabaseError> {
    let database = plan.databases[0].make()?;
    let reference = plan.reference.clone();
    let memory = plan.memories.iter().copied().min().unwrap_or_default();
    let (clients, isolation) = (plan.clients[0], plan.isolation);
    plan.page_sizes.retain(|&page_size| {
        let settings = Settings {
            page_size,
            memory,
            clients,
            isolation,
        };
        reference == Some(Level::PageSize(page_size)) || database.accept(&settings).is_ok()
    });
    Ok(())
}

/// The script that would be guessed for a database, or with `digests` the server's.
///
/// # Errors
/// As [`plan`].
pub fn shown(spec: &DatabaseSpec, source: &OsStr, digests: bool) -> Result<String, OwnPlanError> {
    let database = spec.make()?;
    let Some(copies) = database.copies_own() else {
        return Err(OwnPlanError::Unsupported(spec.kind().name));
    };
    if digests {
        return match copies.read_digests(source)? {
            FoundDigests::Usable(digests) => Ok(digests.shown()),
            FoundDigests::None(reason) => Err(OwnPlanError::NoDigests(reason)),
            FoundDigests::Never => Err(OwnPlanError::NoDigests("this database counts none".into())),
        };
    }
    let guess = copies.propose(source)?;
    Ok(guess.ok_or(OwnPlanError::NoGuess)?.script)
}

/// What a guessed script is called.
const GUESS: &str = "guessed statements";

/// A script, and what it leaves out.
fn guess(
    copies: &dyn CopyOwn,
    settings: &OwnSettings,
) -> Result<(Script, Vec<String>), OwnPlanError> {
    let guess = copies.propose(&settings.source)?;
    let guess = guess.ok_or(OwnPlanError::NoGuess)?;
    let script = Script::parse(GUESS, &guess.script, &settings.definitions);
    let script = script.map_err(|error| OwnPlanError::Script(Box::new(error)))?;
    Ok((script, guess.without))
}

fn read(settings: &OwnSettings) -> Result<Vec<Script>, OwnPlanError> {
    let sum: u64 = settings
        .scripts
        .iter()
        .map(|file| u64::from(file.weight))
        .sum();
    if !(1..=u64::from(Mix::SUM_MAX)).contains(&sum) {
        return Err(OwnPlanError::Weights(sum));
    }
    let mut scripts: Vec<Script> = Vec::new();
    for file in &settings.scripts {
        let source = text::read(&file.path, SCRIPT_MAX).map_err(|error| {
            let weight = match file.path.as_os_str().as_encoded_bytes().contains(&b'@') {
                true => "; what stands behind its last @ is taken as a weight if it is a whole number up to 10000, and as a part of the name if not",
                false => "",
            };
            OwnPlanError::File(with_causes(&error) + weight)
        })?;
        let names: Vec<&str> = scripts.iter().map(Script::name).collect();
        let script = Script::parse(&name(&file.path, &names), &source, &settings.definitions);
        scripts.push(script.map_err(|error| OwnPlanError::Script(Box::new(error)))?);
    }
    let weighted = scripts.iter().zip(&settings.scripts);
    let used = weighted.filter(|(_, file)| file.weight > 0);
    let used: Vec<&Script> = used.map(|(script, _)| script).collect();
    if used.iter().all(|script| script.statements().is_empty()) {
        let names: Vec<&str> = used.into_iter().map(Script::name).collect();
        return Err(OwnPlanError::NoStatement(names.join(" or ")));
    }
    Ok(scripts)
}

/// What a file is called: its name, with a number where another one has it too.
fn name(path: &Path, before: &[impl AsRef<str>]) -> String {
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    let is_taken = |name: &str| before.iter().any(|other| other.as_ref() == name);
    let mut numbered = name.clone();
    let mut number = 2;
    while is_taken(&numbered) {
        numbered = format!("{name}-{number}");
        number += 1;
    }
    numbered
}

/// What tells a script's text and definitions from others: 52 bits, so that every reader of
/// JSON keeps them.
fn fingerprint(script: &Script, definitions: &Definitions) -> u64 {
    let begin = Seed::new(0).derive(script.source(), 0);
    let seed = definitions.iter().fold(begin, |seed, (name, text)| {
        seed.derive(name, 1).derive(text, 2)
    });
    seed.get() >> 12
}
