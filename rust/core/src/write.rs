//! The one writer of format 1: single-band GeoTIFF, the same bytes for the same input everywhere.

use crate::geo::invertible;
use crate::hash::sha256;
use crate::predictor::difference;
use crate::read::{Window, read_window};
use crate::{Dtype, Error, Geo, Result};
use libdeflater::{CompressionLvl, Compressor};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const TILE: u32 = 256;

/// What is written: pixels in native byte order, row by row, and the tags that go with them.
pub struct Raster<'a> {
    pub pixels: &'a [u8],
    pub dtype: Dtype,
    pub width: u32,
    pub height: u32,
    pub geo: &'a Geo,
    pub nodata: Option<&'a str>,
    pub gdal_metadata: Option<&'a str>,
}

/// What is copied: a window of a band, and what pixels off the site become.
pub struct Crop<'a> {
    pub window: Window,
    pub band: u16,
    pub mask: Option<(&'a [bool], f64)>,
    pub level: i32,
}

/// Copy a window of a file into a new file of format 1; size in bytes and SHA-256 (hex).
pub fn crop(source: &Path, target: &Path, job: &Crop<'_>) -> Result<(u64, String)> {
    let (dtype, header, mut pixels, window) = read_window(source, Some(job.window), job.band)?;
    if let Some((mask, value)) = job.mask {
        blank(&mut pixels, dtype, mask, value).map_err(|what| Error::unwritable(target, what))?;
    }
    let mut geo = header.geo;
    geo.transform = geo.transform.map(|[a, b, c, d, e, f]| {
        let (col, row) = (window.col as f64, window.row as f64);
        [a, b, a * col + b * row + c, d, e, d * col + e * row + f]
    });
    let metadata = header.gdal_metadata.and_then(|xml| metadata_of(xml, job.band, header.bands));
    let raster = Raster {
        pixels: &pixels,
        dtype,
        width: window.width,
        height: window.height,
        geo: &geo,
        nodata: header.nodata.as_deref(),
        gdal_metadata: metadata.as_deref(),
    };
    write_raster(target, &raster, job.level)
}

/// Write a raster; it appears under its name when it is whole. Size in bytes and SHA-256 (hex).
pub fn write_raster(target: &Path, raster: &Raster<'_>, level: i32) -> Result<(u64, String)> {
    let bytes = encode(raster, level).map_err(|what| Error::unwritable(target, what))?;
    let part = part_of(target);
    let failed =
        |error: std::io::Error| Error::unwritable(target, format!("could not be written: {error}; check folder, space and permissions"));
    let done = std::fs::write(&part, &bytes).and_then(|()| std::fs::rename(&part, target));
    if let Err(error) = done {
        let _ = std::fs::remove_file(&part);
        return Err(failed(error));
    }
    Ok((bytes.len() as u64, sha256(&bytes)))
}

fn part_of(target: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.part-{}-{number}", std::process::id()))
}

fn blank(pixels: &mut [u8], dtype: Dtype, mask: &[bool], value: f64) -> std::result::Result<(), String> {
    let size = dtype.size();
    if mask.len() * size != pixels.len() {
        return Err(format!("a mask of {} pixels is given for {}; give one of the window", mask.len(), pixels.len() / size));
    }
    let fill = dtype.encode(value).ok_or_else(|| format!("the mask value {value} is no {}; give one that is", dtype.name()))?;
    let pairs = pixels.chunks_exact_mut(size).zip(mask);
    pairs.filter(|(_, inside)| !**inside).for_each(|(pixel, _)| pixel.copy_from_slice(&fill));
    Ok(())
}

/// GDAL's metadata of one band of a multi-band file, as that of a file of its own; of a single band as stored.
fn metadata_of(xml: String, band: u16, bands: u16) -> Option<String> {
    if bands == 1 {
        return Some(xml);
    }
    let mine = format!("sample=\"{}\"", band - 1);
    let (mut kept, mut rest) = (String::new(), xml.as_str());
    while let Some((start, after)) = rest.split_once("<Item").and_then(|(_, item)| item.split_once('>')) {
        let end = if start.ends_with('/') { 0 } else { after.find("</Item>")? + "</Item>".len() };
        if start.contains(&mine) || !start.contains("sample=\"") {
            kept += &format!("  <Item{}>{}\n", start.replace(&mine, "sample=\"0\""), &after[..end]);
        }
        rest = &after[end..];
    }
    (!kept.is_empty()).then(|| format!("<GDALMetadata>\n{}</GDALMetadata>\n", kept))
}

fn encode(raster: &Raster<'_>, level: i32) -> std::result::Result<Vec<u8>, String> {
    let (width, height, size) = (raster.width, raster.height, raster.dtype.size());
    if width == 0 || height == 0 {
        return Err(format!("a raster of {width} x {height} pixels; there is nothing to write"));
    }
    if raster.pixels.len() != width as usize * height as usize * size {
        return Err(format!("{} bytes of pixels are given for {width} x {height} of {}", raster.pixels.len(), raster.dtype.name()));
    }
    if raster.geo.transform.is_some_and(|transform| !invertible(transform)) {
        return Err(format!("the transform {:?} places no pixel; give one that can be inverted", raster.geo.transform.unwrap_or_default()));
    }
    let valid = |level: &i32| (1..=12).contains(level);
    let level = Some(level).filter(valid).and_then(|level| CompressionLvl::new(level).ok());
    let level = level.ok_or("its compression level must be 1 to 12")?;
    let tiled = width > TILE || height > TILE;
    let (chunk_width, chunk_height) = if tiled { (TILE, TILE) } else { (width, height) };
    let mut compressor = Compressor::new(level);
    let mut chunks = Vec::new();
    for top in (0..height).step_by(chunk_height as usize) {
        for left in (0..width).step_by(chunk_width as usize) {
            let mut chunk = cut(raster, left, top, chunk_width, chunk_height);
            if !raster.dtype.is_float() {
                chunk.chunks_exact_mut(chunk_width as usize * size).for_each(|line| difference(line, size));
            }
            let mut packed = vec![0; compressor.zlib_compress_bound(chunk.len())];
            let count = compressor.zlib_compress(&chunk, &mut packed).map_err(|error| error.to_string())?;
            packed.truncate(count);
            chunks.push(packed);
        }
    }
    assemble(raster, tiled, &chunks)
}

/// A block of pixels in little-endian order; beyond the raster's edge it is 0.
fn cut(raster: &Raster<'_>, left: u32, top: u32, width: u32, height: u32) -> Vec<u8> {
    let size = raster.dtype.size();
    let (columns, rows) = (width.min(raster.width - left) as usize, height.min(raster.height - top) as usize);
    let mut chunk = vec![0; width as usize * height as usize * size];
    for row in 0..rows {
        let from = ((top as usize + row) * raster.width as usize + left as usize) * size;
        let to = row * width as usize * size;
        chunk[to..to + columns * size].copy_from_slice(&raster.pixels[from..from + columns * size]);
    }
    if cfg!(target_endian = "big") {
        chunk.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    chunk
}

/// One tag: code, TIFF type, number of values, their bytes.
struct Tag(u16, u16, u32, Vec<u8>);

fn short(code: u16, value: u16) -> Tag {
    Tag(code, 3, 1, value.to_le_bytes().to_vec())
}

fn long(code: u16, value: u32) -> Tag {
    Tag(code, 4, 1, value.to_le_bytes().to_vec())
}

fn doubles(code: u16, values: &[f64]) -> Tag {
    Tag(code, 12, values.len() as u32, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn ascii(code: u16, text: &str) -> Tag {
    Tag(code, 2, text.len() as u32 + 1, [text.as_bytes(), b"\0"].concat())
}

fn tags(raster: &Raster<'_>, tiled: bool, chunks: &[Vec<u8>]) -> Vec<Tag> {
    let dtype = raster.dtype;
    let places = |code| Tag(code, 4, chunks.len() as u32, vec![0; 4 * chunks.len()]);
    let counts = |code| {
        let bytes = chunks.iter().flat_map(|chunk| (chunk.len() as u32).to_le_bytes()).collect();
        Tag(code, 4, chunks.len() as u32, bytes)
    };
    let mut tags = vec![
        long(256, raster.width),
        long(257, raster.height),
        short(258, 8 * dtype.size() as u16),
        short(259, 8),
        short(262, 1),
        short(277, 1),
        short(284, 1),
        short(317, if dtype.is_float() { 1 } else { 2 }),
        short(339, dtype.tiff_format()),
    ];
    if tiled {
        tags.extend([long(322, TILE), long(323, TILE), places(324), counts(325)]);
    } else {
        tags.extend([places(273), long(278, raster.height), counts(279)]);
    }
    tags.extend(geo_tags(raster.geo));
    tags.extend(raster.gdal_metadata.map(|xml| ascii(42112, xml)));
    tags.extend(raster.nodata.map(|text| ascii(42113, text)));
    tags.sort_by_key(|tag| tag.0);
    tags
}

fn geo_tags(geo: &Geo) -> Vec<Tag> {
    let mut tags = Vec::new();
    if let Some([a, b, c, d, e, f]) = geo.transform.map(|transform| geo.stated(transform)) {
        if b == 0.0 && d == 0.0 && a > 0.0 && e < 0.0 {
            tags.push(doubles(33550, &[a, -e, 0.0]));
            tags.push(doubles(33922, &[0.0, 0.0, 0.0, c, f, 0.0]));
        } else {
            tags.push(doubles(34264, &[a, b, 0.0, c, d, e, 0.0, f, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]));
        }
    }
    if !geo.directory.is_empty() {
        let bytes = geo.directory.iter().flat_map(|value| value.to_le_bytes()).collect();
        tags.push(Tag(34735, 3, geo.directory.len() as u32, bytes));
    }
    if !geo.doubles.is_empty() {
        tags.push(doubles(34736, &geo.doubles));
    }
    if !geo.ascii.is_empty() {
        tags.push(Tag(34737, 2, geo.ascii.len() as u32, geo.ascii.clone()));
    }
    tags
}

/// Header, directory, values that do not fit in it, pixels.
fn assemble(raster: &Raster<'_>, tiled: bool, chunks: &[Vec<u8>]) -> std::result::Result<Vec<u8>, String> {
    let mut tags = tags(raster, tiled, chunks);
    let directory = 8 + 2 + 12 * tags.len() + 4;
    let aside = |tag: &Tag| if tag.3.len() > 4 { tag.3.len().next_multiple_of(2) } else { 0 };
    let first = directory + tags.iter().map(aside).sum::<usize>();
    let total = first + chunks.iter().map(|chunk| chunk.len().next_multiple_of(2)).sum::<usize>();
    if u32::try_from(total).is_err() {
        return Err(format!("{total} bytes are more than a classic TIFF holds; take a smaller site"));
    }
    let mut at = first;
    let mut places = Vec::with_capacity(4 * chunks.len());
    for chunk in chunks {
        places.extend((at as u32).to_le_bytes());
        at += chunk.len().next_multiple_of(2);
    }
    tags.iter_mut().filter(|tag| tag.0 == 273 || tag.0 == 324).for_each(|tag| tag.3.clone_from(&places));
    let mut bytes = Vec::with_capacity(total);
    bytes.extend(b"II\x2a\x00\x08\x00\x00\x00");
    bytes.extend((tags.len() as u16).to_le_bytes());
    let (mut values, mut place) = (Vec::new(), directory);
    for Tag(code, kind, count, content) in &tags {
        bytes.extend(code.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        if content.len() > 4 {
            bytes.extend((place as u32).to_le_bytes());
            place += content.len().next_multiple_of(2);
            values.extend(content);
            values.resize(place - directory, 0);
        } else {
            bytes.extend(content);
            bytes.resize(bytes.len() + 4 - content.len(), 0);
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(values);
    for chunk in chunks {
        bytes.extend(chunk);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
    }
    Ok(bytes)
}
