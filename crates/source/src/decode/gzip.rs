//! A gzip member, strictly: its header, CRC and length (RFC 1952).
//!
//! flate2's own `MultiGzDecoder` refuses NUL padding and cannot say in which member and at which
//! byte a file breaks, so the framing is read here.

use crc32fast::Hasher;

use super::decoder::{Decode, Result, bytes};
use crate::inflate::{Inflate, Stop};
use crate::input::Input;

/// A decoder of a member.
pub(super) struct Gzip {
    inflate: Inflate,
    /// CRC and length of its text.
    crc: Hasher,
    length: u64,
}

const RESERVED_FLAGS: u8 = 0xe0;
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

impl Gzip {
    pub(super) fn new() -> Self {
        Self {
            inflate: Inflate::new(),
            crc: Hasher::new(),
            length: 0,
        }
    }

    /// Compares the text with the trailer: CRC, then length modulo 2^32.
    fn trailer(&self, input: &mut Input) -> Result<()> {
        let [crc, length]: [[u8; 4]; 2] = [bytes(input)?, bytes(input)?];
        if u32::from_le_bytes(crc) != self.crc.clone().finalize() {
            return Err(Stop::Broken("wrong CRC of the text"));
        }
        if u64::from(u32::from_le_bytes(length)) != self.length & u64::from(u32::MAX) {
            return Err(Stop::Broken("wrong length of the text"));
        }
        Ok(())
    }
}

impl Decode for Gzip {
    fn begin(&mut self, input: &mut Input) -> Result<()> {
        self.inflate.reset();
        self.crc.reset();
        self.length = 0;
        let mut crc = Hasher::new();
        let fixed: [u8; 10] = counted(input, &mut crc)?;
        if fixed[..2] != [0x1f, 0x8b] {
            return Err(Stop::Broken("not a gzip header"));
        }
        if fixed[2] != 8 {
            return Err(Stop::Broken("a compression method other than deflate"));
        }
        let flags = fixed[3];
        if flags & RESERVED_FLAGS != 0 {
            return Err(Stop::Broken("reserved flags are set in a gzip header"));
        }
        if flags & EXTRA != 0 {
            let length: [u8; 2] = counted(input, &mut crc)?;
            for _ in 0..u16::from_le_bytes(length) {
                let [_]: [u8; 1] = counted(input, &mut crc)?;
            }
        }
        for text in [NAME, COMMENT] {
            while flags & text != 0 && counted::<1>(input, &mut crc)? != [0] {}
        }
        if flags & HEADER_CRC != 0 {
            let expected = crc.clone().finalize().to_le_bytes();
            let found: [u8; 2] = counted(input, &mut crc)?;
            if found != expected[..2] {
                return Err(Stop::Broken("wrong CRC of a gzip header"));
            }
        }
        Ok(())
    }

    fn read(&mut self, input: &mut Input, into: &mut [u8]) -> Result<usize> {
        let decoded = self.inflate.read(input, into)?;
        self.crc.update(&into[..decoded]);
        self.length += decoded as u64;
        if decoded == 0 {
            self.trailer(input)?;
        }
        Ok(decoded)
    }
}

/// Reads `N` bytes of a header and adds them to its CRC.
fn counted<const N: usize>(input: &mut Input, crc: &mut Hasher) -> Result<[u8; N]> {
    let bytes = bytes(input)?;
    crc.update(&bytes);
    Ok(bytes)
}
