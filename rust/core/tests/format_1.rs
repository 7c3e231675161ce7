//! The writer and the counts, without Python.
#![allow(clippy::unwrap_used)]

mod tiff;

use earthrecord_core::{Crop, Dtype, Geo, Raster, Site, Window, count_pixels, count_quality, crop, read_window, sha256_file, write_raster};
use tiff::Folder;

fn geo() -> Geo {
    Geo { transform: Some([30.0, 0.0, 1000.0, 0.0, -30.0, 2000.0]), ..Geo::default() }
}

fn raster<'a>(pixels: &'a [u8], dtype: Dtype, width: u32, height: u32, geo: &'a Geo) -> Raster<'a> {
    Raster { pixels, dtype, width, height, geo, nodata: Some("7"), gdal_metadata: None }
}

fn names(folder: &Folder) -> usize {
    std::fs::read_dir(&folder.0).unwrap().count()
}

#[test]
fn what_is_written_reads_back() {
    let (folder, geo) = (Folder::new(), geo());
    for (dtype, width, height) in [(Dtype::U8, 1, 1), (Dtype::I16, 256, 256), (Dtype::F64, 257, 3), (Dtype::U64, 300, 290)] {
        let pixels: Vec<u8> = (0..width as usize * height as usize * dtype.size()).map(|at| (at * 31 % 255) as u8).collect();
        let path = folder.0.join("out.tif");
        let (size, sha) = write_raster(&path, &raster(&pixels, dtype, width, height, &geo), 6).unwrap();
        assert_eq!((size, sha), (path.metadata().unwrap().len(), sha256_file(&path).unwrap()));
        let (found, header, bytes, _) = read_window(&path, None, 1).unwrap();
        assert_eq!((found, header.geo.transform, header.nodata.as_deref()), (dtype, geo.transform, Some("7")));
        assert!(bytes == pixels, "{} {width} x {height}", dtype.name());
    }
}

#[test]
fn a_crop_moves_the_corner_and_masks() {
    let (folder, geo) = (Folder::new(), geo());
    let pixels: Vec<u8> = (0..20).collect();
    let (path, out) = (folder.0.join("in.tif"), folder.0.join("out.tif"));
    write_raster(&path, &raster(&pixels, Dtype::U8, 5, 4, &geo), 6).unwrap();
    let window = Window { col: 1, row: 2, width: 2, height: 2 };
    let job = Crop { window, band: 1, mask: Some((&[true, false, true, true], 99.0)), level: 6 };
    crop(&path, &out, &job).unwrap();
    let (_, header, bytes, _) = read_window(&out, None, 1).unwrap();
    assert_eq!(bytes, [11, 99, 16, 17]);
    assert_eq!(header.geo.transform, Some([30.0, 0.0, 1030.0, 0.0, -30.0, 1940.0]));
}

#[test]
fn what_can_not_be_written_leaves_nothing() {
    let (folder, geo) = (Folder::new(), geo());
    let out = folder.0.join("out.tif");
    let pixels = [0; 20];
    let whole = |pixels| raster(pixels, Dtype::U8, 5, 4, &geo);
    let nowhere = Geo { transform: Some([0.0; 6]), ..Geo::default() };
    assert!(write_raster(&out, &whole(&pixels[..19]), 6).is_err());
    assert!(write_raster(&out, &whole(&pixels), 0).is_err());
    assert!(write_raster(&out, &whole(&pixels), 13).is_err());
    assert!(write_raster(&out, &raster(&[], Dtype::U8, 0, 4, &geo), 6).is_err());
    assert!(write_raster(&out, &raster(&pixels, Dtype::U8, 5, 4, &nowhere), 6).is_err());
    assert!(write_raster(&folder.0.join("missing/out.tif"), &whole(&pixels), 6).is_err());
    assert_eq!(names(&folder), 0);
}

#[test]
fn a_mask_of_another_length_is_an_error() {
    let (folder, geo) = (Folder::new(), geo());
    let path = folder.0.join("in.tif");
    write_raster(&path, &raster(&[0; 20], Dtype::U8, 5, 4, &geo), 6).unwrap();
    let window = Window { col: 0, row: 0, width: 5, height: 4 };
    let job = Crop { window, band: 1, mask: Some((&[false; 19], 0.0)), level: 6 };
    let error = crop(&path, &folder.0.join("out.tif"), &job).unwrap_err();
    assert!(error.to_string().contains("a mask of 19 pixels is given for 20"), "{error}");
    assert_eq!(names(&folder), 1);
}

#[test]
fn counts_add_up_over_a_window_that_reaches_beyond() {
    let (folder, geo) = (Folder::new(), geo());
    let path = folder.0.join("qa.tif");
    let pixels = [0, 1, 2, 3, 4, 5];
    write_raster(&path, &raster(&pixels, Dtype::U8, 3, 2, &geo), 6).unwrap();
    let mut classes = [5; 256];
    classes[..5].copy_from_slice(&[1, 2, 3, 4, 5]);
    let window = Window { col: -1, row: 0, width: 4, height: 3 };
    let mask = [true; 12];
    let site = Site { window, mask: &mask };
    assert_eq!(count_quality(&path, &classes, site, 1).unwrap(), [6, 1, 1, 1, 1, 2]);
    assert_eq!(count_pixels(&pixels, 1, &classes, site, 3, 2), Some([6, 1, 1, 1, 1, 2]));
    assert_eq!(count_pixels(&pixels, 1, &classes[..255], site, 3, 2), None);
    assert_eq!(count_pixels(&pixels, 1, &classes, Site { window, mask: &mask[1..] }, 3, 2), None);
    assert_eq!(count_pixels(&pixels[1..], 1, &classes, site, 3, 2), None);
    assert!(count_quality(&path, &classes, Site { window, mask: &mask[1..] }, 1).is_err());
}
