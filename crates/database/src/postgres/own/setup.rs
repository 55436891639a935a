//! How the user's database is set: what a copy of it is made with.

use std::path::Path;

use octavo_workload::ConnectionError;
use serde::{Deserialize, Serialize};

use super::super::{
    cluster::{DATABASE, Role, Started},
    session::Session,
};
use crate::{Result, files};

/// Encoding, order of texts, and settings of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setup {
    encoding: String,
    collate: String,
    ctype: String,
    /// `c` for the system's library, `i` for ICU; before version 15 there was only the first.
    #[serde(default)]
    provider: Option<String>,
    /// Of ICU.
    #[serde(default)]
    locale: Option<String>,
    search_path: String,
    /// Names and values.
    settings: Vec<(String, String)>,
    /// Objects that only a superuser may make, where their kind does not tell.
    of_superusers: Vec<OfSuperuser>,
}

/// A function in C or the like, or one that is marked as leaking nothing, or a type with functions
/// of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OfSuperuser {
    /// The number of its catalog, and its own there.
    catalog: u32,
    object: u32,
    /// Of a function its name with the types of its parameters.
    function: Option<String>,
    /// Whether everybody may call it.
    is_public: bool,
}

/// Parameters that a superuser alone may set unless others are granted it, from version 15 on:
/// functions come with settings of them, which do no harm.
const SETTABLE: &str = "session_replication_role, log_statement, log_duration, \
    log_min_duration_statement, deadlock_timeout";

/// As a part of a question: what sessions may set of how statements are planned, of how values are
/// written, and of their memory. The path was noted before it was emptied.
pub(super) const QUESTION: &str = "\
    (SELECT json_build_object( \
      'encoding', pg_encoding_to_char(d.encoding), \
      'collate', d.datcollate, 'ctype', d.datctype, \
      'provider', to_jsonb(d) ->> 'datlocprovider', \
      'locale', coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale'), \
      'search_path', current_setting('octavo.path'), \
      'settings', (SELECT json_agg(json_build_array(name, current_setting(name))) \
        FROM pg_settings WHERE name LIKE 'enable\\_%' OR name IN ('DateStyle', 'IntervalStyle', \
          'bytea_output', 'default_statistics_target', 'default_text_search_config', \
          'extra_float_digits', 'work_mem', 'hash_mem_multiplier', 'random_page_cost', \
          'seq_page_cost', 'cpu_tuple_cost', 'cpu_index_tuple_cost', 'cpu_operator_cost', \
          'effective_io_concurrency', 'from_collapse_limit', 'join_collapse_limit', 'geqo', \
          'geqo_threshold', 'max_parallel_workers_per_gather', 'plan_cache_mode')), \
      'of_superusers', (SELECT coalesce(json_agg(json_build_object('catalog', m.catalog, \
          'object', m.oid, 'function', m.function, 'is_public', m.is_public)), '[]') FROM ( \
        SELECT 'pg_proc'::regclass::oid::bigint AS catalog, p.oid::bigint, \
            p.oid::regprocedure::text AS function, \
            has_function_privilege('public', p.oid, 'EXECUTE') AS is_public FROM pg_proc AS p \
          JOIN pg_language AS l ON l.oid = p.prolang \
          LEFT JOIN pg_aggregate AS a ON a.aggfnoid = p.oid \
          WHERE (a.aggfnoid IS NULL AND (NOT l.lanpltrusted OR p.proleakproof \
              OR to_jsonb(p) ->> 'prosupport' <> '-') \
            OR 'internal'::regtype IN (a.aggtranstype, a.aggmtranstype)) \
        UNION ALL SELECT 'pg_type'::regclass::oid::bigint, t.oid::bigint, NULL, true \
          FROM pg_type AS t WHERE t.typtype = 'b' AND t.typcategory <> 'A') AS m \
        WHERE m.oid >= 16384 AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.deptype = 'e' \
          AND d.classid = m.catalog AND d.objid = m.oid))) \
    FROM pg_database AS d WHERE d.datname = current_database())";

impl Setup {
    /// The encoding of its texts.
    pub(super) fn encoding(&self) -> &str {
        &self.encoding
    }

    /// The same for one user, whose schema may be looked at first.
    pub(super) fn for_user(self, user: &str) -> Self {
        let name = |name: String| {
            let name = if name == "$user" { user } else { &name };
            format!("\"{}\"", name.replace('"', "\"\""))
        };
        let names: Vec<String> = names(&self.search_path).into_iter().map(name).collect();
        Self {
            search_path: names.join(", "),
            ..self
        }
    }

    /// The same with texts in the order of their bytes.
    pub(super) fn by_bytes(self) -> Self {
        Self {
            collate: "C".into(),
            ctype: "C".into(),
            provider: None,
            locale: None,
            ..self
        }
    }

    /// The order of texts, as people call it.
    pub(super) fn order(&self) -> &str {
        self.locale.as_deref().unwrap_or(&self.collate)
    }

    pub(super) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string(self).expect("texts are written as JSON");
        std::fs::write(file, text).map_err(files::named("write", file))
    }

    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read(file).map_err(files::named("read", file))?;
        serde_json::from_slice(&text).map_err(|error| files::named("read", file)(error.into()))
    }

    /// Whether a superuser alone may make an object.
    pub(super) fn is_of_superusers(&self, catalog: u32, object: u32) -> bool {
        let mut all = self.of_superusers.iter();
        all.any(|of| (of.catalog, of.object) == (catalog, object))
    }

    /// Gives what the superuser made to the owner, as far as that has no more rights by it: tables of
    /// extensions, whose rows are copied, and functions. Those that are not for everybody, such as of
    /// languages that reach the whole machine, are for nobody here.
    pub(super) fn hand_over(&self, session: &mut Session) -> Result<()> {
        let owner = Role::Owner.name();
        let mut statements = Vec::new();
        for of in &self.of_superusers {
            let Some(function) = &of.function else {
                continue;
            };
            let there = format!("SELECT to_regprocedure({})", quoted(function));
            if session.one(&there)?.is_none() {
                continue;
            }
            statements.push(match of.is_public {
                true => format!("ALTER ROUTINE {function} OWNER TO {owner}"),
                false => format!("REVOKE EXECUTE ON ROUTINE {function} FROM PUBLIC"),
            });
        }
        let tables = session.texts(
            "SELECT c.oid::regclass::text, c.relkind::text FROM pg_class AS c \
             JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid \
             WHERE d.deptype = 'e' AND c.relkind IN ('r', 'p', 'm', 'v', 'S') \
               AND c.relowner = current_user::regrole",
        )?;
        for row in tables {
            let [Some(table), Some(kind)] = <[_; 2]>::try_from(row).unwrap_or_default() else {
                continue;
            };
            statements.push(match kind.as_str() {
                "v" | "S" => format!("GRANT ALL ON {table} TO {owner}"),
                _ => format!("ALTER TABLE {table} OWNER TO {owner}"),
            });
        }
        let schemas = session.texts(
            "SELECT n.oid::regnamespace::text FROM pg_namespace AS n JOIN pg_depend AS d \
             ON d.classid = 'pg_namespace'::regclass AND d.objid = n.oid WHERE d.deptype = 'e'",
        )?;
        for schema in schemas.into_iter().flatten().flatten() {
            statements.push(format!("GRANT ALL ON SCHEMA {schema} TO {owner}"));
        }
        for sql in statements {
            session.simple(&sql)?;
        }
        Ok(())
    }

    /// Forgets what the schema's code may have set for the owner's sessions, and keeps what it says
    /// to the server's log, which may be values of rows, out of that.
    pub(super) fn settle_owner(session: &mut Session) -> Result<()> {
        let owner = Role::Owner.name();
        for sql in [
            format!("ALTER ROLE {owner} RESET ALL"),
            format!("ALTER ROLE {owner} IN DATABASE {DATABASE} RESET ALL"),
            format!("ALTER ROLE {owner} SET log_min_messages = panic"),
        ] {
            session.simple(&sql)?;
        }
        Ok(())
    }

    /// Makes the server's database anew with them, and its owner.
    ///
    /// # Errors
    /// Where the server does not have such an order of texts.
    pub(super) fn apply(&self, server: &Started) -> Result<()> {
        let mut session = server.connect_to_template()?;
        let owner = Role::Owner.name();
        let mut create = format!(
            "CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING {} LC_COLLATE {} LC_CTYPE {}",
            quoted(&self.encoding),
            quoted(&self.collate),
            quoted(&self.ctype)
        );
        if let (Some("i"), Some(locale)) = (self.provider.as_deref(), &self.locale) {
            create += &format!(" LOCALE_PROVIDER icu ICU_LOCALE {}", quoted(locale));
        }
        session.simple(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        let there = format!("SELECT 1 FROM pg_roles WHERE rolname = {}", quoted(owner));
        if session.one(&there)?.is_none() {
            session.simple(&format!("CREATE ROLE {owner} LOGIN"))?;
        }
        session.simple(&create)?;
        for (name, value) in &self.settings {
            // What a server of another version does not have is left out.
            let set = format!("ALTER DATABASE {DATABASE} SET {name} = {}", quoted(value));
            match session.simple(&set) {
                Err(lost @ ConnectionError::Lost(_)) => return Err(lost.into()),
                _set_or_not => {}
            }
        }
        let path: Vec<String> = names(&self.search_path)
            .iter()
            .map(|name| quoted(name))
            .collect();
        let path = match path.is_empty() {
            true => "''".to_owned(),
            false => path.join(", "),
        };
        session.simple(&format!(
            "ALTER DATABASE {DATABASE} SET search_path = {path}"
        ))?;
        // Who owns a database may change its settings, which are those of all sessions.
        session.simple(&format!("GRANT ALL ON DATABASE {DATABASE} TO {owner}"))?;
        let mut session = server.connect_beside()?;
        session.simple(&format!("ALTER SCHEMA public OWNER TO {owner}"))?;
        let version = session.one("SHOW server_version_num")?;
        if version.and_then(|number| number.parse().ok()).unwrap_or(0) >= 150_000 {
            session.simple(&format!("GRANT SET ON PARAMETER {SETTABLE} TO {owner}"))?;
        }
        Self::settle_owner(&mut session)
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The names in a list, such as `"$user", public`, without what quotes them.
pub(super) fn names(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut is_quoted = false;
    let mut was_quoted = false;
    let mut characters = list.chars().peekable();
    let mut end = |name: &mut String, was_quoted: &mut bool| {
        let plain = std::mem::take(name);
        let plain = match std::mem::take(was_quoted) {
            true => plain,
            false => plain.trim().to_lowercase(),
        };
        if !plain.is_empty() {
            names.push(plain);
        }
    };
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                name.push('"');
            }
            '"' => {
                if !is_quoted {
                    name.clear();
                }
                is_quoted = !is_quoted;
                was_quoted = true;
            }
            ',' if !is_quoted => end(&mut name, &mut was_quoted),
            other if is_quoted || !was_quoted => name.push(other),
            // Blanks behind a quoted name.
            _ => {}
        }
    }
    end(&mut name, &mut was_quoted);
    names
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

    use octavo_units::PageSize;

    use super::{
        super::super::{cluster::Cluster, programs::installed},
        *,
    };

    #[test]
    fn search_paths_are_lists_of_names() {
        for (list, wanted) in [
            ("\"$user\", public", &["$user", "public"][..]),
            ("$user,public", &["$user", "public"]),
            ("\"a, b\" , \"C\"\"d\",e", &["a, b", "C\"d", "e"]),
            ("\"\"", &[]),
            ("", &[]),
        ] {
            assert_eq!(names(list), wanted, "{list}");
        }
    }

    #[test]
    fn an_order_that_is_not_there_leaves_that_of_bytes() {
        let Some((_, programs)) = installed() else {
            eprintln!("skipped: PostgreSQL is not installed");
            return;
        };
        let home = tempfile::tempdir().unwrap();
        std::fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
        let cluster = Cluster::new(home.path(), programs).unwrap();
        cluster.create(PageSize::kib(8), &mut || false).unwrap();
        let server = cluster.start(&[("fsync", "off".into())], None).unwrap();
        let setup: Setup = serde_json::from_str(
            r#"{"encoding": "LATIN1", "collate": "xx_XX.ISO-8859-1", "ctype": "xx_XX.ISO-8859-1",
                "search_path": "\"$user\", \"a, b\"", "of_superusers": [],
                "settings": [["work_mem", "7MB"], ["no_such_setting", "1"]]}"#,
        )
        .unwrap();
        let setup = setup.for_user("anna");
        setup.apply(&server).unwrap_err();
        assert_eq!(setup.order(), "xx_XX.ISO-8859-1");
        setup.by_bytes().apply(&server).unwrap();
        let mut session = server.connect(&[]).unwrap();
        let mut ask = |question: &str| session.one(question).unwrap().unwrap();
        assert_eq!(ask("SHOW work_mem"), "7MB");
        assert_eq!(ask("SHOW server_encoding"), "LATIN1");
        assert_eq!(ask("SHOW search_path"), "anna, \"a, b\"");
    }
}
