//! The six counts of a scene over a site's pixels: outside, fill, cloud, shadow, snow, clear.

use crate::read::{Image, Window};
use crate::{Error, Result};
use std::path::Path;

/// The site's pixels over a window: `mask` is row by row, `window.width` by `window.height`.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    pub window: Window,
    pub mask: &'a [bool],
}

/// Count from a file, tile by tile. `classes` has 256 entries for 8-bit layers, 65,536 for 16-bit ones.
pub fn count_quality(path: &Path, classes: &[u8], site: Site<'_>, band: u16) -> Result<[u64; 6]> {
    let mut image = Image::open(path, band)?;
    if !fits(classes, image.dtype.size()) {
        let (name, entries) = (image.dtype.name(), classes.len());
        return Err(Error::unsupported(path, format!("holds {name}; a class table of {entries} entries is not for it, check the product")));
    }
    if !site.fits() {
        return Err(Error::unsupported(path, format!("a mask of {} pixels is given for a {}", site.mask.len(), site.window)));
    }
    let mut counts = [0; 6];
    if let Some(on) = site.window.on(image.header.width, image.header.height) {
        image.visit(on, band, |piece, view| {
            for row in 0..piece.height {
                let at = site.at(piece.col, piece.row + row);
                let wanted = &site.mask[at..at + piece.width as usize];
                for (pixel, wanted) in view.row(piece, row).zip(wanted) {
                    counts[usize::from(classes[index(pixel)].min(5))] += u64::from(*wanted);
                }
            }
        })?;
    }
    Ok(close(counts, site))
}

/// Count values that were decoded elsewhere: the part of the window that lies on a raster of `width` by `height`.
/// None where table, mask or values do not fit.
pub fn count_pixels(values: &[u8], size: usize, classes: &[u8], site: Site<'_>, width: u32, height: u32) -> Option<[u64; 6]> {
    let on = site.window.on(width, height);
    let due = on.map_or(0, |on| on.width as usize * on.height as usize * size);
    if !fits(classes, size) || !site.fits() || values.len() < due {
        return None;
    }
    let mut counts = [0; 6];
    if let Some(on) = on {
        for (row, line) in values.chunks_exact(on.width as usize * size).enumerate().take(on.height as usize) {
            let at = site.at(on.col as u32, on.row as u32 + row as u32);
            for (pixel, wanted) in line.chunks_exact(size).zip(&site.mask[at..]) {
                counts[usize::from(classes[index(pixel)].min(5))] += u64::from(*wanted);
            }
        }
    }
    Some(close(counts, site))
}

/// A class table has an entry for every bit pattern of an 8 or 16 bit integer.
fn fits(classes: &[u8], size: usize) -> bool {
    matches!((size, classes.len()), (1, 256) | (2, 65_536))
}

impl Site<'_> {
    fn fits(self) -> bool {
        self.mask.len() == self.window.width as usize * self.window.height as usize
    }

    /// Place of a raster's pixel in the mask.
    fn at(self, col: u32, row: u32) -> usize {
        (i64::from(row) - self.window.row) as usize * self.window.width as usize + (i64::from(col) - self.window.col) as usize
    }
}

/// A value's bit pattern.
fn index(pixel: &[u8]) -> usize {
    match pixel {
        [byte] => usize::from(*byte),
        [one, two] => usize::from(u16::from_ne_bytes([*one, *two])),
        _ => 0,
    }
}

/// Site pixels that were not met lie outside; a class of 0 in the table counts there too.
fn close(mut counts: [u64; 6], site: Site<'_>) -> [u64; 6] {
    let all = site.mask.iter().filter(|wanted| **wanted).count() as u64;
    counts[0] = all - counts[1..].iter().sum::<u64>();
    counts
}
