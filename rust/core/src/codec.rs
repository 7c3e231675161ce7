//! Compressed tiles and strips into bytes.

use crate::source::resize;
use libdeflater::{DecompressionError, Decompressor};
use std::io::Read;
use weezl::{BitOrder, decode::Decoder};

/// Decompresses into buffers of a known size; reused from tile to tile.
#[derive(Default)]
pub struct Codec {
    inflate: Option<Decompressor>,
}

impl Codec {
    /// Fill `out`; the words say what is wrong where that is not possible. A longer stream is cut at the end of `out`.
    pub fn decode(&mut self, compression: u16, data: &[u8], out: &mut [u8]) -> Result<(), String> {
        match compression {
            1 => stored(data, out),
            5 => lzw(data, out),
            50000 => zstd_frame(data, out),
            _ => self.inflate(data, out),
        }
    }

    fn inflate(&mut self, data: &[u8], out: &mut [u8]) -> Result<(), String> {
        let inflater = self.inflate.get_or_insert_with(Decompressor::new);
        match inflater.zlib_decompress(data, out) {
            Ok(size) if size == out.len() => Ok(()),
            Ok(size) => Err(short(size, out.len())),
            Err(DecompressionError::InsufficientSpace) => inflate_longer(inflater, data, out),
            Err(_) => Err(BROKEN.into()),
        }
    }
}

const BROKEN: &str = "its deflate stream or checksum is broken";

/// What a stream can hold at most, by compression: bytes of pixels for one of its own.
pub fn most_of(compression: u16) -> usize {
    match compression {
        1 => 1,
        5 => 4096,
        50000 => 1 << 15,
        _ => 1040,
    }
}

/// Some writers fill the last strip up; a stream that is longer than its pixels is cut.
fn inflate_longer(inflater: &mut Decompressor, data: &[u8], out: &mut [u8]) -> Result<(), String> {
    let most = data.len().saturating_mul(most_of(8));
    let mut longer = Vec::new();
    let mut room = out.len();
    while room < most {
        room = room.saturating_mul(4).min(most);
        resize(&mut longer, room)?;
        match inflater.zlib_decompress(data, &mut longer) {
            Ok(size) => {
                out.copy_from_slice(longer.get(..out.len()).filter(|_| size >= out.len()).ok_or("its length changes")?);
                return Ok(());
            }
            Err(DecompressionError::InsufficientSpace) => {}
            Err(_) => return Err(BROKEN.into()),
        }
    }
    Err("a stream without end".into())
}

fn short(found: usize, due: usize) -> String {
    format!("{found} bytes of pixels, {due} are due")
}

fn stored(data: &[u8], out: &mut [u8]) -> Result<(), String> {
    out.copy_from_slice(data.get(..out.len()).ok_or_else(|| short(data.len(), out.len()))?);
    Ok(())
}

/// Before TIFF 6 the bits stood in reverse order and codes grew one later; libtiff tells the two by the first code.
fn lzw(data: &[u8], out: &mut [u8]) -> Result<(), String> {
    let mut decoder = match data {
        [0, second, ..] if second & 1 == 1 => Decoder::new(BitOrder::Lsb, 8),
        _ => Decoder::with_tiff_size_switch(BitOrder::Msb, 8),
    };
    let (mut from, mut to) = (0, 0);
    while to < out.len() {
        let step = decoder.decode_bytes(&data[from..], &mut out[to..]);
        from += step.consumed_in;
        to += step.consumed_out;
        match step.status {
            Ok(weezl::LzwStatus::Ok) if step.consumed_in + step.consumed_out > 0 => {}
            Ok(_) => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    if to < out.len() { Err(short(to, out.len())) } else { Ok(()) }
}

fn zstd_frame(data: &[u8], out: &mut [u8]) -> Result<(), String> {
    match zstd::bulk::decompress_to_buffer(data, out) {
        Ok(size) if size == out.len() => Ok(()),
        Ok(size) => Err(short(size, out.len())),
        Err(error) if error.to_string().contains("too small") => {
            zstd::Decoder::with_buffer(data).and_then(|mut longer| longer.read_exact(out)).map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}
