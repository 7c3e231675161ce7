//! The module `earthrecord._core`: nothing but the crossing between numpy and the core.

mod door;
mod hash;
mod header;
mod quality;
mod read;
mod write;

#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::hash::sha256_files;
    #[pymodule_export]
    use crate::header::{Header, scan_header, scan_headers};
    #[pymodule_export]
    use crate::quality::{count_classes, count_quality};
    #[pymodule_export]
    use crate::read::read_window;
    #[pymodule_export]
    use crate::write::{crop, geokeys_of_epsg, write_raster};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const DEBUG: bool = cfg!(debug_assertions);
}
