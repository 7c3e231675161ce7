//! A TIFF by hand: tags and strips in either byte order, classic or big, and a folder that goes when it is dropped.
#![allow(clippy::unwrap_used, dead_code)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Clone)]
pub struct Tiff {
    pub big_endian: bool,
    pub bigtiff: bool,
    pub tags: Vec<(u16, Vec<u32>)>,
    pub chunks: Vec<Vec<u8>>,
}

impl Tiff {
    /// An 8-bit raster, strips of its full width.
    pub fn new(width: u32, height: u32, chunks: Vec<Vec<u8>>) -> Self {
        let tags = vec![(256, vec![width]), (257, vec![height]), (258, vec![8]), (259, vec![1])];
        Self { big_endian: false, bigtiff: false, tags, chunks }
    }

    pub fn with(mut self, tag: u16, values: &[u32]) -> Self {
        self.tags.retain(|known| known.0 != tag);
        self.tags.push((tag, values.to_vec()));
        self
    }

    pub fn number(&self, value: u64, size: usize) -> Vec<u8> {
        if self.big_endian { value.to_be_bytes()[8 - size..].to_vec() } else { value.to_le_bytes()[..size].to_vec() }
    }

    /// The file: header, pixels, values that do not fit an entry, directory.
    pub fn bytes(&self) -> Vec<u8> {
        let word = if self.bigtiff { 8 } else { 4 };
        let mut body = vec![0; if self.bigtiff { 16 } else { 8 }];
        let mut places = Vec::new();
        for chunk in &self.chunks {
            places.push(if chunk.is_empty() { 0 } else { body.len() as u32 });
            body.extend(chunk);
        }
        let tiled = self.tags.iter().any(|tag| tag.0 == 322);
        let lengths = self.chunks.iter().map(|chunk| chunk.len() as u32).collect();
        let mut tags = self.tags.clone();
        tags.extend(if tiled { [(324, places), (325, lengths)] } else { [(273, places), (279, lengths)] });
        tags.sort();
        let mut table = self.number(tags.len() as u64, if self.bigtiff { 8 } else { 2 });
        for (tag, values) in &tags {
            let mut content: Vec<u8> = values.iter().flat_map(|value| self.number((*value).into(), 4)).collect();
            if content.len() > word {
                let place = self.number(body.len() as u64, word);
                body.extend(std::mem::replace(&mut content, place));
            }
            content.resize(word, 0);
            table.extend([self.number((*tag).into(), 2), self.number(4, 2), self.number(values.len() as u64, word), content].concat());
        }
        table.extend(vec![0; word]);
        let at = self.number(body.len() as u64, word);
        let order: &[u8] = if self.big_endian { b"MM" } else { b"II" };
        let head = if self.bigtiff {
            [order, &self.number(43, 2), &self.number(8, 2), &self.number(0, 2), &at].concat()
        } else {
            [order, &self.number(42, 2), &at].concat()
        };
        body[..head.len()].copy_from_slice(&head);
        body.extend(table);
        body
    }
}

pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let name = format!("earthrecord-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
