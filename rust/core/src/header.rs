//! Image directories of TIFF and BigTIFF, in either byte order, wherever in the file they stand.

use crate::source::{Source, looks_like};
use crate::{Dtype, Error, Geo, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const MOST_ENTRIES: u64 = 4096;
const MOST_DIRECTORIES: usize = 1024;
/// Bytes that are decoded at once: 4 GiB.
pub(crate) const MOST_BYTES: u64 = 1 << 32;

/// What the first image of a TIFF says of itself.
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

    /// Samples a pixel in one tile or strip: all bands where they are interleaved.
    pub(crate) fn samples(&self) -> usize {
        if self.planar == 2 { 1 } else { usize::from(self.bands) }
    }

    /// Bytes of a tile or full strip once decoded.
    fn chunk_bytes(&self) -> u64 {
        let (width, height) = self.chunk();
        let pixel = self.samples() as u64 * self.dtype.map_or(0, Dtype::size) as u64;
        (u64::from(width) * u64::from(height)).saturating_mul(pixel)
    }
}

/// Read the header of a file; no pixel is decoded.
pub fn scan(path: &Path) -> Result<Header> {
    parse(&Source::open(path)?)
}

pub(crate) fn parse(source: &Source) -> Result<Header> {
    let reader = Reader::new(source)?;
    let first = reader.first()?;
    if first == 0 {
        return Err(Error::unreadable(&source.path, "holds no image; get it again"));
    }
    let (table, mut next) = reader.directory(first)?;
    let mut header = reader.image(&reader.tags(&table)?)?;
    let mut seen = HashSet::from([first]);
    while next != 0 && seen.len() < MOST_DIRECTORIES {
        if !seen.insert(next) {
            return Err(reader.damaged(format_args!("its image directories form a loop at {next}")));
        }
        next = reader.directory(next)?.1;
        header.overviews += 1;
    }
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
    /// Of the type BYTE: numbers or a text.
    Bytes(Vec<u8>),
    Text(Vec<u8>),
}

impl Value {
    /// Whether it is a whole number, or a list of some.
    fn whole(&self, list: bool) -> bool {
        match self {
            Self::Numbers(values) => values.len() == 1 || list && !values.is_empty(),
            Self::Bytes(bytes) => bytes.len() == 1 || list && !bytes.is_empty(),
            Self::Floats(_) | Self::Text(_) => false,
        }
    }
}

impl Tags {
    fn get(&self, tag: u16) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.0 == tag).map(|entry| &entry.1)
    }

    fn number(&self, tag: u16) -> Option<u64> {
        match self.get(tag)? {
            Value::Numbers(values) => values.first().copied(),
            Value::Bytes(bytes) => bytes.first().map(|byte| u64::from(*byte)),
            _ => None,
        }
    }

    /// A number that a sound file keeps in 16 bits; 65535, which means nothing anywhere, where it does not fit.
    fn code(&self, tag: u16, default: u16) -> u16 {
        self.number(tag).map_or(default, |number| u16::try_from(number).unwrap_or(u16::MAX))
    }

    fn numbers(&self, tag: u16) -> Vec<u64> {
        match self.get(tag) {
            Some(Value::Numbers(values)) => values.clone(),
            Some(Value::Bytes(bytes)) => bytes.iter().map(|byte| u64::from(*byte)).collect(),
            _ => Vec::new(),
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
            Some(Value::Bytes(bytes) | Value::Text(bytes)) => Some(bytes),
            _ => None,
        }
    }

    fn text(&self, tag: u16) -> Option<String> {
        let bytes = self.bytes(tag)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

const USED: [u16; 25] = [
    256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 284, 317, 322, 323, 324, 325, 339, 33550, 33922, 34264, 34735, 34736, 34737, 42112,
    42113,
];

/// Tags from here on say where and what, not how the pixels are stored.
const FIRST_NOTE: u16 = 33550;
/// Tags with a value for each band, tile or strip.
const LISTS: [u16; 6] = [258, 273, 279, 324, 325, 339];

impl<'a> Reader<'a> {
    fn new(source: &'a Source) -> Result<Self> {
        let (big_endian, bigtiff) = match source.head().first_chunk::<4>() {
            Some(b"II\x2a\x00") => (false, false),
            Some(b"MM\x00\x2a") => (true, false),
            Some(b"II\x2b\x00") => (false, true),
            Some(b"MM\x00\x2b") => (true, true),
            _ => {
                let (what, remedy) = looks_like(source.head());
                return Err(Error::unreadable(&source.path, format!("is {what}, not a TIFF; {remedy}")));
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

    /// The entries of the directory at `offset`, and where the next one is.
    fn directory(&self, offset: u64) -> Result<(Vec<u8>, u64)> {
        let (head, size, word) = if self.bigtiff { (8, 20, 8) } else { (2, 12, 4) };
        let count = self.number(offset, head)?;
        if count == 0 || count > MOST_ENTRIES {
            return Err(self.damaged(format_args!("an image directory of {count} entries at {offset}")));
        }
        let table = self.source.read(offset.saturating_add(head), count * size)?;
        let next = self.number(offset.saturating_add(head + count * size), word);
        Ok((table, next.unwrap_or(0)))
    }

    /// The tags that matter; of a tag that comes twice, the first.
    fn tags(&self, table: &[u8]) -> Result<Tags> {
        let (size, word) = if self.bigtiff { (20, 8) } else { (12, 4) };
        let mut tags = Tags { entries: Vec::new() };
        for entry in table.chunks_exact(size) {
            let tag = self.unsigned(&entry[..2]) as u16;
            if USED.contains(&tag) && tags.get(tag).is_none() {
                let value = self.value(entry, word)?;
                if tag < FIRST_NOTE && !value.whole(LISTS.contains(&tag)) {
                    return Err(self.damaged(format_args!("its tag {tag} is no number")));
                }
                tags.entries.push((tag, value));
            }
        }
        Ok(tags)
    }

    fn value(&self, entry: &[u8], word: usize) -> Result<Value> {
        let kind = self.unsigned(&entry[2..4]);
        let count = self.unsigned(&entry[4..4 + word]);
        let size: u64 = match kind {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            12 | 16..=18 => 8,
            _ => return Ok(Value::Numbers(Vec::new())),
        };
        let total = count.checked_mul(size).ok_or_else(|| self.damaged(format_args!("a tag of {count} values")))?;
        let slot = &entry[4 + word..];
        let bytes = if total <= word as u64 { slot[..total as usize].to_vec() } else { self.source.read(self.unsigned(slot), total)? };
        Ok(match kind {
            1 => Value::Bytes(bytes),
            2 | 7 => Value::Text(bytes),
            11 => Value::Floats(bytes.chunks_exact(4).map(|b| f32::from_bits(self.unsigned(b) as u32).into()).collect()),
            12 => Value::Floats(bytes.chunks_exact(8).map(|b| f64::from_bits(self.unsigned(b))).collect()),
            6 | 8 | 9 | 17 => Value::Numbers(bytes.chunks_exact(size as usize).map(|b| self.signed(b)).collect()),
            _ => Value::Numbers(bytes.chunks_exact(size as usize).map(|b| self.unsigned(b)).collect()),
        })
    }

    /// A signed number; one below 0, which no tag may have, becomes too large for any.
    fn signed(&self, bytes: &[u8]) -> u64 {
        let above = 64 - 8 * bytes.len();
        ((self.unsigned(bytes) << above).cast_signed() >> above).cast_unsigned()
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
        let rows = tags.number(278).unwrap_or(u64::from(height)).min(u64::from(height)) as u32;
        if rows == 0 {
            return Err(self.damaged("strips without rows"));
        }
        let mut header = Header {
            path: self.source.path.clone(),
            file_bytes: self.source.len,
            width,
            height,
            bands: bands as u16,
            dtype: dtype_of(tags),
            compression: tags.code(259, 1),
            predictor: tags.code(317, 1),
            planar: tags.code(284, 1),
            tile,
            rows_per_strip: rows,
            big_endian: self.big_endian,
            bigtiff: self.bigtiff,
            geo: geo_of(tags),
            nodata: tags.text(42113).map(|text| text.trim().to_owned()),
            gdal_metadata: tags.text(42112),
            overviews: 0,
            why_not: String::new(),
            offsets: tags.numbers(if tile.is_some() { 324 } else { 273 }),
            counts: tags.numbers(if tile.is_some() { 325 } else { 279 }),
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
        let due = (u64::from(across) * u64::from(down)).saturating_mul(planes);
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
    Dtype::from_tiff(format, bit).filter(|_| even)
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
    let (bits, colours) = (tags.code(258, 1), tags.code(262, 1));
    match (header.compression, header.predictor) {
        (6 | 7, _) => "JPEG compression".into(),
        (34887, _) => "LERC compression".into(),
        (50001, _) => "WebP compression".into(),
        (33003..=33005 | 34712, _) => "JPEG 2000 compression".into(),
        _ if header.dtype.is_none() => format!("pixels of {bits} bits in sample format {}", tags.code(339, 1)),
        _ if header.chunk_bytes() > MOST_BYTES => format!("tiles or strips of {} bytes", header.chunk_bytes()),
        _ if !(1..=2).contains(&header.planar) => format!("planar configuration {}", header.planar),
        _ if tags.code(266, 1) != 1 => "bits in reverse order".into(),
        _ if matches!(colours, 6 | 8 | 32844 | 32845) => format!("colours in photometric interpretation {colours}"),
        (1, _) | (5 | 8 | 32946 | 50000, 1 | 2) => String::new(),
        (5 | 8 | 32946 | 50000, 3) if header.dtype.is_some_and(Dtype::is_float) => String::new(),
        (5 | 8 | 32946 | 50000, predictor) => format!("predictor {predictor}"),
        (code, _) => format!("compression {code}"),
    }
}
