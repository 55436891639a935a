//! No modules of a crate import each other in a circle: no files, and no folders.
//!
//! A circle ties files together: none of them can be read, tested or moved
//! alone. Folders at the top of a crate are its rooms, and a file there is one of its own.
//! This reads the sources of all crates and follows paths (`use` and in
//! code) from file to file, through re-exports to where an item is defined, so
//! that a parent that only declares and re-exports its children is in no circle
//! with them. A child that uses an item which its parent defines, while the
//! parent's own code uses the child, is in one. Tests are left out.
//!
//! Not followed: methods (they have no path), macros' expansions, and paths
//! through types.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs,
    path::Path,
};

#[test]
fn modules_form_no_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut refused = Vec::new();
    for entry in fs::read_dir(&crates).expect("the directory of all crates") {
        let name = entry.expect("a crate").file_name();
        let name = name.to_str().expect("a crate's name is ASCII");
        let mut files = BTreeMap::new();
        read(&crates.join(name).join("src"), "", &mut files);
        for circle in circles(&files).into_iter().chain(circles_of_rooms(&files)) {
            refused.push(format!("{name}/src: {}", circle.join(", ")));
        }
    }
    assert!(
        refused.is_empty(),
        "{} circles of modules in crates/:\n{}\n",
        refused.len(),
        refused.join("\n")
    );
}

/// All sources below a directory, by their paths from it.
fn read(directory: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let entry = entry.expect("a source");
        let name = entry.file_name().into_string().expect("ASCII names");
        let path = entry.path();
        if path.is_dir() {
            read(&path, &format!("{prefix}{name}/"), files);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).expect("sources are UTF-8");
            files.insert(format!("{prefix}{name}"), text);
        }
    }
}

/// A module's place in its crate: none for the root.
type Place = Vec<String>;

/// A path as it was written, and the module that it was written in.
struct Written {
    from: Place,
    segments: Vec<String>,
}

#[derive(Default)]
struct Module {
    file: String,
    defined: HashSet<String>,
    /// Names that `use` brings, and the paths that they stand for.
    imported: HashMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

#[derive(Default)]
struct Crate {
    modules: HashMap<Place, Module>,
    tests: HashSet<Place>,
    paths: Vec<Written>,
}

/// Which files import which.
fn imports(files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut whole = Crate::default();
    for (file, text) in files {
        // Of a package with a library and a program, the library.
        if file == "main.rs" && files.contains_key("lib.rs") {
            continue;
        }
        whole.parse(file, &tokens(text));
    }
    let is_test =
        |place: &Place| (0..=place.len()).any(|length| whole.tests.contains(&place[..length]));
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Written { from, segments } in &whole.paths {
        let Some(to) = whole.resolve(from, segments, &mut HashSet::new()) else {
            continue;
        };
        let (source, target) = (&whole.modules[from].file, &whole.modules[&to].file);
        if source != target && !is_test(from) && !is_test(&to) {
            let targets = arrows.entry(source.clone()).or_default();
            targets.insert(target.clone());
        }
    }
    arrows
}

/// Files that import each other, each circle sorted.
fn circles(files: &BTreeMap<String, String>) -> Vec<Vec<String>> {
    circles_of(&imports(files))
}

/// Folders and files at the top of a crate that import each other, each circle sorted.
fn circles_of_rooms(files: &BTreeMap<String, String>) -> Vec<Vec<String>> {
    let room = |file: &str| {
        let top = file.split('/').next().unwrap_or(file);
        top.trim_end_matches(".rs").to_owned()
    };
    let is_root = |room: &str| matches!(room, "lib" | "main");
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (source, targets) in imports(files) {
        let source = room(&source);
        let targets = targets.iter().map(|target| room(target));
        let targets = targets.filter(|target| *target != source && !is_root(target));
        arrows.entry(source.clone()).or_default().extend(targets);
    }
    arrows.retain(|room, _| !is_root(room));
    circles_of(&arrows)
}

fn circles_of(arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach = |start: &str| {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(file) = open.pop() {
            for next in arrows.get(file).into_iter().flatten() {
                if reached.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> = arrows
        .keys()
        .map(|file| (file.as_str(), reach(file)))
        .collect();
    let mut circles = BTreeSet::new();
    for (file, others) in reached.iter().filter(|(file, all)| all.contains(*file)) {
        let back = |other: &&&str| reached.get(**other).is_some_and(|all| all.contains(file));
        let circle: Vec<String> = others
            .iter()
            .filter(back)
            .map(|name| name.to_string())
            .collect();
        circles.insert(circle);
    }
    circles.into_iter().collect()
}

impl Crate {
    /// The module that defines what a path names; `None` for a module itself,
    /// and for what is of another crate.
    fn resolve(
        &self,
        from: &[String],
        segments: &[String],
        asked: &mut HashSet<(Place, String)>,
    ) -> Option<Place> {
        let (first, mut rest) = segments.split_first()?;
        let mut place = from.to_vec();
        match first.as_str() {
            "crate" => place.clear(),
            "self" => {}
            "super" => {
                place.pop()?;
            }
            _ => rest = segments,
        }
        let mut anchored = rest.len() < segments.len();
        while let Some((name, after)) = rest.split_first() {
            if anchored && name == "super" {
                place.pop()?;
                rest = after;
                continue;
            }
            let module = self.modules.get(&place)?;
            place.push(name.clone());
            if self.modules.contains_key(&place) {
                anchored = true;
                rest = after;
                continue;
            }
            place.pop();
            if module.defined.contains(name) {
                return Some(place);
            }
            // Each name is asked for once a module: modules may re-export each
            // other.
            if !asked.insert((place.clone(), name.clone())) {
                return None;
            }
            if let Some(path) = module.imported.get(name) {
                let path = [path.as_slice(), after].concat();
                return self.resolve(&place, &path, asked);
            }
            return module.globs.iter().find_map(|glob| {
                let path = [glob.as_slice(), rest].concat();
                self.resolve(&place, &path, asked)
            });
        }
        None
    }

    fn parse(&mut self, file: &str, tokens: &[String]) {
        let stem = file.trim_end_matches(".rs");
        let stem = stem.strip_suffix("/mod").unwrap_or(stem);
        let mut place: Place = match stem {
            "lib" | "main" | "mod" => Vec::new(),
            _ => stem.split('/').map(str::to_owned).collect(),
        };
        self.enter(&place, file);
        // What each open brace is: a module or not.
        let mut braces = Vec::new();
        // Names that are re-exported, and used only if they are named again.
        let mut exported: Vec<(Place, String, Vec<String>)> = Vec::new();
        let mut named = HashSet::new();
        let mut public = false;
        let mut index = 0;
        while let Some(token) = tokens.get(index) {
            let next = |ahead: usize| tokens.get(index + ahead).map_or("", String::as_str);
            match token.as_str() {
                "#" if is_test(&tokens[index..]) => {
                    let end = item_end(tokens, index);
                    if let Some(at) = tokens[index..end].iter().position(|token| token == "mod") {
                        let name = tokens[index + at + 1].clone();
                        self.tests.insert([place.as_slice(), &[name]].concat());
                    }
                    index = end;
                    continue;
                }
                "pub" => {
                    public = true;
                    index += 1;
                    if tokens.get(index).is_some_and(|token| token == "(") {
                        index = closing(tokens, index) + 1;
                    }
                    continue;
                }
                "use" => {
                    let mut trees = Vec::new();
                    index = tree(tokens, index + 1, &[], &mut trees);
                    for (path, name) in trees {
                        let module = self.modules.get_mut(&place).expect("it was entered");
                        match name {
                            None => module.globs.push(path.clone()),
                            Some(name) => {
                                module.imported.insert(name.clone(), path.clone());
                                if public {
                                    exported.push((place.clone(), name, path));
                                    continue;
                                }
                            }
                        }
                        self.paths.push(Written {
                            from: place.clone(),
                            segments: path,
                        });
                    }
                    public = false;
                    continue;
                }
                "mod" if next(2) == "{" => {
                    place.push(next(1).to_owned());
                    self.enter(&place, file);
                    braces.push(true);
                    index += 3;
                    continue;
                }
                "{" => braces.push(false),
                "}" if braces.pop() == Some(true) => {
                    place.pop();
                }
                // Not what is local to a function or belongs to a type.
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union"
                    if is_name(next(1)) && braces.last() != Some(&false) =>
                {
                    let module = self.modules.get_mut(&place).expect("it was entered");
                    module.defined.insert(next(1).to_owned());
                }
                _ => {}
            }
            public = false;
            if is_name(token) && (index == 0 || ![".", "::"].contains(&tokens[index - 1].as_str()))
            {
                let mut segments = vec![token.clone()];
                while tokens.get(index + 1).is_some_and(|token| token == "::")
                    && tokens.get(index + 2).is_some_and(|token| is_name(token))
                {
                    segments.push(tokens[index + 2].clone());
                    index += 2;
                }
                named.insert((place.clone(), segments[0].clone()));
                if segments.len() > 1 {
                    self.paths.push(Written {
                        from: place.clone(),
                        segments,
                    });
                }
            }
            index += 1;
        }
        for (from, name, segments) in exported {
            if named.contains(&(from.clone(), name)) {
                self.paths.push(Written { from, segments });
            }
        }
    }

    fn enter(&mut self, place: &Place, file: &str) {
        let module = self.modules.entry(place.clone()).or_default();
        module.file = file.to_owned();
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// Whether an attribute keeps what follows for tests.
fn is_test(tokens: &[String]) -> bool {
    let attribute = &tokens[..=closing(tokens, 1).min(tokens.len() - 1)];
    attribute.get(2).is_some_and(|name| name == "cfg")
        && attribute.iter().any(|token| token == "test")
        && !attribute.iter().any(|token| token == "not")
}

/// The index of the token that closes what opens at `index`.
fn closing(tokens: &[String], index: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(index) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// The index after the item whose first attribute is at `index`.
fn item_end(tokens: &[String], mut index: usize) -> usize {
    while tokens.get(index).is_some_and(|token| token == "#") {
        index = closing(tokens, index + 1) + 1;
    }
    let is_use = tokens[index..].iter().take(6).any(|token| token == "use");
    while let Some(token) = tokens.get(index) {
        match token.as_str() {
            ";" => return index + 1,
            // The end of what a field, a variant or a last expression is in.
            "}" => return index,
            "{" if !is_use => return closing(tokens, index) + 1,
            "(" | "[" | "{" => index = closing(tokens, index),
            _ => {}
        }
        index += 1;
    }
    index
}

/// A path of a `use` and the name that it brings, `None` for all names.
type Imported = (Vec<String>, Option<String>);

/// Reads a tree of `use` and gives the index after it.
fn tree(
    tokens: &[String],
    mut index: usize,
    prefix: &[String],
    found: &mut Vec<Imported>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        let token = tokens.get(index).map_or(";", String::as_str);
        index += 1;
        match token {
            "::" => {}
            "{" => {
                while tokens.get(index).is_some_and(|token| token != "}") {
                    index = tree(tokens, index, &path, found);
                }
                // Past the brace, and the comma or semicolon after it.
                return index + 1 + usize::from(tokens.get(index + 1).is_some_and(|t| t == ","));
            }
            "*" => {
                found.push((path.clone(), None));
            }
            "as" => {
                found.push((path.clone(), tokens.get(index).cloned()));
                return index + 1 + usize::from(tokens.get(index + 1).is_some_and(|t| t == ","));
            }
            "," | ";" | "}" => {
                let is_glob = tokens[index - 2] == "*";
                if !is_glob && path.len() > prefix.len() {
                    let name = path.last().cloned();
                    found.push((path, name));
                }
                return index - usize::from(token == "}");
            }
            // `a::{self}` is `a`.
            "self" if !path.is_empty() => {
                let name = path.last().cloned();
                found.push((path.clone(), name));
                while ![",", "}", ";"].contains(&tokens.get(index).map_or(";", String::as_str)) {
                    index += 1;
                }
                return index + usize::from(tokens.get(index).is_some_and(|t| t == ","));
            }
            name => path.push(name.to_owned()),
        }
    }
}

/// Names, `::` and single characters; comments and texts are left out.
fn tokens(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut tokens = Vec::new();
    let mut index = 0;
    while index < bytes.len() {
        let start = index;
        match at(index) {
            b'/' if at(index + 1) == b'/' => {
                while index < bytes.len() && at(index) != b'\n' {
                    index += 1;
                }
            }
            b'/' if at(index + 1) == b'*' => {
                let mut depth = 0;
                while index < bytes.len() {
                    match (at(index), at(index + 1)) {
                        (b'/', b'*') => depth += 1,
                        (b'*', b'/') => depth -= 1,
                        _ => {
                            index += 1;
                            continue;
                        }
                    }
                    index += 2;
                    if depth == 0 {
                        break;
                    }
                }
            }
            b'"' => {
                index += 1;
                while index < bytes.len() && at(index) != b'"' {
                    index += 1 + usize::from(at(index) == b'\\');
                }
                index += 1;
            }
            b'\'' => {
                // A character ends in a quote, a lifetime does not.
                let character = text[index + 1..].chars().next().map_or(1, char::len_utf8);
                if at(index + 1) == b'\\' {
                    index += 3;
                    while index < bytes.len() && at(index) != b'\'' {
                        index += 1;
                    }
                    index += 1;
                } else if at(index + 1 + character) == b'\'' {
                    index += 2 + character;
                } else {
                    index += 1;
                    while is_word(at(index)) {
                        index += 1;
                    }
                }
            }
            b':' if at(index + 1) == b':' => {
                tokens.push("::".to_owned());
                index += 2;
            }
            byte if is_word(byte) => {
                while is_word(at(index)) {
                    index += 1;
                }
                let word = &text[start..index];
                let hashes = bytes[index..]
                    .iter()
                    .take_while(|byte| **byte == b'#')
                    .count();
                let raw = matches!(word, "r" | "br" | "cr") && at(index + hashes) == b'"';
                if raw {
                    let end = format!("\"{}", "#".repeat(hashes));
                    let from = index + hashes + 1;
                    index = text[from..]
                        .find(&end)
                        .map_or(bytes.len(), |found| from + found + end.len());
                } else if !(matches!(word, "b" | "c") && at(index) == b'"') {
                    tokens.push(word.to_owned());
                }
            }
            byte if byte.is_ascii_whitespace() || !byte.is_ascii() => index += 1,
            byte => {
                tokens.push(char::from(byte).to_string());
                index += 1;
            }
        }
    }
    tokens
}

fn sources(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    circles(&sources(files))
}

#[test]
fn folders_whose_files_use_each_others_are_a_circle() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a/mod.rs", "mod one; mod two; pub use one::One;"),
        ("a/one.rs", "pub struct One(crate::b::B);"),
        ("a/two.rs", "pub struct Two;"),
        ("b.rs", "pub struct B; "),
        ("c.rs", "use crate::{a::One, b::B};"),
    ];
    assert!(circles_of_rooms(&sources(&files)).is_empty());
    let mut tied = files;
    tied[4].1 = "pub struct B; fn f(_: crate::a::two::Two) {}";
    assert!(found(&tied).is_empty());
    assert_eq!(circles_of_rooms(&sources(&tied)), [["a", "b"]]);
}

#[test]
fn siblings_that_use_each_other_are_a_circle() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        (
            "a.rs",
            "use crate::b::{self, B as Other}; pub struct A(Other);",
        ),
        ("b/mod.rs", "mod deep; use deep::Deep; pub struct B(Deep);"),
        (
            "b/deep.rs",
            "pub struct Deep; fn f() { super::super::c::g::<u8>() }",
        ),
        ("c.rs", "pub fn g<T>() { let _ = crate::a::A; }"),
    ];
    assert_eq!(found(&files), [["a.rs", "b/deep.rs", "b/mod.rs", "c.rs"]]);
}

#[test]
fn a_child_that_uses_its_parents_items_is_in_a_circle_if_the_parent_uses_it() {
    let child = ("a/child.rs", "use super::Limit; pub fn f(_: Limit) {}");
    let of = |parent| found(&[("lib.rs", "pub mod a;"), ("a.rs", parent), child]);
    let circle = [["a.rs", "a/child.rs"]];
    assert_eq!(
        of("mod child; pub struct Limit; fn g() { child::f(Limit) }"),
        circle
    );
    assert_eq!(of("mod child; use child::f; pub struct Limit;"), circle);
    assert_eq!(
        of("mod child; pub use child::f; pub struct Limit; fn g() { f(Limit) }"),
        circle
    );
    // It only declares and re-exports the child.
    assert_eq!(
        of("mod child; pub use child::f; pub struct Limit;"),
        Vec::<Vec<String>>::new()
    );
}

#[test]
fn a_child_may_use_another_through_a_parent_that_re_exports_it() {
    let files = [
        ("lib.rs", "pub mod a; pub use a::{B, C};"),
        (
            "a/mod.rs",
            "mod b; mod c; pub use self::{b::*, c::C}; fn f() -> C { C }",
        ),
        ("a/b.rs", "pub struct B;"),
        ("a/c.rs", "use super::B; pub struct C; type D = crate::B;"),
    ];
    assert!(found(&files).is_empty());
}

#[test]
fn tests_comments_and_texts_are_no_imports() {
    let files = [
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod helpers;"),
        (
            "a.rs",
            "use crate::b::B; pub struct A(B); pub const Q: char = '\"';",
        ),
        (
            "b.rs",
            "// use crate::a::A;\n/* crate::a::A */ pub struct B; const T: &str = r#\"crate::a::A\"#;\n\
             fn f<'a>(_: &'a str) -> &'a str { \"crate::a::A\" }\n\
             #[cfg(test)] #[rustfmt::skip] mod tests { use crate::a::A; }\n\
             #[cfg(test)] use crate::{a::A};",
        ),
        ("helpers.rs", "use crate::a::A;"),
    ];
    assert!(found(&files).is_empty(), "{:?}", found(&files));
}
