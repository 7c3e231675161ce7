use crate::door;
use earthrecord_core::{Pixels, Window};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use std::path::PathBuf;

pub type Block = (i64, i64, u32, u32);

pub fn window((col, row, width, height): Block) -> Window {
    Window { col, row, width, height }
}

/// Decode a window of one band as an array of (height, width).
#[pyfunction]
#[pyo3(signature = (path, window=None, band=1))]
pub fn read_window<'py>(py: Python<'py>, path: PathBuf, window: Option<Block>, band: u16) -> PyResult<Bound<'py, PyAny>> {
    let (pixels, shape) = door::without_gil(py, || {
        let (dtype, _, bytes, on) = earthrecord_core::read_window(&path, window.map(self::window), band)?;
        Ok((Pixels::from_native(dtype, bytes), [on.height as usize, on.width as usize]))
    })?;
    macro_rules! array {
        ($values:expr) => {
            PyArray1::from_vec(py, $values).reshape(shape)?.into_any()
        };
    }
    Ok(match pixels {
        Pixels::U8(values) => array!(values),
        Pixels::I8(values) => array!(values),
        Pixels::U16(values) => array!(values),
        Pixels::I16(values) => array!(values),
        Pixels::U32(values) => array!(values),
        Pixels::I32(values) => array!(values),
        Pixels::U64(values) => array!(values),
        Pixels::I64(values) => array!(values),
        Pixels::F32(values) => array!(values),
        Pixels::F64(values) => array!(values),
    })
}
