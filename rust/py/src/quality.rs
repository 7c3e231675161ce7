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
    let (classes, mask) = (classes.as_slice()?.to_vec(), mask_of(&site, window)?);
    let site = Site { window: self::window(window), mask: &mask };
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
    let (classes, mask) = (classes.as_slice()?.to_vec(), mask_of(&site, window)?);
    let site = Site { window: self::window(window), mask: &mask };
    let (bytes, item) = (native(values)?, values.dtype().itemsize());
    let on = site.window.on(size.0, size.1);
    let due = on.map_or(0, |on| on.width as usize * on.height as usize);
    if on.is_some() && bytes.len() != due * item || classes.len() != 1 << (8 * item.min(4)) {
        let shape = values.shape();
        return Err(PyValueError::new_err(format!(
            "values {shape:?} of {item} bytes and {} classes do not fit window and size",
            classes.len()
        )));
    }
    let counts = door::without_gil(py, || Ok(earthrecord_core::count_pixels(&bytes, item, &classes, site, size.0, size.1)))?;
    counts.map(told).ok_or_else(|| PyValueError::new_err("values that the class table does not hold"))
}

/// The mask row by row.
fn mask_of(site: &PyReadonlyArray2<'_, bool>, window: Block) -> PyResult<Vec<bool>> {
    let view = site.as_array();
    if view.dim() != (window.3 as usize, window.2 as usize) {
        return Err(PyValueError::new_err(format!("a site mask of {:?} for a window of ({}, {})", view.dim(), window.3, window.2)));
    }
    Ok(view.iter().copied().collect())
}

fn told([outside, fill, cloud, shadow, snow, clear]: [u64; 6]) -> Counts {
    (outside, fill, cloud, shadow, snow, clear)
}
