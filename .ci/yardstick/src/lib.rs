//! Nothing: the dependency is what takes the time.
