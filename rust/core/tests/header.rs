//! What a header says, and what is said of a header that is none.
#![allow(clippy::unwrap_used)]

mod tiff;

use earthrecord_core::{Dtype, Error, Geo, epsg_keys, scan};
use tiff::{Folder, Tiff};

#[test]
fn both_byte_orders_and_both_sizes_say_the_same() {
    let folder = Folder::new();
    for (number, (big_endian, bigtiff)) in [(false, false), (true, false), (false, true), (true, true)].into_iter().enumerate() {
        let tiff = Tiff { big_endian, bigtiff, ..Tiff::new(3, 2, vec![vec![0; 12]]) }.with(258, &[16]).with(339, &[2]);
        let header = scan(&folder.file(&format!("{number}.tif"), &tiff.bytes())).unwrap();
        assert_eq!((header.width, header.height, header.bands, header.dtype), (3, 2, 1, Some(Dtype::I16)));
        assert_eq!((header.big_endian, header.bigtiff, header.rows_per_strip), (big_endian, bigtiff, 2));
        assert_eq!((header.why_not.as_str(), header.overviews), ("", 0));
    }
}

#[test]
fn a_page_of_another_kind_is_named() {
    let folder = Folder::new();
    let cases: [(&[u8], &str); 4] = [
        (b"", "empty (0 bytes)"),
        (b"<!DOCTYPE html><html>", "a web page, perhaps a login form"),
        (b"PK\x03\x04", "a zip archive"),
        (b"version https://git-lfs.github.com/spec/v1", "a Git LFS pointer"),
    ];
    for (bytes, words) in cases {
        let error = scan(&folder.file("a.tif", bytes)).unwrap_err();
        assert!(matches!(error, Error::Unreadable { .. }));
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_missing_file_and_a_folder_are_named() {
    let folder = Folder::new();
    assert!(scan(&folder.0.join("none.tif")).unwrap_err().to_string().contains("does not exist"));
    assert!(scan(&folder.0).unwrap_err().to_string().contains("is a folder"));
}

#[test]
fn every_shorter_file_is_an_error() {
    let folder = Folder::new();
    let whole = Tiff { big_endian: true, bigtiff: true, ..Tiff::new(5, 4, vec![vec![1; 20]]) }.bytes();
    // The last eight bytes say that there is no further directory; nothing else may be missing.
    for length in 0..whole.len() - 8 {
        assert!(scan(&folder.file("a.tif", &whole[..length])).is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn directories_in_a_loop_are_an_error() {
    let folder = Folder::new();
    let mut bytes = Tiff::new(2, 2, vec![vec![0; 4]]).bytes();
    let (end, first) = (bytes.len(), bytes[4..8].to_vec());
    bytes[end - 4..].copy_from_slice(&first);
    assert!(scan(&folder.file("a.tif", &bytes)).unwrap_err().to_string().contains("form a loop"));
}

#[test]
fn more_tiles_than_numbers_can_count_are_an_error() {
    let folder = Folder::new();
    // 2^30 columns, 2^30 rows and 2^4 bands of tiles: 0 in 64 bits that wrap.
    let tiff = Tiff::new(1 << 30, 1 << 30, vec![vec![0; 1]]).with(322, &[1]).with(323, &[1]).with(284, &[2]).with(277, &[16]);
    assert!(scan(&folder.file("a.tif", &tiff.bytes())).unwrap_err().to_string().contains("tiles or strips are due"));
}

#[test]
fn a_strip_of_absurd_size_is_not_decoded() {
    let folder = Folder::new();
    let side = i32::MAX as u32;
    let tiff = Tiff::new(side, side, vec![vec![0; 1]]).with(277, &[65535]).with(278, &[u32::MAX]);
    let header = scan(&folder.file("a.tif", &tiff.bytes())).unwrap();
    assert!(header.why_not.contains("tiles or strips of"), "{}", header.why_not);
}

#[test]
fn the_first_of_two_equal_tags_counts() {
    let folder = Folder::new();
    let mut tiff = Tiff::new(2, 2, vec![vec![0; 4]]);
    tiff.tags.push((256, vec![9]));
    assert_eq!(scan(&folder.file("a.tif", &tiff.bytes())).unwrap().width, 2);
}

#[test]
fn geokeys_survive_as_a_blob() {
    let keys = epsg_keys(32633, false);
    let back = Geo::from_blob(&keys.blob()).unwrap();
    assert_eq!((back.directory.clone(), back.epsg()), (keys.directory, Some(32633)));
    assert_eq!(Geo::from_blob(&[]), Some(Geo::default()));
    assert_eq!(epsg_keys(4326, true).epsg(), Some(4326));
    for length in 1..back.blob().len() {
        assert_eq!(Geo::from_blob(&back.blob()[..length]), None);
    }
}

#[test]
fn a_transform_needs_a_cell_size() {
    let mut geo = Geo::default();
    geo.locate(&[30.0, 30.0, 0.0], &[2.0, 3.0, 0.0, 100.0, 200.0, 0.0], &[]);
    assert_eq!(geo.transform, Some([30.0, 0.0, 40.0, 0.0, -30.0, 290.0]));
    geo.locate(&[0.0, 30.0, 0.0], &[0.0; 6], &[]);
    assert_eq!(geo.transform, None);
    geo.locate(&[f64::NAN, 30.0, 0.0], &[0.0; 6], &[]);
    assert_eq!(geo.transform, None);
}
