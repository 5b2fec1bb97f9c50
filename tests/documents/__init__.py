"""Every command that a document or a help text shows, typed as it stands."""
