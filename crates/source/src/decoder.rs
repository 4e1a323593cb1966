//! The bytes of a file, decompressed as its name says.

use tracelake_core::error::Result;

use super::gunzip::Gunzip;
use super::raw::Raw;
use super::unzip::Unzip;

pub(super) enum Decoder {
    Plain(Raw),
    Gzip(Box<Gunzip>),
    Zip(Box<Unzip>),
}

impl Decoder {
    /// Reads some bytes into a buffer that is not empty; 0 at the end.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        // A few bytes of gzip can yield a lot of text, so asking at each read from the disk isn't enough.
        self.raw().check_cancelled()?;
        match self {
            Self::Plain(raw) => raw.read(into),
            Self::Gzip(gunzip) => gunzip.read(into),
            Self::Zip(unzip) => unzip.read(into),
        }
    }

    pub(super) fn raw(&self) -> &Raw {
        match self {
            Self::Plain(raw) => raw,
            Self::Gzip(gunzip) => gunzip.raw(),
            Self::Zip(unzip) => unzip.raw(),
        }
    }

    pub(super) fn raw_mut(&mut self) -> &mut Raw {
        match self {
            Self::Plain(raw) => raw,
            Self::Gzip(gunzip) => gunzip.raw_mut(),
            Self::Zip(unzip) => unzip.raw_mut(),
        }
    }
}
