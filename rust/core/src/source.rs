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
        let file = File::open(path).map_err(|error| Error::unreadable(path, could_not("open", &error)))?;
        let meta = file.metadata().map_err(|error| Error::unreadable(path, could_not("open", &error)))?;
        if meta.is_dir() {
            return Err(Error::unreadable(path, "is a folder, not a raster; name the file in it"));
        }
        let mut source = Self { path: path.into(), len: meta.len(), file, head: Vec::new() };
        source.head = source.read_file(0, source.len.min(HEAD))?;
        Ok(source)
    }

    /// The first bytes of the file.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// `count` bytes at `offset`; an error where the file ends before.
    pub fn read(&self, offset: u64, count: u64) -> Result<Vec<u8>> {
        let end = offset.checked_add(count).filter(|end| *end <= self.len);
        let Some(end) = end else {
            return Err(Error::unreadable(
                &self.path,
                format!("cut short: {count} bytes are due at {offset}, the file ends at {}; get it again", self.len),
            ));
        };
        if end <= self.head.len() as u64 {
            return Ok(self.head[offset as usize..end as usize].to_vec());
        }
        self.read_file(offset, count)
    }

    fn read_file(&self, offset: u64, count: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count as usize];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| Error::unreadable(&self.path, could_not("read", &error)))?;
        Ok(bytes)
    }
}

fn could_not(what: &str, error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::NotFound {
        return "does not exist; get it, or search again if it moved".into();
    }
    format!("could not {what} it: {error}; check the disk and the permissions")
}

/// What a file that is no TIFF looks like, in words.
pub fn looks_like(head: &[u8]) -> &'static str {
    let text: Vec<u8> = head.iter().take(64).map(u8::to_ascii_lowercase).collect();
    let trimmed: &[u8] = text.trim_ascii_start();
    let starts = |sign: &[u8]| head.starts_with(sign);
    if head.is_empty() {
        "empty (0 bytes)"
    } else if trimmed.starts_with(b"<!doctype html") || trimmed.starts_with(b"<html") {
        "a web page, perhaps a login form"
    } else if trimmed.starts_with(b"<?xml") || trimmed.starts_with(b"<") {
        "an XML text, perhaps a server's error message"
    } else if trimmed.starts_with(b"{") || trimmed.starts_with(b"[") {
        "a JSON text, perhaps a server's error message"
    } else if starts(b"version https://git-lfs") {
        "a Git LFS pointer, not the file itself"
    } else if starts(b"PK\x03\x04") {
        "a zip archive"
    } else if starts(b"\x1f\x8b") {
        "a gzip archive"
    } else if starts(b"\x0e\x03\x13\x01") {
        "an HDF4 file"
    } else if starts(b"\x89HDF") {
        "an HDF5 or netCDF-4 file"
    } else if starts(b"\x00\x00\x00\x0cjP") || starts(b"\xff\x4f\xff\x51") {
        "a JPEG 2000 file"
    } else if starts(b"\xff\xd8\xff") || starts(b"\x89PNG") {
        "a JPEG or PNG picture"
    } else if head.iter().take(64).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        "a text"
    } else if head.iter().all(|byte| *byte == 0) {
        "zeros, as an interrupted download leaves them"
    } else {
        "something else"
    }
}
