//! The types that pixels come in.

/// A numpy-like pixel type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Dtype {
    /// From TIFF's SampleFormat and BitsPerSample; None where numpy has no such type (or the core does not read it).
    pub fn from_tiff(format: u64, bits: u64) -> Option<Self> {
        Some(match (format, bits) {
            (1 | 4, 8) => Self::U8,
            (1 | 4, 16) => Self::U16,
            (1 | 4, 32) => Self::U32,
            (1 | 4, 64) => Self::U64,
            (2, 8) => Self::I8,
            (2, 16) => Self::I16,
            (2, 32) => Self::I32,
            (2, 64) => Self::I64,
            (3, 32) => Self::F32,
            (3, 64) => Self::F64,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::U16 => "uint16",
            Self::I16 => "int16",
            Self::U32 => "uint32",
            Self::I32 => "int32",
            Self::U64 => "uint64",
            Self::I64 => "int64",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }

    /// Bytes of one pixel.
    pub fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// TIFF's SampleFormat.
    pub fn tiff_format(self) -> u16 {
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => 1,
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => 2,
            Self::F32 | Self::F64 => 3,
        }
    }

    /// A number as one pixel in native byte order; None where an integer type can not hold it exactly, or a float type not at all.
    pub fn encode(self, value: f64) -> Option<Vec<u8>> {
        macro_rules! whole {
            ($t:ty) => {{
                let fits = value.fract() == 0.0 && value >= <$t>::MIN as f64 && value < <$t>::MAX as f64 + 1.0;
                fits.then(|| (value as $t).to_ne_bytes().to_vec())
            }};
        }
        match self {
            Self::U8 => whole!(u8),
            Self::I8 => whole!(i8),
            Self::U16 => whole!(u16),
            Self::I16 => whole!(i16),
            Self::U32 => whole!(u32),
            Self::I32 => whole!(i32),
            Self::U64 => whole!(u64),
            Self::I64 => whole!(i64),
            Self::F32 => ((value as f32).is_finite() || !value.is_finite()).then(|| (value as f32).to_ne_bytes().to_vec()),
            Self::F64 => Some(value.to_ne_bytes().to_vec()),
        }
    }

    /// The pixel that stands where a file stores none: its nodata value, brought into the type's range as GDAL does; 0 without one.
    pub fn sparse(self, nodata: Option<&str>) -> Vec<u8> {
        let text = nodata.unwrap_or("0");
        let value: f64 = text.parse().unwrap_or(0.0);
        macro_rules! whole {
            ($t:ty) => {
                text.parse::<$t>().unwrap_or(value.round() as $t).to_ne_bytes().to_vec()
            };
        }
        match self {
            Self::U8 => whole!(u8),
            Self::I8 => whole!(i8),
            Self::U16 => whole!(u16),
            Self::I16 => whole!(i16),
            Self::U32 => whole!(u32),
            Self::I32 => whole!(i32),
            Self::U64 => whole!(u64),
            Self::I64 => whole!(i64),
            Self::F32 => (value as f32).to_ne_bytes().to_vec(),
            Self::F64 => value.to_ne_bytes().to_vec(),
        }
    }
}
