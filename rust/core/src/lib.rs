//! Reading, counting and writing single-band windows of GeoTIFF files. No Python, no network, no clock.

mod codec;
mod error;
mod geo;
mod hash;
mod header;
mod predictor;
mod quality;
mod read;
mod sample;
mod source;
mod write;

pub use error::{Error, Result};
pub use geo::{Geo, epsg_keys};
pub use hash::sha256_file;
pub use header::{Header, scan};
pub use quality::{Site, count_pixels, count_quality};
pub use read::{Window, read_window};
pub use sample::Dtype;
pub use write::{Crop, Raster, crop, write_raster};
