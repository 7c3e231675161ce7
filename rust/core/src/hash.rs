//! SHA-256 of files and buffers.

use crate::{Error, Result};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

const BLOCK: usize = 1 << 18;

/// SHA-256 (hex) of a file, read in blocks.
pub fn sha256_file(path: &Path) -> Result<String> {
    let failed = |error: std::io::Error| Error::unreadable(path, format!("could not be read: {error}"));
    let mut file = File::open(path).map_err(failed)?;
    let (mut hasher, mut block) = (Sha256::new(), vec![0; BLOCK]);
    loop {
        match file.read(&mut block).map_err(failed)? {
            0 => return Ok(hex(&hasher.finalize())),
            count => hasher.update(&block[..count]),
        }
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
