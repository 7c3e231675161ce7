use crate::door;
use pyo3::prelude::*;
use std::path::PathBuf;

/// SHA-256 (hex) of many files; a file that fails gives its exception in its place.
#[pyfunction]
pub fn sha256_files<'py>(py: Python<'py>, paths: Vec<PathBuf>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let found = door::over_all(py, &paths, |path| earthrecord_core::sha256_file(path))?;
    found
        .into_iter()
        .map(|hash| match hash {
            Ok(hash) => Ok(hash.into_pyobject(py)?.into_any()),
            Err(error) => Ok(door::raise(py, &error).into_value(py).into_bound(py).into_any()),
        })
        .collect()
}
