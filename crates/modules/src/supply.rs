//! The modules of a run: compiled once in a process, loaded once in a run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use registry::Choice;
use tcp::congestion::{CongestionControl, Module};

use crate::compile::{Plugin, compile};
use crate::control::ModuleControl;
use crate::error::ModuleError;
use crate::library::Library;
use crate::mistakes::Mistakes;

/// Gives every choice of the entry `linux` its module, loaded for this run alone.
///
/// # Errors
/// A module cannot be compiled or loaded.
pub fn supply<'a>(
    choices: impl Iterator<Item = &'a mut Choice<dyn CongestionControl>>,
    mistakes: &Arc<Mistakes>,
) -> Result<(), ModuleError> {
    let mut loaded: Vec<(Module, Arc<Library>)> = Vec::new();
    for choice in choices {
        let Some(module) = Module::of(choice) else { continue };
        let library = match loaded.iter().find(|(known, _)| *known == module) {
            Some((_, library)) => Arc::clone(library),
            None => Arc::new(Library::load(&compiled(&module)?, &module.parameters)?),
        };
        loaded.push((module, Arc::clone(&library)));
        let mistakes = Arc::clone(mistakes);
        choice.supply(move || Box::new(ModuleControl::new(&library, &mistakes)));
    }
    Ok(())
}

/// A module's plug-in. The same text gives the same plug-in, and is compiled once in a process: a study has thousands
/// of runs.
fn compiled(module: &Module) -> Result<Plugin, ModuleError> {
    type Texts = (String, String, BTreeMap<String, String>);
    static COMPILED: OnceLock<Mutex<BTreeMap<Texts, Plugin>>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(Mutex::default);
    let key = (module.file.clone(), module.state.clone(), module.sources.clone());
    let mut compiled = compiled.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(plugin) = compiled.get(&key) {
        return Ok(plugin.clone());
    }
    let plugin = compile(module)?;
    compiled.insert(key, plugin.clone());
    Ok(plugin)
}
