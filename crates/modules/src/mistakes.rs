//! The first mistake of any module of a run.

use std::sync::{Mutex, PoisonError};

use crate::error::ModuleError;

/// The first mistake of any module of a run.
#[derive(Debug, Default)]
pub struct Mistakes(Mutex<Option<ModuleError>>);

impl Mistakes {
    /// Fails with the first mistake, if a module has made one.
    ///
    /// # Errors
    /// A module has crashed or did not return.
    pub fn check(&self) -> Result<(), ModuleError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    pub(crate) fn add(&self, mistake: ModuleError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(mistake);
    }
}
