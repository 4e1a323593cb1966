//! Raw deflate (RFC 1951), streamed, as strict as zlib: what zlib refuses is refused.
//!
//! It is here because inflating is the largest share of a conversion, and no decoder at hand is
//! fast, streams, and builds with cargo alone: `docs/design.md` has the measurement. It wins by
//! never stopping inside of a symbol: the input keeps a few bytes ahead and the output a few of
//! slack, so the inner loop checks both once a turn. Tests hold it equal to flate2's zlib-rs.

mod fast;
mod table;

use tracelake_core::error::Error;

use super::input::Input;
use fast::{COPIED, copy_match, write_literals};
use table::{
    Codes, DISTANCE_BITS, DISTANCE_ENTRIES, END_OF_BLOCK, INVALID, LITERAL, LITERAL_BITS,
    LITERAL_ENTRIES, SPECIAL, TableEntry, code_length_symbol, distance, distance_symbol, length,
    literal_symbol, look_up, take, value,
};

/// How far back a match may reach, in bytes.
const WINDOW: usize = 32 << 10;

/// How much text is decoded at once, in bytes; with the window it stays in the second-level cache.
const ROOM: usize = 64 << 10;

/// The most that one turn of the inner loop writes past `WINDOW + ROOM`: six literals, or a literal and the
/// longest match, rounded up to whole copies.
const SLACK: usize = 6 + 258 + COPIED;

/// The window, the room and the slack; of a known size, so that few accesses need a check.
type TextBuffer = [u8; WINDOW + ROOM + SLACK];

/// The order in which the lengths of the code-length code are written.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// Why a stream cannot be decoded.
pub(super) enum Stop {
    /// The input ends inside of it.
    Truncated,
    /// It breaks a rule of the format.
    Broken(&'static str),
    /// The disk fails.
    Disk(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Disk(error)
    }
}

type Result<T> = std::result::Result<T, Stop>;

/// A decoder and the text that it decoded last.
///
/// # Memory
/// About 120 KiB.
pub(super) struct Inflate {
    /// The window, then the text not handed out yet.
    text: Box<TextBuffer>,
    /// The part of the text not handed out yet.
    start: usize,
    end: usize,
    /// Bits ahead, the next one lowest. There may be bits above `count` that will be read again.
    bits: u64,
    count: u32,
    block: Block,
    last: bool,
    literals: Box<[TableEntry; LITERAL_ENTRIES]>,
    /// Bits that literals are looked up with.
    literal_bits: u32,
    distances: Box<[TableEntry; DISTANCE_ENTRIES]>,
    /// Whether the tables are those of the fixed codes, which a file of small members asks for again
    /// and again.
    is_fixed: bool,
}

#[derive(Clone, Copy)]
enum Block {
    Header,
    Stored { left: usize },
    Codes,
    End,
}

impl Inflate {
    pub(super) fn new() -> Self {
        Self {
            text: vec![0; WINDOW + ROOM + SLACK]
                .try_into()
                .expect("a vector of this length"),
            start: 0,
            end: 0,
            bits: 0,
            count: 0,
            block: Block::Header,
            last: false,
            literals: Box::new([INVALID; LITERAL_ENTRIES]),
            literal_bits: LITERAL_BITS,
            distances: Box::new([INVALID; DISTANCE_ENTRIES]),
            is_fixed: false,
        }
    }

    /// Starts a new stream, which knows nothing of the text of the one before.
    pub(super) fn reset(&mut self) {
        (self.start, self.end) = (0, 0);
        (self.bits, self.count) = (0, 0);
        (self.block, self.last) = (Block::Header, false);
    }

    /// Hands out some text; 0 at the end of the stream, and the input is then at the byte after it.
    pub(super) fn read(&mut self, input: &mut Input, into: &mut [u8]) -> Result<usize> {
        while self.start == self.end {
            if let Block::End = self.block {
                return Ok(0);
            }
            if self.end > WINDOW {
                self.text.copy_within(self.end - WINDOW..self.end, 0);
                self.end = WINDOW;
            }
            self.start = self.end;
            self.decode(input)?;
        }
        let read = into.len().min(self.end - self.start);
        into[..read].copy_from_slice(&self.text[self.start..self.start + read]);
        self.start += read;
        Ok(read)
    }

    /// Decodes until there is no more room or the stream ends.
    fn decode(&mut self, input: &mut Input) -> Result<()> {
        while self.end < WINDOW + ROOM {
            match self.block {
                Block::End => return Ok(()),
                Block::Header if self.last => {
                    // Whole bytes that were read ahead belong to what follows.
                    input.unread((self.count / 8) as usize);
                    self.block = Block::End;
                }
                Block::Header => self.header(input)?,
                Block::Stored { left: 0 } => self.block = Block::Header,
                Block::Stored { left } => self.stored(input, left)?,
                Block::Codes => self.codes(input)?,
            }
        }
        Ok(())
    }

    /// Makes sure that `count` bits are ahead; at most 32.
    fn need(&mut self, input: &mut Input, count: u32) -> Result<()> {
        while self.count < count {
            let Some(byte) = input.byte()? else {
                return Err(Stop::Truncated);
            };
            self.bits |= u64::from(byte) << self.count;
            self.count += 8;
        }
        Ok(())
    }

    /// Takes up to 32 bits that are ahead.
    fn take_bits(&mut self, count: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "at most 32 bits are left")]
        let taken = (self.bits & ((1 << count) - 1)) as u32;
        self.drop_bits(count);
        taken
    }

    fn drop_bits(&mut self, count: u32) {
        self.bits >>= count;
        self.count -= count;
    }

    fn get(&mut self, input: &mut Input, count: u32) -> Result<u32> {
        self.need(input, count)?;
        Ok(self.take_bits(count))
    }

    fn header(&mut self, input: &mut Input) -> Result<()> {
        self.last = self.get(input, 1)? == 1;
        match self.get(input, 2)? {
            0 => {
                self.drop_bits(self.count % 8);
                let length = self.get(input, 16)?;
                let inverse = self.get(input, 16)?;
                if length != !inverse & 0xffff {
                    return Err(Stop::Broken(
                        "a stored block whose lengths contradict each other",
                    ));
                }
                self.block = Block::Stored {
                    left: length as usize,
                };
            }
            1 if self.is_fixed => self.block = Block::Codes,
            1 => {
                let mut lengths = [8; 320];
                lengths[144..256].fill(9);
                lengths[256..280].fill(7);
                lengths[288..].fill(5);
                self.tables(&lengths[..288], &lengths[288..320])?;
                self.is_fixed = true;
            }
            2 => self.dynamic(input)?,
            _ => return Err(Stop::Broken("a block of a type that does not exist")),
        }
        Ok(())
    }

    fn stored(&mut self, input: &mut Input, left: usize) -> Result<()> {
        // Bytes that were read ahead as bits come first.
        input.unread((self.count / 8) as usize);
        (self.bits, self.count) = (0, 0);
        let room = &mut self.text[self.end..WINDOW + ROOM];
        let wanted = left.min(room.len());
        let read = input.copy(&mut room[..wanted])?;
        if read == 0 {
            return Err(Stop::Truncated);
        }
        self.end += read;
        self.block = Block::Stored { left: left - read };
        Ok(())
    }

    /// Reads the codes of a dynamic block.
    fn dynamic(&mut self, input: &mut Input) -> Result<()> {
        let literals = self.get(input, 5)? as usize + 257;
        let distances = self.get(input, 5)? as usize + 1;
        let codes = self.get(input, 4)? as usize + 4;
        if literals > 286 || distances > 30 {
            return Err(Stop::Broken("too many length or distance codes"));
        }
        let mut lengths = [0_u8; 19];
        for &symbol in &ORDER[..codes] {
            #[expect(clippy::cast_possible_truncation, reason = "three bits")]
            let length = self.get(input, 3)? as u8;
            lengths[symbol] = length;
        }
        let mut table = [INVALID; 128];
        Codes::new(&lengths)
            .filter(|codes| codes.is_complete)
            .ok_or(Stop::Broken("an invalid code for code lengths"))?
            .fill(&mut table, 7, code_length_symbol);
        let mut lengths = [0_u8; 320];
        let mut at = 0;
        while at < literals + distances {
            // A code has at most 7 bits, of which fewer may be left at the very end.
            while self.count < 7 {
                let Some(byte) = input.byte()? else { break };
                self.bits |= u64::from(byte) << self.count;
                self.count += 8;
            }
            let entry = table[(self.bits & 0x7f) as usize];
            if entry & SPECIAL != 0 {
                return Err(Stop::Broken("an invalid code for code lengths"));
            }
            if take(entry) > self.count {
                return Err(Stop::Truncated);
            }
            self.drop_bits(take(entry));
            let symbol = value(entry);
            let (length, times) = match symbol {
                16 if at == 0 => return Err(Stop::Broken("a repeat of no code length")),
                16 => (lengths[at - 1], 3 + self.get(input, 2)? as usize),
                17 => (0, 3 + self.get(input, 3)? as usize),
                18 => (0, 11 + self.get(input, 7)? as usize),
                _ => (u8::try_from(symbol).unwrap_or_default(), 1),
            };
            if at + times > literals + distances {
                return Err(Stop::Broken("a repeat of too many code lengths"));
            }
            lengths[at..at + times].fill(length);
            at += times;
        }
        if lengths[256] == 0 {
            return Err(Stop::Broken("no code for the end of a block"));
        }
        let (literals, rest) = lengths.split_at(literals);
        self.tables(literals, &rest[..distances])
    }

    /// Makes both tables and enters the block.
    fn tables(&mut self, literals: &[u8], distances: &[u8]) -> Result<()> {
        self.is_fixed = false;
        let codes =
            Codes::new(literals).ok_or(Stop::Broken("an invalid code for literals and lengths"))?;
        self.literal_bits = codes.literal_bits();
        codes.fill(&mut self.literals[..], self.literal_bits, literal_symbol);
        codes.combine_literals(&mut self.literals[..], self.literal_bits);
        Codes::new(distances)
            .ok_or(Stop::Broken("an invalid code for distances"))?
            .fill(&mut self.distances[..], DISTANCE_BITS, distance_symbol);
        self.block = Block::Codes;
        Ok(())
    }

    /// Decodes literals and matches until the block ends or there is no more room.
    fn codes(&mut self, input: &mut Input) -> Result<()> {
        while self.end < WINDOW + ROOM {
            input.look_ahead()?;
            if input.ahead().len() >= 8 {
                if self.fast(input)? {
                    return Ok(());
                }
            } else if self.slow(input)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Decodes one entry near the end of the input, and the distance if it has a length; true at the end
    /// of the block.
    fn slow(&mut self, input: &mut Input) -> Result<bool> {
        while self.count < 56 {
            let Some(byte) = input.byte()? else { break };
            self.bits |= u64::from(byte) << self.count;
            self.count += 8;
        }
        // An entry counts only if all of its bits were read: the bits above `count` are zeros, and may be past the
        // end of the input.
        self.bits &= (1 << self.count) - 1;
        let entry = look_up(&self.literals[..], self.literal_bits, self.bits);
        let (entry, ahead) = self.whole(entry, "an invalid code for a literal or a length")?;
        if entry & LITERAL != 0 {
            self.end += write_literals(&mut self.text, self.end, entry);
            return Ok(false);
        }
        if entry & SPECIAL != 0 {
            self.block = Block::Header;
            return Ok(true);
        }
        self.end += write_literals(&mut self.text, self.end, entry);
        let length = length(entry, ahead);
        let entry = look_up(&self.distances[..], DISTANCE_BITS, self.bits);
        let (entry, ahead) = self.whole(entry, "an invalid code for a distance")?;
        let distance = distance(entry, ahead);
        if distance > self.end {
            return Err(Stop::Broken("a match that reaches back before the text"));
        }
        copy_match(&mut self.text, self.end, distance, length);
        self.end += length;
        Ok(false)
    }

    /// Takes the bits of an entry if all were read; also returns the bits as they were before.
    fn whole(&mut self, entry: TableEntry, invalid: &'static str) -> Result<(TableEntry, u64)> {
        let is_invalid = entry & SPECIAL != 0 && entry & END_OF_BLOCK != END_OF_BLOCK;
        if take(entry) > self.count || (is_invalid && self.count < 15) {
            return Err(Stop::Truncated);
        }
        if is_invalid {
            return Err(Stop::Broken(invalid));
        }
        let ahead = self.bits;
        self.drop_bits(take(entry));
        Ok((entry, ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Raw;
    use flate2::{Decompress, FlushDecompress, Status};
    use proptest::prelude::*;
    use std::io::Write;
    use tracelake_core::instructions::plainly;

    /// Decodes a stream piecemeal; returns the text and how many bytes follow the stream. Asserts that BMI
    /// makes no difference.
    fn ours(stream: &[u8], piece: usize) -> Option<(Vec<u8>, usize)> {
        let plain = plainly(|| decoded(stream, piece));
        assert!(!cfg!(bmi) || decoded(stream, piece) == plain, "{stream:x?}");
        plain
    }

    fn decoded(stream: &[u8], piece: usize) -> Option<(Vec<u8>, usize)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(stream).unwrap();
        let mut input =
            Input::new(Raw::open(&tracelake_core::Context::new(), &file.path().into()).unwrap());
        let mut inflate = Inflate::new();
        let (mut text, mut buffer) = (Vec::new(), vec![0; piece]);
        loop {
            match inflate.read(&mut input, &mut buffer).ok()? {
                0 => break,
                read => text.extend_from_slice(&buffer[..read]),
            }
        }
        let mut rest = 0;
        while input.byte().unwrap().is_some() {
            rest += 1;
        }
        Some((text, rest))
    }

    /// Like [`ours`], by zlib-rs.
    fn plain(stream: &[u8]) -> Option<(Vec<u8>, usize)> {
        let mut inflate = Decompress::new(false);
        let mut text = Vec::with_capacity(1 << 20);
        loop {
            let read = usize::try_from(inflate.total_in()).unwrap();
            let before = text.len();
            let status = inflate.decompress_vec(&stream[read..], &mut text, FlushDecompress::None);
            let read_on = usize::try_from(inflate.total_in()).unwrap();
            match status.ok()? {
                Status::StreamEnd => return Some((text, stream.len() - read_on)),
                _ if read_on == read && text.len() == before && text.capacity() > text.len() => {
                    return None;
                }
                _ => text.reserve(1 << 20),
            }
        }
    }

    fn deflate(text: &[u8], level: u32) -> Vec<u8> {
        let level = flate2::Compression::new(level);
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Text with matches of all kinds: near, far, long, of one byte.
    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..300),
            ("[0-9,.e\n-]{0,60}", 0..200_usize).prop_map(|(text, times)| text.repeat(times).into()),
            (any::<u8>(), 0..70_000_usize).prop_map(|(byte, times)| vec![byte; times]),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn reads_what_was_written(text in texts(), level in 0..10_u32, piece in 1..100_000_usize) {
            let mut stream = deflate(&text, level);
            stream.extend(b"rest");
            prop_assert!(ours(&stream, piece) == Some((text, 4)));
        }

        /// The plain twin: the same verdict on whatever is broken, and the same text and end.
        #[test]
        fn equals_zlib_on_broken_streams(
            text in texts(),
            level in 0..10_u32,
            flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut stream = deflate(&text, level);
            for (at, mask) in flips {
                let at = at.index(stream.len());
                stream[at] ^= mask;
            }
            prop_assert!(ours(&stream, 4096) == plain(&stream));
        }

        #[test]
        fn equals_zlib_on_any_bytes(stream in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(ours(&stream, 4096) == plain(&stream));
        }
    }

    /// Random bytes, equal in every run.
    fn random_bytes() -> impl Iterator<Item = u8> {
        let step = |state: &u64| {
            Some(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            )
        };
        std::iter::successors(Some(1_u64), step).map(|state| state.to_le_bytes()[7])
    }

    /// The build script decides whether the next test is ignored.
    #[test]
    fn the_tests_were_built_for_this_processor() {
        let says = "run `touch crates/source/build.rs` and test again";
        assert_eq!(cfg!(bmi), tracelake_core::instructions::has_bmi(), "{says}");
    }

    /// All other tests decode with BMI as well then.
    #[test]
    #[cfg_attr(not(bmi), ignore = "needs a processor with BMI1 and BMI2")]
    fn decodes_with_bmi_as_without() {
        let mut bytes = random_bytes();
        for level in 0..10 {
            let digits: Vec<u8> = bytes
                .by_ref()
                .take(200_000)
                .map(|byte| b'0' + byte % 12)
                .collect();
            let stream = deflate(&digits, level);
            assert!(decoded(&stream, 1 << 20) == Some((digits, 0)), "{level}");
            for length in (0..stream.len()).step_by(stream.len() / 100) {
                let cut = &stream[..length];
                assert!(
                    decoded(cut, 4096) == plainly(|| decoded(cut, 4096)),
                    "{level}, {length}"
                );
            }
        }
    }

    #[test]
    fn blocks_of_fixed_codes_come_before_and_after_others() {
        let long = b"0.0625,17,0.5\n0.125,4,1\n".repeat(500);
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        for text in [&b"abc"[..], &long, b"abd", b"abe", &long, b"abf"] {
            encoder.write_all(text).unwrap();
            // Ends the block.
            encoder.flush().unwrap();
        }
        let stream = encoder.finish().unwrap();
        let text = [b"abc", &long[..], b"abdabe", &long, b"abf"].concat();
        assert!(ours(&stream, 1 << 20) == Some((text, 0)));
    }

    #[test]
    fn a_stream_does_not_reach_into_the_one_before() {
        // A block of fixed codes: a match of three bytes, one byte back.
        let reaches_back = [0x03, 0x02, 0];
        for rest in [0, 12] {
            let stream = [&deflate(b"before", 9)[..], &reaches_back, &[0; 12][..rest]].concat();
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&stream).unwrap();
            let mut input = Input::new(
                Raw::open(&tracelake_core::Context::new(), &file.path().into()).unwrap(),
            );
            let (mut inflate, mut text) = (Inflate::new(), [0; 16]);
            let mut read = || inflate.read(&mut input, &mut text);
            assert!(matches!((read(), read()), (Ok(6), Ok(0))));
            inflate.reset();
            let outcome = inflate.read(&mut input, &mut text);
            assert!(matches!(outcome, Err(Stop::Broken(_))), "{rest}");
        }
    }

    #[test]
    fn equals_zlib_on_random_headers_of_dynamic_blocks() {
        // Random bits reach the rules for the header; hardly any get past the code for code lengths.
        let mut bytes = random_bytes();
        for _ in 0..20_000 {
            let mut stream: Vec<u8> = bytes.by_ref().take(96).collect();
            stream[0] = stream[0] & !7 | 5;
            assert!(ours(&stream, 64) == plain(&stream), "{stream:?}");
        }
    }

    /// Codes with too few bits that are allowed all the same, which no encoder at hand writes.
    #[test]
    fn equals_zlib_on_codes_that_are_not_complete() {
        // Headers up to where the code for distances is written.
        const LITERAL_MATCH_END: [u8; 14] = [
            0x0d, 0xe0, 0x41, 0x92, 0x24, 0x49, 0x92, 0x24, 0x41, 0xbc, 0x15, 0xff, 0xff, 0x09,
        ];
        const END: [u8; 10] = [0x05, 0xe0, 0x41, 0x92, 0x24, 0x49, 0x92, 0x24, 0x41, 0xfc];
        let streams: [(&[u8], &[u8], Option<&str>); _] = [
            // One code for a distance of one bit, and its other bit.
            (&LITERAL_MATCH_END, &[0x22, 0xb4, 0], Some("aaaa")),
            (&LITERAL_MATCH_END, &[0x22, 0xf4, 0], None),
            // No code for a distance, and a match all the same.
            (&LITERAL_MATCH_END, &[0x22, 0x10], Some("a")),
            (&LITERAL_MATCH_END, &[0x22, 0xb0, 0], None),
            // One code for a distance of two bits.
            (&LITERAL_MATCH_END, &[0x22, 0x12], None),
            // The end of the block is the only code, and its other bit.
            (&END, &[0xff, 0xd7, 8, 0], Some("")),
            (&END, &[0xff, 0xd7, 8, 1], None),
        ];
        for (header, rest, text) in streams {
            let mut stream = [header, rest].concat();
            // Near the end of the input, and in the inner loop.
            for rest in [0, 12] {
                stream.extend(&b"rest1234rest"[..rest]);
                let whole = text.map(|text| (text.into(), rest));
                assert!(ours(&stream, 64) == whole, "{stream:x?}");
                assert!(plain(&stream) == whole, "{stream:x?}");
            }
        }
    }

    /// A block of the codes `used`, each of one bit, and the text of the first and the second one of them.
    /// The lengths below `lengths` have codes of four bits themselves.
    fn dynamic_block(
        literals: usize,
        distances: usize,
        used: [usize; 2],
        lengths: usize,
    ) -> Vec<u8> {
        let mut bits = Vec::new();
        let mut put = |value: usize, count: u32| {
            bits.extend((0..count).map(|at| u8::from(value >> at & 1 == 1)));
        };
        put(0b101, 3);
        put(literals - 257, 5);
        put(distances - 1, 5);
        put(ORDER.len() - 4, 4);
        for symbol in ORDER {
            put(if symbol < lengths { 4 } else { 0 }, 3);
        }
        for symbol in 0..literals + distances {
            // Codes are written with their highest bit first.
            put(usize::from(used.contains(&symbol)) << 3, 4);
        }
        put(0b10, 2);
        let bytes = bits.chunks(8);
        let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit);
        bytes.map(byte).collect()
    }

    #[test]
    fn headers_of_dynamic_blocks_are_as_strict_as_those_of_zlib() {
        let end = [0, 256];
        for (stream, is_right) in [
            (dynamic_block(257, 1, end, 16), true),
            (dynamic_block(286, 30, end, 16), true),
            (dynamic_block(287, 1, end, 16), false),
            (dynamic_block(288, 1, end, 16), false),
            (dynamic_block(257, 31, end, 16), false),
            (dynamic_block(257, 32, end, 16), false),
            // Without a code for the end.
            (dynamic_block(257, 1, [0, 1], 16), false),
            // A code for code lengths that isn't complete.
            (dynamic_block(257, 1, end, 15), false),
        ] {
            let text = is_right.then(|| (vec![0], 0));
            assert!(plain(&stream) == text, "{stream:x?}");
            assert!(ours(&stream, 64) == text, "{stream:x?}");
        }
    }

    #[test]
    fn the_longest_matches_may_end_anywhere() {
        let mut bytes = random_bytes();
        for start in 0..300 {
            let mut text: Vec<u8> = bytes.by_ref().take(start).collect();
            let block: Vec<u8> = bytes.by_ref().take(64).collect();
            text.extend(block.iter().cycle().take(100_000));
            assert!(
                ours(&deflate(&text, 9), 1 << 20) == Some((text, 0)),
                "{start}"
            );
        }
    }
}
