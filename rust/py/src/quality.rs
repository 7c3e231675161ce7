use crate::door;
use crate::read::{Block, window};
use crate::write::native;
use earthrecord_core::Site;
use numpy::{PyArrayDescrMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

type Counts = (u64, u64, u64, u64, u64, u64);

/// Count the site's pixels by quality class: (outside, fill, cloud, shadow, snow, clear).
#[pyfunction]
#[pyo3(signature = (path, classes, window, site, band=1))]
pub fn count_quality(
    py: Python<'_>,
    path: PathBuf,
    classes: PyReadonlyArray1<'_, u8>,
    window: Block,
    site: PyReadonlyArray2<'_, bool>,
    band: u16,
) -> PyResult<Counts> {
    let (classes, mask) = (table_of(&classes)?, mask_of(&site, window)?);
    let site = Site { window: self::window(window)?, mask: &mask };
    door::without_gil(py, || earthrecord_core::count_quality(&path, &classes, site, band)).map(told)
}

/// `count_quality` over an array that was decoded elsewhere.
#[pyfunction]
pub fn count_classes(
    py: Python<'_>,
    values: &Bound<'_, PyUntypedArray>,
    classes: PyReadonlyArray1<'_, u8>,
    window: Block,
    site: PyReadonlyArray2<'_, bool>,
    size: (u32, u32),
) -> PyResult<Counts> {
    let (classes, mask) = (table_of(&classes)?, mask_of(&site, window)?);
    let site = Site { window: self::window(window)?, mask: &mask };
    let (bytes, item, shape) = (native(values)?, values.dtype().itemsize(), values.shape());
    let on = site.window.on(size.0, size.1);
    let fits = on.is_none_or(|on| *shape == [on.height as usize, on.width as usize]) && b"iu".contains(&values.dtype().kind());
    let counts = door::without_gil(py, || Ok(earthrecord_core::count_pixels(&bytes, item, &classes, site, size.0, size.1)))?;
    counts.filter(|_| fits).map(told).ok_or_else(|| {
        let (of, entries) = (values.dtype(), classes.len());
        PyValueError::new_err(format!("values {shape:?} of {of} do not fit window, size or a class table of {entries} entries"))
    })
}

/// The class of every value, 1 to 5.
fn table_of(classes: &PyReadonlyArray1<'_, u8>) -> PyResult<Vec<u8>> {
    let table: Vec<u8> = classes.as_array().iter().copied().collect();
    match table.iter().position(|class| !(1..=5).contains(class)) {
        Some(value) => Err(PyValueError::new_err(format!("class {} of the value {value}; classes are 1 to 5", table[value]))),
        None => Ok(table),
    }
}

/// The mask row by row.
pub fn mask_of(site: &PyReadonlyArray2<'_, bool>, window: Block) -> PyResult<Vec<bool>> {
    let view = site.as_array();
    if (view.nrows() as i64, view.ncols() as i64) != (window.3, window.2) {
        return Err(PyValueError::new_err(format!("a site mask of {:?} for a window of ({}, {})", view.dim(), window.3, window.2)));
    }
    Ok(view.iter().copied().collect())
}

fn told([outside, fill, cloud, shadow, snow, clear]: [u64; 6]) -> Counts {
    (outside, fill, cloud, shadow, snow, clear)
}
