//! Every way in which reading or writing a raster can fail.

use std::path::{Path, PathBuf};

/// A failure that names the file, what was found in it, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Missing, empty, truncated, damaged, or no TIFF at all.
    #[error("{}: {what}", path.display())]
    Unreadable { path: PathBuf, what: String },
    /// A sound TIFF in a form that the core does not read.
    #[error("{}: {what}", path.display())]
    Unsupported { path: PathBuf, what: String },
    /// A raster that could not be written.
    #[error("{}: {what}", path.display())]
    Unwritable { path: PathBuf, what: String },
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn unreadable(path: &Path, what: impl Into<String>) -> Self {
        Self::Unreadable { path: path.into(), what: what.into() }
    }

    pub fn unsupported(path: &Path, what: impl Into<String>) -> Self {
        Self::Unsupported { path: path.into(), what: what.into() }
    }

    pub fn unwritable(path: &Path, what: impl Into<String>) -> Self {
        Self::Unwritable { path: path.into(), what: what.into() }
    }
}
