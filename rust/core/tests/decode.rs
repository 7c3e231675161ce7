//! Codecs, predictors and windows: what was packed here is what is read.
#![allow(clippy::unwrap_used)]

mod tiff;

use earthrecord_core::{Dtype, Error, Window, read_window};
use tiff::{Folder, Tiff};

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut packer = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut out = vec![0; packer.zlib_compress_bound(bytes.len())];
    let count = packer.zlib_compress(bytes, &mut out).unwrap();
    out.truncate(count);
    out
}

fn lzw(bytes: &[u8]) -> Vec<u8> {
    weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(bytes).unwrap()
}

fn pack(compression: u32, bytes: &[u8]) -> Vec<u8> {
    match compression {
        1 => bytes.to_vec(),
        5 => lzw(bytes),
        8 => deflate(bytes),
        _ => zstd::bulk::compress(bytes, 3).unwrap(),
    }
}

const ALL: [u32; 4] = [1, 5, 8, 50000];

fn read(folder: &Folder, tiff: &Tiff, window: Option<Window>, band: u16) -> Result<Vec<u8>, Error> {
    read_window(&folder.file("a.tif", &tiff.bytes()), window, band).map(|found| found.2)
}

fn ground(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * at / 7 % 251) as u8).collect()
}

#[test]
fn every_codec_gives_back_its_bytes() {
    let folder = Folder::new();
    let pixels = ground(70 * 50);
    for compression in ALL {
        let chunks = pixels.chunks(70 * 9).map(|strip| pack(compression, strip)).collect();
        let tiff = Tiff::new(70, 50, chunks).with(259, &[compression]).with(278, &[9]);
        assert_eq!(read(&folder, &tiff, None, 1).unwrap(), pixels, "compression {compression}");
    }
}

#[test]
fn a_stream_that_is_longer_than_its_strip_is_cut() {
    let folder = Folder::new();
    let (pixels, more) = (ground(20), ground(20_000));
    for compression in ALL {
        let tiff = Tiff::new(5, 4, vec![pack(compression, &more)]).with(259, &[compression]);
        assert_eq!(read(&folder, &tiff, None, 1).unwrap(), pixels, "compression {compression}");
    }
}

#[test]
fn a_stream_that_is_shorter_than_its_strip_is_an_error() {
    let folder = Folder::new();
    for compression in ALL {
        let tiff = Tiff::new(5, 4, vec![pack(compression, &ground(19))]).with(259, &[compression]);
        let error = read(&folder, &tiff, None, 1).unwrap_err().to_string();
        assert!(error.contains("damaged: strip 0, 0: 19 bytes of pixels, 20 are due"), "{error}");
    }
}

#[test]
fn a_damaged_stream_is_an_error() {
    let folder = Folder::new();
    for compression in [8, 50000] {
        let mut packed = pack(compression, &ground(4000));
        packed.truncate(packed.len() - 3);
        let tiff = Tiff::new(40, 100, vec![packed]).with(259, &[compression]);
        assert!(matches!(read(&folder, &tiff, None, 1), Err(Error::Unreadable { .. })), "compression {compression}");
    }
}

/// Differences of neighbours `step` values apart, in the byte order of the file.
fn differences(tiff: &Tiff, row: &[u64], step: usize, size: usize) -> Vec<u8> {
    let before = |at: usize| if at < step { 0 } else { row[at - step] };
    (0..row.len()).flat_map(|at| tiff.number(row[at].wrapping_sub(before(at)), size)).collect()
}

#[test]
fn differences_are_summed_in_every_width_and_order() {
    let folder = Folder::new();
    for (size, bands, big_endian) in [(1, 1, false), (2, 1, true), (2, 3, false), (4, 2, true), (8, 1, false), (8, 3, true)] {
        let empty = Tiff { big_endian, ..Tiff::new(6, 2, Vec::new()) };
        let values: Vec<u64> = (0..6 * 2 * bands as u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 3).collect();
        let rows: Vec<u8> = values.chunks(6 * bands).flat_map(|row| differences(&empty, row, bands, size)).collect();
        let bits = 8 * size as u32;
        let tiff = Tiff { chunks: vec![deflate(&rows)], ..empty }.with(259, &[8]).with(317, &[2]).with(258, &[bits]);
        let tiff = tiff.with(277, &[bands as u32]);
        for band in 0..bands {
            let expected: Vec<u8> =
                values.iter().skip(band).step_by(bands).flat_map(|value| value.to_le_bytes()[..size].to_vec()).collect();
            assert_eq!(read(&folder, &tiff, None, band as u16 + 1).unwrap(), expected, "{size} bytes, band {band} of {bands}");
        }
    }
}

#[test]
fn the_floating_point_predictor_is_undone() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..12).map(|at| (at as f32 - 5.5) * 1.7e3).chain([f32::NAN, f32::INFINITY]).collect();
    for big_endian in [false, true] {
        let mut planes: Vec<u8> = (0..4).flat_map(|byte| values.iter().map(move |value| value.to_be_bytes()[byte])).collect();
        for at in (1..planes.len()).rev() {
            planes[at] = planes[at].wrapping_sub(planes[at - 1]);
        }
        let tiff = Tiff { big_endian, ..Tiff::new(14, 1, vec![lzw(&planes)]) };
        let tiff = tiff.with(259, &[5]).with(317, &[3]).with(258, &[32]).with(339, &[3]);
        let expected: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(read(&folder, &tiff, None, 1).unwrap(), expected);
    }
}

#[test]
fn tiles_are_cut_at_the_edges_of_raster_and_window() {
    let folder = Folder::new();
    let (width, height, side) = (21_usize, 19_usize, 16_usize);
    let tile = |down: usize, across: usize| -> Vec<u8> {
        let place = |at: usize| (down * side + at / side) * width + across * side + at % side;
        (0..side * side).map(|at| (place(at) % 253) as u8).collect()
    };
    let chunks = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(down, across)| deflate(&tile(down, across))).to_vec();
    let tiff = Tiff::new(width as u32, height as u32, chunks).with(259, &[8]).with(322, &[16]).with(323, &[16]);
    for (col, row, wide, deep) in [(0, 0, 21, 19), (15, 15, 2, 2), (20, 18, 1, 1), (16, 0, 5, 19), (3, 4, 9, 8)] {
        let window = Window { col: col as i64, row: row as i64, width: wide as u32, height: deep as u32 };
        let expected: Vec<u8> = (row..row + deep).flat_map(|y| (col..col + wide).map(move |x| ((y * width + x) % 253) as u8)).collect();
        assert_eq!(read(&folder, &tiff, Some(window), 1).unwrap(), expected, "{window}");
    }
}

#[test]
fn a_tile_that_is_not_stored_is_zero() {
    let folder = Folder::new();
    let tiff = Tiff::new(4, 4, vec![vec![7; 8], Vec::new()]).with(278, &[2]);
    assert_eq!(read(&folder, &tiff, None, 1).unwrap(), [vec![7; 8], vec![0; 8]].concat());
}

#[test]
fn a_window_beyond_the_raster_is_an_error() {
    let folder = Folder::new();
    let tiff = Tiff::new(4, 4, vec![vec![7; 16]]);
    for (col, row, width, height) in [(-1, 0, 2, 2), (3, 3, 2, 1), (0, 0, 0, 4), (i64::MAX, i64::MIN, u32::MAX, u32::MAX)] {
        let error = read(&folder, &tiff, Some(Window { col, row, width, height }), 1).unwrap_err();
        assert!(error.to_string().contains("does not lie on its 4 x 4"), "{error}");
    }
}

#[test]
fn numbers_become_pixels_only_where_they_fit() {
    assert_eq!(Dtype::U8.encode(255.0), Some(vec![255]));
    assert_eq!(Dtype::I16.encode(-32768.0), Some((-32768_i16).to_ne_bytes().to_vec()));
    for (dtype, value) in [(Dtype::U8, 256.0), (Dtype::U8, 0.5), (Dtype::I8, f64::NAN), (Dtype::I64, 9.3e18), (Dtype::F32, 1e39)] {
        assert_eq!(dtype.encode(value), None, "{value} as {}", dtype.name());
    }
    assert_eq!(Dtype::U8.sparse(Some("300")), [255]);
    assert_eq!(Dtype::I64.sparse(Some("9007199254740993")), 9_007_199_254_740_993_i64.to_ne_bytes());
    assert_eq!(Dtype::I16.sparse(None), [0, 0]);
}
