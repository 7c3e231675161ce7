//! GeoTIFF tags: where the pixels lie, and in which CRS, kept as stored.

const POINT: u16 = 2;
const USER_DEFINED: u16 = 32767;

/// The georeference of a raster as its tags give it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Geo {
    /// Affine (a, b, c, d, e, f) to the outer corner of the first pixel.
    pub transform: Option<[f64; 6]>,
    pub directory: Vec<u16>,
    pub doubles: Vec<f64>,
    pub ascii: Vec<u8>,
}

impl Geo {
    /// From ModelPixelScale, ModelTiepoint and ModelTransformation; a half-pixel shift for PixelIsPoint, as GDAL does.
    pub fn locate(&mut self, scale: &[f64], ties: &[f64], matrix: &[f64]) {
        let place = match (scale, ties, matrix) {
            ([sx, sy, ..], [i, j, _, x, y, _, ..], _) => {
                let sy = if *sy < 0.0 { *sy } else { -*sy };
                Some([*sx, 0.0, x - i * sx, 0.0, sy, y - j * sy])
            }
            (_, _, m) if m.len() == 16 => Some([m[0], m[1], m[3], m[4], m[5], m[7]]),
            _ => None,
        };
        self.transform = place.filter(|t| invertible(*t)).map(|t| self.shift(t, -0.5));
    }

    /// The transform as a PixelIsPoint file states it: to the centre of the first pixel.
    pub fn stated(&self, transform: [f64; 6]) -> [f64; 6] {
        self.shift(transform, 0.5)
    }

    fn shift(&self, [a, b, c, d, e, f]: [f64; 6], by: f64) -> [f64; 6] {
        if self.key(1025) == Some(POINT) {
            return [a, b, c + by * (a + b), d, e, f + by * (d + e)];
        }
        [a, b, c, d, e, f]
    }

    /// The value of a short GeoKey.
    pub fn key(&self, wanted: u16) -> Option<u16> {
        let keys = self.directory.get(4..)?.chunks_exact(4);
        keys.filter(|key| key[0] == wanted && key[1] == 0).map(|key| key[3]).next()
    }

    /// The EPSG code where a CRS is named by code alone.
    pub fn epsg(&self) -> Option<u16> {
        let code = match self.key(1024)? {
            1 => self.key(3072),
            2 => self.key(2048),
            _ => None,
        };
        code.filter(|code| *code != USER_DEFINED && *code != 0)
    }

    /// Directory, doubles and text in one little-endian blob; empty without a directory.
    pub fn blob(&self) -> Vec<u8> {
        if self.directory.is_empty() {
            return Vec::new();
        }
        let mut blob = Vec::new();
        blob.extend((self.directory.len() as u32).to_le_bytes());
        blob.extend((self.doubles.len() as u32).to_le_bytes());
        blob.extend(self.directory.iter().flat_map(|value| value.to_le_bytes()));
        blob.extend(self.doubles.iter().flat_map(|value| value.to_le_bytes()));
        blob.extend(&self.ascii);
        blob
    }

    /// From such a blob; None where it is none.
    pub fn from_blob(blob: &[u8]) -> Option<Self> {
        if blob.is_empty() {
            return Some(Self::default());
        }
        let count = |at: usize| Some(u32::from_le_bytes(*blob.get(at..)?.first_chunk()?) as usize);
        let (keys, doubles) = (count(0)?, count(4)?);
        let first = 8usize.checked_add(keys.checked_mul(2)?)?;
        let last = first.checked_add(doubles.checked_mul(8)?)?;
        let directory = blob.get(8..first)?.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
        let doubles = blob.get(first..last)?.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        Some(Self { transform: None, directory, doubles, ascii: blob.get(last..)?.to_vec() })
    }
}

/// Whether a transform gives each pixel a place of its own.
pub fn invertible(transform: [f64; 6]) -> bool {
    let [a, b, _, d, e, _] = transform;
    transform.iter().all(|value| value.is_finite()) && a * e - b * d != 0.0
}

/// The fewest keys that name an EPSG code, pixel is area.
pub fn epsg_keys(code: u16, geographic: bool) -> Geo {
    let (model, key) = if geographic { (2, 2048) } else { (1, 3072) };
    let directory = vec![1, 1, 0, 3, 1024, 0, 1, model, 1025, 0, 1, 1, key, 0, 1, code];
    Geo { directory, ..Geo::default() }
}
