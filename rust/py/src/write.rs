use crate::door;
use crate::quality::mask_of;
use crate::read::Block;
use earthrecord_core::{Crop, Dtype, Geo, Raster};
use numpy::{PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// Copy a window of one band into a new file of format 1; size in bytes and SHA-256 (hex).
#[pyfunction]
#[pyo3(signature = (source, target, window, band=1, site=None, mask_value=None, level=6))]
#[allow(clippy::too_many_arguments)]
pub fn crop(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    window: Block,
    band: u16,
    site: Option<PyReadonlyArray2<'_, bool>>,
    mask_value: Option<f64>,
    level: i32,
) -> PyResult<(u64, String)> {
    if site.is_some() != mask_value.is_some() {
        return Err(PyValueError::new_err("a site mask and a mask value go together; give both or none"));
    }
    let mask = site.map(|site| mask_of(&site, window)).transpose()?;
    let job = Crop { window: crate::read::window(window)?, band, mask: mask.as_deref().zip(mask_value), level };
    door::without_gil(py, || earthrecord_core::crop(&source, &target, &job))
}

/// Write an array of (height, width) as format 1; size in bytes and SHA-256 (hex).
#[pyfunction]
#[pyo3(signature = (target, values, transform, geokeys=None, nodata=None, gdal_metadata=None, level=6))]
#[allow(clippy::too_many_arguments)]
pub fn write_raster(
    py: Python<'_>,
    target: PathBuf,
    values: &Bound<'_, PyUntypedArray>,
    transform: [f64; 6],
    geokeys: Option<&[u8]>,
    nodata: Option<&str>,
    gdal_metadata: Option<&str>,
    level: i32,
) -> PyResult<(u64, String)> {
    let (dtype, pixels) = (dtype_of(values)?, native(values)?);
    let &[height, width] = values.shape() else {
        return Err(PyValueError::new_err(format!("an array of shape {:?}; give (height, width)", values.shape())));
    };
    let mut geo =
        Geo::from_blob(geokeys.unwrap_or_default()).ok_or_else(|| PyValueError::new_err("geokeys that are no blob of a header"))?;
    geo.transform = Some(transform);
    let (width, height) = (u32::try_from(width)?, u32::try_from(height)?);
    let raster = Raster { pixels: &pixels, dtype, width, height, geo: &geo, nodata, gdal_metadata };
    door::without_gil(py, || earthrecord_core::write_raster(&target, &raster, level))
}

/// A minimal geokeys blob that names an EPSG code.
#[pyfunction]
pub fn geokeys_of_epsg(py: Python<'_>, code: u16, geographic: bool) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &earthrecord_core::epsg_keys(code, geographic).blob())
}

/// An array's values row by row in native byte order.
pub fn native(values: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<u8>> {
    let order = values.dtype().call_method1("newbyteorder", ("=",))?;
    let plain = values.call_method1("astype", (order,))?;
    plain.call_method1("tobytes", ("C",))?.extract()
}

fn dtype_of(values: &Bound<'_, PyUntypedArray>) -> PyResult<Dtype> {
    let name: String = values.dtype().getattr("name")?.extract()?;
    let all = [Dtype::U8, Dtype::I8, Dtype::U16, Dtype::I16, Dtype::U32, Dtype::I32, Dtype::U64, Dtype::I64, Dtype::F32, Dtype::F64];
    all.into_iter()
        .find(|dtype| dtype.name() == name)
        .ok_or_else(|| PyTypeError::new_err(format!("an array of {name}; give integers, float32 or float64")))
}
