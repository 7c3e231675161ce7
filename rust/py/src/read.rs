use crate::door;
use earthrecord_core::Window;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A window as Python gives it: column, row, width, height.
pub type Block = (i64, i64, i64, i64);

pub fn window((col, row, width, height): Block) -> PyResult<Window> {
    match (u32::try_from(width), u32::try_from(height)) {
        (Ok(width), Ok(height)) => Ok(Window { col, row, width, height }),
        _ => Err(PyValueError::new_err(format!("a window of {width} x {height} pixels; give its columns and rows"))),
    }
}

/// Decode a window of one band as an array of (height, width).
#[pyfunction]
#[pyo3(signature = (path, window=None, band=1))]
pub fn read_window<'py>(py: Python<'py>, path: PathBuf, window: Option<Block>, band: u16) -> PyResult<Bound<'py, PyAny>> {
    let window = window.map(self::window).transpose()?;
    let (dtype, _, bytes, on) = door::without_gil(py, || earthrecord_core::read_window(&path, window, band))?;
    let pixels = PyArray1::from_vec(py, bytes).call_method1("view", (dtype.name(),))?;
    pixels.call_method1("reshape", (on.height, on.width))
}
