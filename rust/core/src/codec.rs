//! Compressed tiles and strips into bytes.

use libdeflater::{DecompressionError, Decompressor};

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
            Err(DecompressionError::InsufficientSpace) => {
                let mut longer = vec![0; out.len().saturating_mul(4)];
                let size = inflater.zlib_decompress(data, &mut longer).map_err(|error| error.to_string())?;
                out.copy_from_slice(longer.get(..out.len()).filter(|_| size >= out.len()).ok_or("no pixels")?);
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

fn short(found: usize, due: usize) -> String {
    format!("{found} bytes of pixels, {due} are due")
}

fn stored(data: &[u8], out: &mut [u8]) -> Result<(), String> {
    out.copy_from_slice(data.get(..out.len()).ok_or_else(|| short(data.len(), out.len()))?);
    Ok(())
}

fn lzw(data: &[u8], out: &mut [u8]) -> Result<(), String> {
    if data.starts_with(&[0, 1]) {
        return Err("LZW of the kind before TIFF 6".into());
    }
    let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
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
    let size = zstd::bulk::decompress_to_buffer(data, out).map_err(|error| error.to_string())?;
    if size < out.len() { Err(short(size, out.len())) } else { Ok(()) }
}
