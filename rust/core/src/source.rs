//! A file that is read in pieces; nothing is allocated that the file does not hold.

use crate::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const HEAD: u64 = 8192;

pub struct Source {
    pub path: PathBuf,
    pub len: u64,
    file: File,
    head: Vec<u8>,
}

impl Source {
    pub fn open(path: &Path) -> Result<Self> {
        let (file, len) = open(path)?;
        let mut source = Self { path: path.into(), len, file, head: Vec::new() };
        source.head = source.read_file(0, source.len.min(HEAD))?;
        Ok(source)
    }

    /// The first bytes of the file.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Where `count` bytes at `offset` end; an error where the file ends before.
    pub fn check(&self, offset: u64, count: u64) -> Result<u64> {
        offset.checked_add(count).filter(|end| *end <= self.len).ok_or_else(|| {
            let what = format!("cut short: {count} bytes are due at {offset}, the file ends at {}; get it again", self.len);
            Error::unreadable(&self.path, what)
        })
    }

    /// `count` bytes at `offset`.
    pub fn read(&self, offset: u64, count: u64) -> Result<Vec<u8>> {
        let end = self.check(offset, count)?;
        if end <= self.head.len() as u64 {
            return Ok(self.head[offset as usize..end as usize].to_vec());
        }
        self.read_file(offset, count)
    }

    fn read_file(&self, offset: u64, count: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        resize(&mut bytes, count as usize).map_err(|what| Error::unsupported(&self.path, what))?;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| could_not(&self.path, "read", &error))?;
        Ok(bytes)
    }
}

/// A file and its length; folders and pipes are none (a pipe would wait for a writer for ever).
pub fn open(path: &Path) -> Result<(File, u64)> {
    let failed = |error: std::io::Error| could_not(path, "open", &error);
    let meta = path.metadata().map_err(failed)?;
    if meta.is_dir() {
        return Err(Error::unreadable(path, "is a folder, not a file; name the file in it"));
    }
    if !meta.is_file() {
        return Err(Error::unreadable(path, "is a pipe or a device, not a file; copy what it gives into a file"));
    }
    Ok((File::open(path).map_err(failed)?, meta.len()))
}

/// Give a buffer `size` bytes; an error, not the end of the process, where memory lacks them.
pub fn resize(bytes: &mut Vec<u8>, size: usize) -> std::result::Result<(), String> {
    let more = size.saturating_sub(bytes.len());
    bytes.try_reserve_exact(more).map_err(|_| format!("needs {size} bytes at once, more than memory has; read a smaller window"))?;
    bytes.resize(size, 0);
    Ok(())
}

pub fn could_not(path: &Path, what: &str, error: &std::io::Error) -> Error {
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    let damaged = || format!("could not {what} it: {error}; check the disk and the permissions");
    Error::unreadable(path, if missing { "does not exist; get it, or search again if it moved".into() } else { damaged() })
}

/// What a file that is no TIFF looks like, and what to do, in words.
pub fn looks_like(head: &[u8]) -> (&'static str, &'static str) {
    const AGAIN: &str = "get it again";
    const NAME: &str = "name it as what it is";
    let text: Vec<u8> = head.iter().take(64).map(u8::to_ascii_lowercase).collect();
    let trimmed = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text).trim_ascii_start();
    let starts = |sign: &[u8]| head.starts_with(sign);
    if head.is_empty() {
        ("empty (0 bytes)", AGAIN)
    } else if trimmed.starts_with(b"<!doctype html") || trimmed.starts_with(b"<html") {
        ("a web page, perhaps a login form", "sign in and get it again")
    } else if trimmed.starts_with(b"<") {
        ("an XML text, perhaps a server's error message", AGAIN)
    } else if trimmed.starts_with(b"{") || trimmed.starts_with(b"[") {
        ("a JSON text, perhaps a server's error message", AGAIN)
    } else if starts(b"version https://git-lfs") {
        ("a Git LFS pointer, not the file itself", "bring the file with git lfs pull")
    } else if starts(b"PK\x03\x04") {
        ("a zip archive", "unpack it")
    } else if starts(b"\x1f\x8b") {
        ("a gzip archive", "unpack it")
    } else if starts(b"\x0e\x03\x13\x01") {
        ("an HDF4 file", NAME)
    } else if starts(b"\x89HDF") {
        ("an HDF5 or netCDF-4 file", NAME)
    } else if starts(b"CDF") {
        ("a netCDF file", NAME)
    } else if starts(b"\x00\x00\x00\x0cjP") || starts(b"\xff\x4f\xff\x51") {
        ("a JPEG 2000 file", NAME)
    } else if starts(b"\xff\xd8\xff") || starts(b"\x89PNG") {
        ("a JPEG or PNG picture", AGAIN)
    } else if head.iter().take(64).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        ("a text", AGAIN)
    } else if head.iter().all(|byte| *byte == 0) {
        ("zeros, as an interrupted download leaves them", AGAIN)
    } else {
        ("something else", AGAIN)
    }
}
