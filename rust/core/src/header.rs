//! Image directories of TIFF and BigTIFF, in either byte order, wherever in the file they stand.

use crate::source::{Source, looks_like};
use crate::{Dtype, Error, Geo, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const MOST_ENTRIES: u64 = 4096;
const MOST_DIRECTORIES: usize = 1024;

/// What the full-resolution image of a TIFF says of itself.
#[derive(Debug, Clone)]
pub struct Header {
    pub path: PathBuf,
    pub file_bytes: u64,
    pub width: u32,
    pub height: u32,
    pub bands: u16,
    pub dtype: Option<Dtype>,
    pub compression: u16,
    pub predictor: u16,
    pub planar: u16,
    pub tile: Option<(u32, u32)>,
    pub rows_per_strip: u32,
    pub big_endian: bool,
    pub bigtiff: bool,
    pub geo: Geo,
    pub nodata: Option<String>,
    pub gdal_metadata: Option<String>,
    pub overviews: usize,
    pub why_not: String,
    pub(crate) offsets: Vec<u64>,
    pub(crate) counts: Vec<u64>,
}

impl Header {
    pub fn compression_name(&self) -> String {
        match self.compression {
            1 => "none".into(),
            5 => "lzw".into(),
            8 | 32946 => "deflate".into(),
            50000 => "zstd".into(),
            code => code.to_string(),
        }
    }

    /// Width and height of a tile, or of a full strip.
    pub(crate) fn chunk(&self) -> (u32, u32) {
        self.tile.unwrap_or((self.width, self.rows_per_strip.min(self.height)))
    }

    /// Tiles or strips across and down.
    pub(crate) fn chunks(&self) -> (u32, u32) {
        let (width, height) = self.chunk();
        (self.width.div_ceil(width), self.height.div_ceil(height))
    }
}

/// Read the header of a file; no pixel is decoded.
pub fn scan(path: &Path) -> Result<Header> {
    parse(&Source::open(path)?)
}

pub(crate) fn parse(source: &Source) -> Result<Header> {
    let mut reader = Reader::new(source)?;
    let mut found: Option<Header> = None;
    let (mut next, mut seen, mut further) = (reader.first()?, HashSet::new(), 0);
    while next != 0 && seen.len() < MOST_DIRECTORIES {
        if !seen.insert(next) {
            return Err(Error::unreadable(&source.path, format!("damaged: its image directories form a loop at {next}; get it again")));
        }
        let (tags, after) = reader.directory(next)?;
        if found.is_none() && tags.number(254).unwrap_or(0) & 1 == 0 {
            found = Some(reader.image(&tags)?);
        } else {
            further += 1;
        }
        next = after;
    }
    let mut header = found.ok_or_else(|| Error::unreadable(&source.path, "holds no image; get it again"))?;
    header.overviews = further;
    Ok(header)
}

struct Reader<'a> {
    source: &'a Source,
    big_endian: bool,
    bigtiff: bool,
}

/// Numbers and texts of one directory by tag.
struct Tags {
    entries: Vec<(u16, Value)>,
}

enum Value {
    Numbers(Vec<u64>),
    Floats(Vec<f64>),
    Bytes(Vec<u8>),
}

impl Tags {
    fn get(&self, tag: u16) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.0 == tag).map(|entry| &entry.1)
    }

    fn number(&self, tag: u16) -> Option<u64> {
        self.numbers(tag).first().copied()
    }

    fn numbers(&self, tag: u16) -> &[u64] {
        match self.get(tag) {
            Some(Value::Numbers(values)) => values,
            _ => &[],
        }
    }

    fn floats(&self, tag: u16) -> &[f64] {
        match self.get(tag) {
            Some(Value::Floats(values)) => values,
            _ => &[],
        }
    }

    fn bytes(&self, tag: u16) -> Option<&[u8]> {
        match self.get(tag) {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    fn text(&self, tag: u16) -> Option<String> {
        let bytes = self.bytes(tag)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

const USED: [u16; 24] = [
    254, 256, 257, 258, 259, 273, 277, 278, 279, 284, 317, 322, 323, 324, 325, 339, 33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113,
];

impl<'a> Reader<'a> {
    fn new(source: &'a Source) -> Result<Self> {
        let (big_endian, bigtiff) = match source.head().first_chunk::<4>() {
            Some(b"II\x2a\x00") => (false, false),
            Some(b"MM\x00\x2a") => (true, false),
            Some(b"II\x2b\x00") => (false, true),
            Some(b"MM\x00\x2b") => (true, true),
            _ => {
                let what = looks_like(source.head());
                return Err(Error::unreadable(&source.path, format!("is {what}, not a TIFF; get it again")));
            }
        };
        Ok(Self { source, big_endian, bigtiff })
    }

    fn damaged(&self, what: impl std::fmt::Display) -> Error {
        Error::unreadable(&self.source.path, format!("damaged: {what}; get it again"))
    }

    fn unsigned(&self, bytes: &[u8]) -> u64 {
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if self.big_endian { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
    }

    fn number(&self, offset: u64, size: u64) -> Result<u64> {
        Ok(self.unsigned(&self.source.read(offset, size)?))
    }

    fn first(&self) -> Result<u64> {
        if !self.bigtiff {
            return self.number(4, 4);
        }
        if self.number(4, 2)? != 8 {
            return Err(self.damaged("a BigTIFF with offsets that are not 8 bytes"));
        }
        self.number(8, 8)
    }

    /// The tags of the directory at `offset`, and where the next one is.
    fn directory(&mut self, offset: u64) -> Result<(Tags, u64)> {
        let (head, size, word) = if self.bigtiff { (8, 20, 8) } else { (2, 12, 4) };
        let count = self.number(offset, head)?;
        if count == 0 || count > MOST_ENTRIES {
            return Err(self.damaged(format_args!("an image directory of {count} entries at {offset}")));
        }
        let table = self.source.read(offset.saturating_add(head), count * size)?;
        let mut entries = Vec::new();
        for entry in table.chunks_exact(size as usize) {
            let tag = self.unsigned(&entry[..2]) as u16;
            if USED.contains(&tag) {
                entries.push((tag, self.value(entry, word as usize)?));
            }
        }
        let next = self.number(offset.saturating_add(head + count * size), word);
        Ok((Tags { entries }, next.unwrap_or(0)))
    }

    fn value(&self, entry: &[u8], word: usize) -> Result<Value> {
        let kind = self.unsigned(&entry[2..4]);
        let count = self.unsigned(&entry[4..4 + word]);
        let size: u64 = match kind {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 | 16..=18 => 8,
            _ => return Ok(Value::Numbers(Vec::new())),
        };
        let total = count.checked_mul(size).ok_or_else(|| self.damaged(format_args!("a tag of {count} values")))?;
        let slot = &entry[4 + word..];
        let bytes = if total <= word as u64 { slot[..total as usize].to_vec() } else { self.source.read(self.unsigned(slot), total)? };
        Ok(match kind {
            1 | 2 | 6 | 7 => Value::Bytes(bytes),
            12 => Value::Floats(bytes.chunks_exact(8).map(|b| f64::from_bits(self.unsigned(b))).collect()),
            _ => Value::Numbers(bytes.chunks_exact(size as usize).map(|b| self.unsigned(b)).collect()),
        })
    }

    fn image(&self, tags: &Tags) -> Result<Header> {
        let side = |tag| tags.number(tag).filter(|n| (1..=i32::MAX as u64).contains(n)).map(|n| n as u32);
        let (Some(width), Some(height)) = (side(256), side(257)) else {
            return Err(self.damaged("an image without width and height"));
        };
        let tile = match (tags.number(322), tags.number(323)) {
            (None, None) => None,
            _ => match (side(322), side(323)) {
                (Some(w), Some(h)) if u64::from(w) * u64::from(h) <= 1 << 30 => Some((w, h)),
                _ => return Err(self.damaged("tiles without a possible size")),
            },
        };
        let bands = tags.number(277).unwrap_or(1);
        if bands == 0 || bands > u64::from(u16::MAX) {
            return Err(self.damaged(format_args!("an image of {bands} bands")));
        }
        let rows = tags.number(278).unwrap_or(u64::from(height)).clamp(1, u64::from(height)) as u32;
        let mut header = Header {
            path: self.source.path.clone(),
            file_bytes: self.source.len,
            width,
            height,
            bands: bands as u16,
            dtype: dtype_of(tags),
            compression: tags.number(259).unwrap_or(1) as u16,
            predictor: tags.number(317).unwrap_or(1) as u16,
            planar: tags.number(284).unwrap_or(1) as u16,
            tile,
            rows_per_strip: rows,
            big_endian: self.big_endian,
            bigtiff: self.bigtiff,
            geo: geo_of(tags),
            nodata: tags.text(42113).map(|text| text.trim().to_owned()),
            gdal_metadata: tags.text(42112),
            overviews: 0,
            why_not: String::new(),
            offsets: tags.numbers(if tile.is_some() { 324 } else { 273 }).to_vec(),
            counts: tags.numbers(if tile.is_some() { 325 } else { 279 }).to_vec(),
        };
        header.why_not = why_not(&header, tags);
        if header.why_not.is_empty() {
            self.check_chunks(&header)?;
        }
        Ok(header)
    }

    fn check_chunks(&self, header: &Header) -> Result<()> {
        let (across, down) = header.chunks();
        let planes = if header.planar == 2 { u64::from(header.bands) } else { 1 };
        let due = u64::from(across) * u64::from(down) * planes;
        let (offsets, counts) = (header.offsets.len() as u64, header.counts.len() as u64);
        if offsets < due || counts < due {
            return Err(self.damaged(format_args!("{due} tiles or strips are due, {} are listed", offsets.min(counts))));
        }
        Ok(())
    }
}

fn dtype_of(tags: &Tags) -> Option<Dtype> {
    let (bits, formats) = (tags.numbers(258), tags.numbers(339));
    let (bit, format) = (*bits.first().unwrap_or(&1), *formats.first().unwrap_or(&1));
    let even = bits.iter().all(|b| *b == bit) && formats.iter().all(|f| *f == format);
    Dtype::from_tiff(format as u16, bit as u16).filter(|_| even)
}

fn geo_of(tags: &Tags) -> Geo {
    let directory = tags.numbers(34735).iter().map(|n| *n as u16).collect();
    let mut geo =
        Geo { transform: None, directory, doubles: tags.floats(34736).to_vec(), ascii: tags.bytes(34737).unwrap_or_default().to_vec() };
    geo.locate(tags.floats(33550), tags.floats(33922), tags.floats(34264));
    geo
}

/// Why the core does not decode an image, in words; empty where it does.
fn why_not(header: &Header, tags: &Tags) -> String {
    let bits = tags.numbers(258).first().copied().unwrap_or(1);
    let size = header.dtype.map_or(0, Dtype::size);
    match (header.compression, header.predictor) {
        _ if header.dtype.is_none() => format!("pixels of {bits} bits in sample format {:?}", tags.numbers(339)),
        (1 | 5 | 8 | 32946 | 50000, 1) => String::new(),
        (5 | 8 | 32946 | 50000, 2) => String::new(),
        (5 | 8 | 32946 | 50000, 3) if header.dtype.is_some_and(Dtype::is_float) && size >= 4 => String::new(),
        (1, _) => String::new(),
        (5 | 8 | 32946 | 50000, predictor) => format!("predictor {predictor}"),
        (6 | 7, _) => "JPEG compression".into(),
        (34887, _) => "LERC compression".into(),
        (50001, _) => "WebP compression".into(),
        (33003..=33005 | 34712, _) => "JPEG 2000 compression".into(),
        (code, _) => format!("compression {code}"),
    }
}
