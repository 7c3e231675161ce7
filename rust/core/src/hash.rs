//! SHA-256 of files and buffers.

use crate::Result;
use crate::source::{could_not, open};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

const BLOCK: usize = 1 << 18;

/// SHA-256 (hex) of a file, read in blocks.
pub fn sha256_file(path: &Path) -> Result<String> {
    let (mut file, _) = open(path)?;
    let (mut hasher, mut block) = (Sha256::new(), vec![0; BLOCK]);
    loop {
        match file.read(&mut block).map_err(|error| could_not(path, "read", &error))? {
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
