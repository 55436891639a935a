//! What database servers have in common: programs that are started in
//! Octavo's own directories as another user, held to a limit of memory, and
//! ended whatever happens.
