//! Raw deflate (RFC 1951), streamed, as strict as zlib: what zlib refuses is refused.
//!
//! It is here because inflating is the largest share of a conversion, and no decoder at hand is
//! fast, streams, and builds with cargo alone: `docs/design.md` has the measurement. It wins by
//! never stopping inside of a symbol: the input keeps a few bytes ahead and the output a few of
//! slack, so the inner loop checks both once a turn. Tests hold it equal to flate2's zlib-rs.

mod fast;
mod state;
mod table;
mod tests;

use super::input::Input;
use fast::{copy_match, write_literals};
use state::{Block, ROOM, Result, WINDOW};
pub(super) use state::{Inflate, Stop};
use table::{
    Codes, DISTANCE_BITS, END_OF_BLOCK, INVALID, LITERAL, SPECIAL, TableEntry, code_length_symbol,
    distance, distance_symbol, length, literal_symbol, look_up, take, value,
};

/// The order in which the lengths of the code-length code are written.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

impl Inflate {
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
            input.look_ahead(8)?;
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
