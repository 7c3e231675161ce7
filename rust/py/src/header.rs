use crate::door;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

type Transform = (f64, f64, f64, f64, f64, f64);

/// What the first image directory of a TIFF file says.
#[pyclass(frozen, module = "earthrecord._core")]
pub struct Header(earthrecord_core::Header);

#[pymethods]
impl Header {
    #[getter]
    fn path(&self) -> String {
        self.0.path.to_string_lossy().into_owned()
    }

    #[getter]
    fn file_bytes(&self) -> u64 {
        self.0.file_bytes
    }

    #[getter]
    fn width(&self) -> u32 {
        self.0.width
    }

    #[getter]
    fn height(&self) -> u32 {
        self.0.height
    }

    #[getter]
    fn bands(&self) -> u16 {
        self.0.bands
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.dtype.map_or("", earthrecord_core::Dtype::name)
    }

    #[getter]
    fn compression(&self) -> String {
        self.0.compression_name()
    }

    #[getter]
    fn predictor(&self) -> u16 {
        self.0.predictor
    }

    #[getter]
    fn planar(&self) -> u16 {
        self.0.planar
    }

    #[getter]
    fn tile(&self) -> Option<(u32, u32)> {
        self.0.tile
    }

    #[getter]
    fn rows_per_strip(&self) -> u32 {
        self.0.rows_per_strip
    }

    #[getter]
    fn big_endian(&self) -> bool {
        self.0.big_endian
    }

    #[getter]
    fn bigtiff(&self) -> bool {
        self.0.bigtiff
    }

    #[getter]
    fn transform(&self) -> Option<Transform> {
        self.0.geo.transform.map(|[a, b, c, d, e, f]| (a, b, c, d, e, f))
    }

    #[getter]
    fn geokeys<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.geo.blob())
    }

    #[getter]
    fn epsg(&self) -> Option<u16> {
        self.0.geo.epsg()
    }

    #[getter]
    fn nodata(&self) -> Option<&str> {
        self.0.nodata.as_deref()
    }

    #[getter]
    fn gdal_metadata(&self) -> Option<&str> {
        self.0.gdal_metadata.as_deref()
    }

    #[getter]
    fn overviews(&self) -> usize {
        self.0.overviews
    }

    #[getter]
    fn readable(&self) -> bool {
        self.0.why_not.is_empty()
    }

    #[getter]
    fn why_not(&self) -> &str {
        &self.0.why_not
    }

    fn __repr__(&self) -> String {
        format!("Header({}: {} x {}, {} band(s) of {})", self.path(), self.0.width, self.0.height, self.0.bands, self.dtype())
    }
}

/// Read one header without decoding a pixel.
#[pyfunction]
pub fn scan_header(py: Python<'_>, path: PathBuf) -> PyResult<Header> {
    door::without_gil(py, || earthrecord_core::scan(&path)).map(Header)
}

/// Read many headers; a file that fails gives its exception in its place.
#[pyfunction]
pub fn scan_headers<'py>(py: Python<'py>, paths: Vec<PathBuf>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let found = door::over_all(py, &paths, |path| earthrecord_core::scan(path))?;
    found
        .into_iter()
        .map(|header| match header {
            Ok(header) => Ok(Bound::new(py, Header(header))?.into_any()),
            Err(error) => Ok(door::raise(py, &error).into_value(py).into_bound(py).into_any()),
        })
        .collect()
}
