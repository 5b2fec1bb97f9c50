//! Values that are omitted when a configuration is written.

/// Whether a value is its type's default.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
