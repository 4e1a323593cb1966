//! An xz stream (version 1.2.1 of its format): every block with its check, then the index, which has to be that of the
//! blocks. The LZMA2 data are decoded by the crate `lzma-rust2`, whose own reader of streams keeps a record of each block.

use crc32fast::Hasher;
use lzma_rust2::{Action, Lzma2Stream, Status};
use sha2::{Digest, Sha256};

use super::decoder::{Decode, Result, bytes, check_window};
use crate::inflate::Stop;
use crate::input::Input;

pub(super) const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// The last two bytes of a stream.
const END: &[u8] = b"YZ";

/// The number of the filter LZMA2.
const LZMA2: u64 = 0x21;

/// The longest header of a block, in bytes.
const LONGEST_HEADER: usize = 1024;

/// A decoder of a stream.
///
/// # Memory
/// The dictionary, or as much of it as the text fills, and some 100 KiB.
pub(super) struct Xz {
    most: u64,
    /// The flags in the header of the stream, which say how blocks are checked.
    flags: [u8; 2],
    block: Option<Block>,
    blocks: Blocks,
    is_at_end: bool,
}

/// The block that is being decoded.
struct Block {
    data: Lzma2Stream,
    dictionary: u64,
    header: u64,
    /// The sizes that its header says, if it does.
    packed: Option<u64>,
    text: Option<u64>,
    check: Check,
}

/// The checksum of a block.
enum Check {
    None,
    Crc32(Hasher),
    Crc64(u64),
    Sha256(Box<Sha256>),
}

/// The sizes of the blocks: how many there are, and a digest of them. So a million take no more memory than one.
#[derive(Default)]
struct Blocks {
    count: u64,
    sizes: Sha256,
}

impl Xz {
    pub(super) fn new(most: u64) -> Self {
        Self {
            most,
            flags: [0; 2],
            block: None,
            blocks: Blocks::default(),
            is_at_end: false,
        }
    }

    /// Reads the header of a block, or the index and the footer.
    fn next_block(&mut self, input: &mut Input) -> Result<()> {
        input.look_ahead(LONGEST_HEADER)?;
        let ahead = input.ahead();
        let first = *ahead.first().ok_or(Stop::Truncated)?;
        if first == 0 {
            self.index(input)?;
            self.is_at_end = true;
            return Ok(());
        }
        let length = (usize::from(first) + 1) * 4;
        let header = ahead.get(..length).ok_or(Stop::Truncated)?;
        let (header, crc) = header.split_at(length - 4);
        if crc != crc32fast::hash(header).to_le_bytes() {
            return Err(Stop::Broken("wrong CRC of the header of a block"));
        }
        let fields = Fields::of(&header[1..]);
        let fields = fields.ok_or(Stop::Broken("a header of a block that isn't one"))?;
        let Some(dictionary) = fields.dictionary else {
            let reason = "filters other than LZMA2, which are for programs and pictures";
            return Err(Stop::Broken(reason));
        };
        input.pass(length);
        self.block = Some(Block {
            data: Lzma2Stream::new(dictionary),
            dictionary: dictionary.into(),
            header: length as u64,
            packed: fields.packed,
            text: fields.text,
            check: Check::of(self.flags)?,
        });
        Ok(())
    }

    /// Checks the current block at its end.
    fn end_block(&mut self, input: &mut Input, block: Block) -> Result<()> {
        let (packed, text) = (block.data.total_in(), block.data.total_out());
        let is = |said: Option<u64>, found| said.is_none_or(|said| said == found);
        if !is(block.packed, packed) || !is(block.text, text) {
            return Err(Stop::Broken("wrong sizes in the header of a block"));
        }
        skip_zeros(input, packed)?;
        let check = block.check.end();
        for &byte in &check {
            if input.byte()?.ok_or(Stop::Truncated)? != byte {
                return Err(Stop::Broken("wrong checksum of the text"));
            }
        }
        self.blocks
            .add(block.header + packed + check.len() as u64, text);
        Ok(())
    }

    /// Reads the index, which has the sizes of all blocks, and the footer after it.
    fn index(&mut self, input: &mut Input) -> Result<()> {
        let mut index = Index {
            input,
            crc: Hasher::new(),
            length: 0,
        };
        index.byte()?;
        let count = index.number()?;
        let mut blocks = Blocks::default();
        while blocks.count < count && count == self.blocks.count {
            let (size, text) = (index.number()?, index.number()?);
            blocks.add(size, text);
        }
        let is_equal = blocks.count == self.blocks.count
            && blocks.sizes.finalize() == self.blocks.sizes.clone().finalize();
        if !is_equal || count != self.blocks.count {
            return Err(Stop::Broken("an index of other blocks"));
        }
        while !index.length.is_multiple_of(4) {
            if index.byte()? != 0 {
                return Err(Stop::Broken("padding of the index that isn't 0"));
            }
        }
        let (length, crc) = (index.length, index.crc.finalize());
        if bytes(input)? != crc.to_le_bytes() {
            return Err(Stop::Broken("wrong CRC of the index"));
        }
        let crc: [u8; 4] = bytes(input)?;
        let footer: [u8; 6] = bytes(input)?;
        let end: [u8; 2] = bytes(input)?;
        if crc != crc32fast::hash(&footer).to_le_bytes() || end != *END {
            return Err(Stop::Broken("wrong CRC of the footer"));
        }
        let [a, b, c, d, flags @ ..] = footer;
        let said = (u64::from(u32::from_le_bytes([a, b, c, d])) + 1) * 4;
        if said != length + 4 || flags != self.flags {
            return Err(Stop::Broken("a footer of another stream"));
        }
        Ok(())
    }
}

impl Decode for Xz {
    fn begin(&mut self, input: &mut Input) -> Result<()> {
        *self = Self::new(self.most);
        let magic: [u8; 6] = bytes(input)?;
        self.flags = bytes(input)?;
        let crc: [u8; 4] = bytes(input)?;
        if magic != *MAGIC {
            return Err(Stop::Broken("not an xz header"));
        }
        if crc != crc32fast::hash(&self.flags).to_le_bytes() {
            return Err(Stop::Broken("wrong CRC of an xz header"));
        }
        Check::of(self.flags).map(drop)
    }

    fn read(&mut self, input: &mut Input, into: &mut [u8]) -> Result<usize> {
        while !self.is_at_end {
            let Some(block) = &mut self.block else {
                self.next_block(input)?;
                continue;
            };
            // A dictionary takes no more than the text does: `xz -9` gives a small one 64 MiB, too.
            if block.data.total_out() + into.len() as u64 > self.most {
                check_window("a dictionary", block.dictionary, self.most)?;
            }
            let is_over = input.is_at_end()?;
            let done = block.data.process(input.ahead(), into, Action::Run);
            let done = done.map_err(|_| Stop::Broken("broken data"))?;
            let decoded = done.bytes_produced;
            input.pass(done.bytes_consumed);
            block.check.update(&into[..decoded]);
            if done.status == Status::StreamEnd
                && let Some(block) = self.block.take()
            {
                self.end_block(input, block)?;
            } else if decoded == 0 && is_over {
                return Err(Stop::Truncated);
            }
            if decoded > 0 {
                return Ok(decoded);
            }
        }
        Ok(0)
    }
}

impl Blocks {
    fn add(&mut self, size: u64, text: u64) {
        self.count += 1;
        self.sizes.update(size.to_le_bytes());
        self.sizes.update(text.to_le_bytes());
    }
}

/// The fields in the header of a block.
struct Fields {
    packed: Option<u64>,
    text: Option<u64>,
    /// The size of the dictionary, if LZMA2 is the only filter.
    dictionary: Option<u32>,
}

impl Fields {
    /// Reads the header after its length; `None` if it's none.
    fn of(header: &[u8]) -> Option<Self> {
        const PACKED: u8 = 0x40;
        const TEXT: u8 = 0x80;
        const RESERVED: u8 = 0x3c;
        let (&flags, mut rest) = header.split_first()?;
        if flags & RESERVED != 0 {
            return None;
        }
        let mut size = |flag| match flags & flag {
            0 => Some(None),
            _ => number(&mut rest).map(Some),
        };
        let (packed, text) = (size(PACKED)?, size(TEXT)?);
        let (filter, properties) = (number(&mut rest)?, number(&mut rest)?);
        if flags & 3 != 0 || filter != LZMA2 {
            return Some(Self {
                packed,
                text,
                dictionary: None,
            });
        }
        let (&size, padding) = rest.split_first()?;
        let dictionary = match size {
            0..40 => (2 | u32::from(size & 1)) << (size / 2 + 11),
            40 => u32::MAX,
            _ => return None,
        };
        let is_whole = properties == 1 && padding.iter().all(|&byte| byte == 0);
        is_whole.then_some(Self {
            packed,
            text,
            dictionary: Some(dictionary),
        })
    }
}

/// The longest number, in bytes of seven bits.
const LONGEST_NUMBER: usize = 9;

/// Takes a number from bytes that start with one.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let last = bytes
        .iter()
        .take(LONGEST_NUMBER)
        .position(|byte| byte & 0x80 == 0)?;
    let (digits, rest) = bytes.split_at(last + 1);
    *bytes = rest;
    // A zero at its end would be another spelling of the number.
    if last > 0 && digits[last] == 0 {
        return None;
    }
    let digits = digits.iter().rev();
    Some(digits.fold(0, |number, &byte| number << 7 | u64::from(byte & 0x7f)))
}

/// The index of a stream.
struct Index<'a> {
    input: &'a mut Input,
    crc: Hasher,
    length: u64,
}

impl Index<'_> {
    fn byte(&mut self) -> Result<u8> {
        let byte = self.input.byte()?.ok_or(Stop::Truncated)?;
        self.crc.update(&[byte]);
        self.length += 1;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64> {
        let mut digits = [0; LONGEST_NUMBER];
        for at in 0..LONGEST_NUMBER {
            digits[at] = self.byte()?;
            if digits[at] & 0x80 == 0 {
                let found = number(&mut &digits[..=at]);
                return found.ok_or(Stop::Broken("a number of the index that isn't one"));
            }
        }
        Err(Stop::Broken("a number of the index that isn't one"))
    }
}

/// Reads the zeros that pad some bytes to a multiple of four.
fn skip_zeros(input: &mut Input, padded: u64) -> Result<()> {
    for _ in 0..padded.wrapping_neg() % 4 {
        if input.byte()?.ok_or(Stop::Truncated)? != 0 {
            return Err(Stop::Broken("padding of a block that isn't 0"));
        }
    }
    Ok(())
}

impl Check {
    /// The check that the flags of a stream say.
    fn of(flags: [u8; 2]) -> Result<Self> {
        Ok(match flags {
            [0, 0] => Self::None,
            [0, 1] => Self::Crc32(Hasher::new()),
            [0, 4] => Self::Crc64(!0),
            [0, 10] => Self::Sha256(Box::default()),
            _ => return Err(Stop::Broken("a checksum that isn't known")),
        })
    }

    fn update(&mut self, text: &[u8]) {
        match self {
            Self::None => {}
            Self::Crc32(crc) => crc.update(text),
            Self::Crc64(crc) => {
                for &byte in text {
                    let [low, ..] = crc.to_le_bytes();
                    *crc = CRC64[usize::from(low ^ byte)] ^ (*crc >> 8);
                }
            }
            Self::Sha256(digest) => digest.update(text),
        }
    }

    fn end(self) -> Vec<u8> {
        match self {
            Self::None => Vec::new(),
            Self::Crc32(crc) => crc.finalize().to_le_bytes().to_vec(),
            Self::Crc64(crc) => (!crc).to_le_bytes().to_vec(),
            Self::Sha256(digest) => digest.finalize().to_vec(),
        }
    }
}

/// The CRC of each byte, by the polynomial of ECMA-182.
static CRC64: [u64; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut crc, mut bit) = (at as u64, 0);
        while bit < 8 {
            crc = (crc >> 1) ^ ((crc & 1) * 0xc96c_5795_d787_0f42);
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};
