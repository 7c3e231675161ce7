//! Windows of one band, from the tiles or strips that meet them.

use crate::codec::{Codec, most_of};
use crate::header::{Header, MOST_BYTES, parse};
use crate::predictor::undo;
use crate::source::{Source, resize};
use crate::{Dtype, Error, Result};
use std::fmt;
use std::path::Path;

/// A block of pixels: first column, first row, columns, rows. May lie beyond a raster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub col: i64,
    pub row: i64,
    pub width: u32,
    pub height: u32,
}

impl fmt::Display for Window {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "window of {} x {} pixels at column {}, row {}", self.width, self.height, self.col, self.row)
    }
}

impl Window {
    pub fn whole(header: &Header) -> Self {
        Self { col: 0, row: 0, width: header.width, height: header.height }
    }

    /// The part on a raster of `width` by `height` pixels; None where there is none.
    pub fn on(self, width: u32, height: u32) -> Option<Self> {
        let (col, row) = (self.col.max(0), self.row.max(0));
        let right = self.col.saturating_add(self.width.into()).min(width.into());
        let bottom = self.row.saturating_add(self.height.into()).min(height.into());
        (right > col && bottom > row).then(|| Self { col, row, width: (right - col) as u32, height: (bottom - row) as u32 })
    }
}

/// A file that is being read: header, decoder state and one decoded tile or strip at a time.
pub(crate) struct Image {
    source: Source,
    pub header: Header,
    pub dtype: Dtype,
    codec: Codec,
    fill: Vec<u8>,
    decoded: Vec<u8>,
}

/// The part of a decoded tile or strip that meets a window.
pub(crate) struct Piece {
    /// First column and row on the raster, columns, rows.
    pub col: u32,
    pub row: u32,
    pub width: u32,
    pub height: u32,
    /// Pixel position in the chunk: of the first pixel, and from row to row.
    start: usize,
    stride: usize,
}

impl Image {
    pub fn open(path: &Path, band: u16) -> Result<Self> {
        let source = Source::open(path)?;
        let header = parse(&source)?;
        if band == 0 || band > header.bands {
            return Err(Error::unreadable(path, format!("band {band} is wanted, it has {}; check the product's index", header.bands)));
        }
        let Some(dtype) = header.dtype.filter(|_| header.why_not.is_empty()) else {
            return Err(Error::unsupported(path, format!("the core does not read {}; it goes through rasterio", header.why_not)));
        };
        let fill = dtype.sparse(header.nodata.as_deref());
        Ok(Self { source, header, dtype, codec: Codec::default(), fill, decoded: Vec::new() })
    }

    /// Visit each tile or strip that meets a window on the raster.
    pub fn visit(&mut self, window: Window, band: u16, mut with: impl FnMut(&Piece, Pixel<'_>)) -> Result<()> {
        let (width, height) = self.header.chunk();
        for (across, down) in self.met(window) {
            let mut piece = piece(window, across * width, down * height, width, height);
            let stored = self.decode(across, down, band)?;
            if !stored {
                self.decoded = self.fill.repeat(piece.width as usize);
                (piece.start, piece.stride) = (0, 0);
            }
            let samples = if stored { self.header.samples() } else { 1 };
            let offset = if samples == 1 { 0 } else { usize::from(band - 1) };
            with(&piece, Pixel { bytes: &self.decoded, samples, size: self.dtype.size(), offset });
        }
        Ok(())
    }

    /// Tiles or strips that meet a window on the raster, row by row: how far across, how far down.
    fn met(&self, window: Window) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (width, height) = self.header.chunk();
        let (first, last) = (window.row as u32 / height, (window.row as u32 + window.height - 1) / height);
        let (left, right) = (window.col as u32 / width, (window.col as u32 + window.width - 1) / width);
        (first..=last).flat_map(move |down| (left..=right).map(move |across| (across, down)))
    }

    /// Where a tile or strip is stored: offset, bytes there, bytes of a row and of all once decoded.
    fn stored(&self, across: u32, down: u32, band: u16) -> (u64, u64, usize, usize) {
        let (width, height) = self.header.chunk();
        let (wide, deep) = self.header.chunks();
        let mut index = down as usize * wide as usize + across as usize;
        if self.header.planar == 2 {
            index += usize::from(band - 1) * wide as usize * deep as usize;
        }
        let rows = if self.header.tile.is_some() { height } else { height.min(self.header.height - down * height) };
        let row = width as usize * self.header.samples() * self.dtype.size();
        (self.header.offsets[index], self.header.counts[index], row, row * rows as usize)
    }

    /// Before anything is allocated: what is stored for a window must be able to hold its pixels.
    fn check(&self, window: Window, band: u16) -> Result<()> {
        for (across, down) in self.met(window) {
            let (offset, count, _, size) = self.stored(across, down, band);
            if (offset, count) != (0, 0) {
                self.source.check(offset, count)?;
                self.check_size(size, count as usize, across, down)?;
            }
        }
        Ok(())
    }

    /// Decode a tile or strip; false where the file stores nothing for it.
    fn decode(&mut self, across: u32, down: u32, band: u16) -> Result<bool> {
        let (offset, count, row, size) = self.stored(across, down, band);
        if offset == 0 && count == 0 {
            return Ok(false);
        }
        self.check_size(size, count as usize, across, down)?;
        let data = self.source.read(offset, count)?;
        resize(&mut self.decoded, size).map_err(|what| Error::unsupported(&self.header.path, what))?;
        let done = self.codec.decode(self.header.compression, &data, &mut self.decoded);
        done.map_err(|what| self.bad_chunk(across, down, &what))?;
        let predictor = if self.header.compression == 1 { 1 } else { self.header.predictor };
        let (samples, size) = (self.header.samples(), self.dtype.size());
        undo(&mut self.decoded, row, samples, size, predictor, self.header.big_endian);
        Ok(true)
    }

    /// A tile can not hold more than its compression could ever pack into its bytes.
    fn check_size(&self, size: usize, packed: usize, across: u32, down: u32) -> Result<()> {
        if size > packed.saturating_mul(most_of(self.header.compression)).saturating_add(64) {
            let what = format!("{packed} compressed bytes can not hold {size} bytes of pixels");
            return Err(self.bad_chunk(across, down, &what));
        }
        Ok(())
    }

    fn bad_chunk(&self, across: u32, down: u32, what: &str) -> Error {
        let kind = if self.header.tile.is_some() { "tile" } else { "strip" };
        Error::unreadable(&self.header.path, format!("damaged: {kind} {across}, {down}: {what}; get it again"))
    }
}

/// Bytes of one band in a decoded chunk.
#[derive(Clone, Copy)]
pub(crate) struct Pixel<'a> {
    bytes: &'a [u8],
    samples: usize,
    size: usize,
    offset: usize,
}

impl<'a> Pixel<'a> {
    /// Pixels of one row of a piece, each as its bytes in native order.
    pub fn row(self, piece: &Piece, row: u32) -> impl Iterator<Item = &'a [u8]> {
        let step = self.samples * self.size;
        let first = (piece.start + row as usize * piece.stride) * step + self.offset * self.size;
        self.bytes[first..].chunks(step).take(piece.width as usize).map(move |pixel| &pixel[..self.size])
    }

    /// The same row as one run of bytes, where the chunk holds nothing but this band.
    pub fn run(self, piece: &Piece, row: u32) -> Option<&'a [u8]> {
        let first = (piece.start + row as usize * piece.stride) * self.size;
        (self.samples == 1).then(|| &self.bytes[first..first + piece.width as usize * self.size])
    }
}

fn piece(window: Window, left: u32, top: u32, width: u32, height: u32) -> Piece {
    let (col, row) = (left.max(window.col as u32), top.max(window.row as u32));
    let right = (u64::from(left) + u64::from(width)).min(window.col as u64 + u64::from(window.width));
    let bottom = (u64::from(top) + u64::from(height)).min(window.row as u64 + u64::from(window.height));
    Piece {
        col,
        row,
        width: (right - u64::from(col)) as u32,
        height: (bottom - u64::from(row)) as u32,
        start: (row - top) as usize * width as usize + (col - left) as usize,
        stride: width as usize,
    }
}

/// Decode a window that lies on the raster: type, header and pixels in native byte order, row by row.
pub fn read_window(path: &Path, window: Option<Window>, band: u16) -> Result<(Dtype, Header, Vec<u8>, Window)> {
    let mut image = Image::open(path, band)?;
    let window = window.unwrap_or(Window::whole(&image.header));
    if window.on(image.header.width, image.header.height) != Some(window) {
        let (width, height) = (image.header.width, image.header.height);
        return Err(Error::unreadable(path, format!("a {window} does not lie on its {width} x {height}")));
    }
    let size = image.dtype.size();
    let bytes = (u64::from(window.width) * u64::from(window.height)).saturating_mul(size as u64);
    if bytes > MOST_BYTES {
        return Err(Error::unsupported(path, format!("a {window} has {bytes} bytes, more than {MOST_BYTES}; read it in parts")));
    }
    image.check(window, band)?;
    let mut out = Vec::new();
    resize(&mut out, bytes as usize).map_err(|what| Error::unsupported(path, what))?;
    image.visit(window, band, |piece, view| {
        for row in 0..piece.height {
            let at = ((piece.row + row) as usize - window.row as usize) * window.width as usize + piece.col as usize - window.col as usize;
            let target = &mut out[at * size..(at + piece.width as usize) * size];
            match view.run(piece, row) {
                Some(run) => target.copy_from_slice(run),
                None => view.row(piece, row).zip(target.chunks_exact_mut(size)).for_each(|(from, to)| to.copy_from_slice(from)),
            }
        }
    })?;
    Ok((image.dtype, image.header, out, window))
}
