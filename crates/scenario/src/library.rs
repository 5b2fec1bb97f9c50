//! Location of named files: profiles, presets, scenarios and studies, in the folders of a search path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::InputError;
use crate::suggest;
use crate::tree::Tree;

/// Folders that hold `profiles/`, `presets/`, `scenarios/` and `studies/`; earlier ones are searched first. In a
/// browser, which has no folders, texts in memory take their place.
#[derive(Clone, Debug, Default)]
pub struct Search {
    folders: Vec<PathBuf>,
    texts: BTreeMap<PathBuf, &'static str>,
    allows_code: bool,
    read: ReadFiles,
}

/// The files that were read: a file that many scenarios of a study name is read and parsed once.
#[derive(Clone, Debug, Default)]
struct ReadFiles(Arc<Mutex<BTreeMap<PathBuf, Tree>>>);

impl ReadFiles {
    fn tree(&self, file: &Path) -> Result<Tree, InputError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = known.get(file) {
            return Ok(tree.clone());
        }
        let tree = Tree::load(file)?;
        known.insert(file.to_path_buf(), tree.clone());
        Ok(tree)
    }
}

/// A kind of named thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryKind {
    /// A named TCP.
    Profile,
    /// A named link.
    Preset,
    /// A scenario.
    Scenario,
    /// A study: a folder with a `study.toml`.
    Study,
}

impl Search {
    /// Searches these folders, in this order.
    pub fn new(folders: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self { folders: folders.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Searches these texts, by their paths in the library, such as `profiles/reno.toml`.
    pub fn in_memory(texts: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        let texts = texts.into_iter().map(|(path, text)| (PathBuf::from(path), text)).collect();
        Self { texts, ..Self::default() }
    }

    /// A TOML file of the library or of the user, parsed. A search reads each file once.
    pub(crate) fn tree(&self, file: &Path) -> Result<Tree, InputError> {
        self.texts.get(file).map_or_else(|| self.read.tree(file), |text| Tree::parse(file, text))
    }

    pub(crate) fn is_file(&self, file: &Path) -> bool {
        self.texts.contains_key(file) || file.is_file()
    }

    /// The same, where files may bring programs.
    #[must_use]
    pub fn allowing_code(self) -> Self {
        Self { allows_code: true, ..self }
    }

    pub(crate) const fn allows_code(&self) -> bool {
        self.allows_code
    }

    /// The existing names of a kind, sorted.
    #[must_use]
    pub fn names(&self, kind: LibraryKind) -> Vec<String> {
        let in_folders = self.folders.iter().flat_map(|folder| names_in(&folder.join(kind.folder()), kind));
        let in_memory = self.texts.keys().filter(|path| path.starts_with(kind.folder()));
        let stems = in_memory.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
        let mut names: Vec<String> = in_folders.chain(stems).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The file of a name. A text with a slash, or with the ending `.toml`, is a path, relative to `beside`.
    pub(crate) fn find(&self, kind: LibraryKind, name: &str, beside: &Path) -> Option<PathBuf> {
        if is_path(name) {
            return Some(beside.join(name));
        }
        let file = kind.file(name);
        let mut in_folders = self.folders.iter().map(|folder| folder.join(kind.folder()).join(&file));
        let in_memory = Path::new(kind.folder()).join(&file);
        let known = || self.texts.contains_key(&in_memory).then(|| in_memory.clone());
        in_folders.find(|file| file.is_file()).or_else(known)
    }

    /// The file that a user names on the command line: a path to it, or a name.
    pub(crate) fn given(&self, kind: LibraryKind, name: &Path) -> Result<PathBuf, InputError> {
        if name.is_dir() && kind == LibraryKind::Study {
            return Ok(name.join("study.toml"));
        }
        let text = name.to_string_lossy();
        if name.is_file() || is_path(&text) {
            return Ok(name.to_path_buf());
        }
        let missing = || {
            let message = format!("there is no {} of this name", kind.noun());
            InputError::of_file(name, message, self.advice(kind, &text))
        };
        self.find(kind, &text, Path::new("")).ok_or_else(missing)
    }

    /// Advice for an unknown name: the existing ones.
    pub(crate) fn advice(&self, kind: LibraryKind, unknown: &str) -> String {
        let names = self.names(kind);
        let advice = suggest::among(unknown, &names, kind.folder());
        let list = if suggest::are_too_many(&names) {
            format!(" `lasthop list {}` has all;", kind.list())
        } else {
            String::new()
        };
        format!("{advice}{}{list} a path to a file works too", if names.is_empty() { "," } else { ";" })
    }
}

impl LibraryKind {
    /// Its folder.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Profile => "profiles",
            Self::Preset => "presets",
            Self::Scenario => "scenarios",
            Self::Study => "studies",
        }
    }

    /// Its name in `lasthop list`.
    const fn list(self) -> &'static str {
        match self {
            Self::Preset => "links",
            other => other.folder(),
        }
    }

    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Preset => "preset",
            Self::Scenario => "scenario",
            Self::Study => "study",
        }
    }

    fn file(self, name: &str) -> PathBuf {
        match self {
            Self::Study => Path::new(name).join("study.toml"),
            _ => PathBuf::from(format!("{name}.toml")),
        }
    }
}

/// Whether a name is a path: so that "gsm-9600" is looked up and "./gsm-9600.toml" is not.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml")
}

fn names_in(folder: &Path, kind: LibraryKind) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let named = paths.filter_map(|path| match kind {
        LibraryKind::Study => {
            path.join("study.toml").is_file().then(|| path.file_name().map(ToOwned::to_owned))
        }
        _ => (path.extension()? == "toml").then(|| path.file_stem().map(ToOwned::to_owned)),
    });
    named.flatten().map(|name| name.to_string_lossy().into_owned()).collect()
}
