//! Differences back into pixels, and the bytes of pixels into native order.

/// Undo byte order and predictor over rows of `row` bytes, with `samples` values of `size` bytes a pixel.
pub fn undo(bytes: &mut [u8], row: usize, samples: usize, size: usize, predictor: u16, big_endian: bool) {
    if predictor == 3 {
        let mut scratch = vec![0; row];
        bytes.chunks_exact_mut(row).for_each(|line| undo_float(line, &mut scratch, samples, size));
        return;
    }
    if big_endian != cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    if predictor == 2 {
        bytes.chunks_exact_mut(row).for_each(|line| sum(line, samples, size));
    }
}

/// Differences of neighbours, little-endian, for the writer.
pub fn difference(line: &mut [u8], size: usize) {
    macro_rules! differ {
        ($t:ty) => {{
            let mut before: $t = 0;
            for pixel in line.as_chunks_mut::<{ size_of::<$t>() }>().0 {
                let value = <$t>::from_le_bytes(*pixel);
                *pixel = value.wrapping_sub(before).to_le_bytes();
                before = value;
            }
        }};
    }
    match size {
        1 => differ!(u8),
        2 => differ!(u16),
        4 => differ!(u32),
        _ => differ!(u64),
    }
}

fn sum(line: &mut [u8], samples: usize, size: usize) {
    macro_rules! add {
        ($t:ty) => {{
            const SIZE: usize = size_of::<$t>();
            let pixels = line.as_chunks_mut::<SIZE>().0;
            for at in samples..pixels.len() {
                let before = <$t>::from_ne_bytes(pixels[at - samples]);
                pixels[at] = <$t>::from_ne_bytes(pixels[at]).wrapping_add(before).to_ne_bytes();
            }
        }};
    }
    match size {
        1 => add!(u8),
        2 => add!(u16),
        4 => add!(u32),
        _ => add!(u64),
    }
}

/// Byte differences over planes of most to least significant bytes (Adobe's floating-point predictor).
fn undo_float(line: &mut [u8], scratch: &mut [u8], samples: usize, size: usize) {
    for at in samples..line.len() {
        line[at] = line[at].wrapping_add(line[at - samples]);
    }
    scratch.copy_from_slice(line);
    let count = line.len() / size;
    for (at, value) in line.chunks_exact_mut(size).enumerate() {
        for (byte, place) in value.iter_mut().enumerate() {
            let plane = if cfg!(target_endian = "big") { byte } else { size - 1 - byte };
            *place = scratch[plane * count + at];
        }
    }
}
