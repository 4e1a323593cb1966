//! The inner loop: literals and matches while there are eight bytes of input and room for text.
//!
//! A turn is bound by what the next code waits for: a look-up, a shift, the look-up of a distance,
//! another shift. So the next code is looked up before more bits are read and before the match is
//! copied, and a table's entry has up to two literals, or a literal and a length. Without these a part of
//! task_usage takes 1.3 times as long, and without the shifts and masks of BMI2 1.15 times. libdeflate,
//! which does not stream, takes 1.2 times as long, and as long on real job_events, which are mostly hashes
//! (CRC included; medians of one thread).

#[cfg(target_arch = "x86_64")]
use tracelake_core::instructions::has_bmi;

use super::state::{Block, COPIED, Inflate, ROOM, Result, Stop, TextBuffer, WINDOW};
use super::table::{
    DISTANCE_BITS, END_OF_BLOCK, LITERAL, SECOND, SPECIAL, TableEntry, distance, length, literals,
    look_up, low, take,
};
use crate::input::Input;

/// Where the text that is decoded at once ends.
const FULL: usize = WINDOW + ROOM;

impl Inflate {
    /// Decodes while eight bytes are ahead and there is room; true at the end of the block.
    pub(super) fn fast(&mut self, input: &mut Input) -> Result<bool> {
        #[cfg(target_arch = "x86_64")]
        if has_bmi() {
            // SAFETY: the processor has what the function is compiled for.
            #[expect(unsafe_code, reason = "measured above")]
            return unsafe { self.fast_with_bmi(input) };
        }
        self.decode_codes(input)
    }

    /// Like [`Self::decode_codes`], for processors with BMI1 and BMI2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2")]
    fn fast_with_bmi(&mut self, input: &mut Input) -> Result<bool> {
        self.decode_codes(input)
    }

    #[inline(always)]
    fn decode_codes(&mut self, input: &mut Input) -> Result<bool> {
        let ahead = input.ahead();
        let (literals, distances) = (&*self.literals, &*self.distances);
        let literal_bits = self.literal_bits;
        let (text, mut end) = (&mut *self.text, self.end);
        let mut bits = Bits {
            bits: self.bits,
            count: self.count,
            at: 0,
        };
        let outcome = 'turns: {
            if !bits.refill(ahead) {
                break 'turns Ok(false);
            }
            let mut entry = literals[low(bits.bits, literal_bits)];
            loop {
                if entry & (LITERAL | SPECIAL) == 0 {
                    // At most 48 bits for the match, and 12 to look up what follows: of the 64 ahead.
                    end += write_literals(text, end, entry);
                    let length = length(entry, bits.bits);
                    bits.take(entry);
                    let entry_of_distance = look_up(&distances[..], DISTANCE_BITS, bits.bits);
                    if entry_of_distance & SPECIAL != 0 {
                        break 'turns Err(Stop::Broken("an invalid code for a distance"));
                    }
                    let distance = distance(entry_of_distance, bits.bits);
                    bits.take(entry_of_distance);
                    entry = literals[low(bits.bits, literal_bits)];
                    if distance > end {
                        break 'turns Err(Stop::Broken(
                            "a match that reaches back before the text",
                        ));
                    }
                    copy_match(text, end, distance, length);
                    end += length;
                } else if entry & LITERAL != 0 {
                    // Only the first code can have more than 12 bits: at most 15 + 12 + 12, and 12 to look
                    // up what follows.
                    for _ in 0..3 {
                        if entry & LITERAL == 0 {
                            break;
                        }
                        end += write_literals(text, end, entry);
                        bits.take(entry);
                        entry = literals[low(bits.bits, literal_bits)];
                    }
                } else if entry & SECOND == SECOND {
                    entry = look_up(&literals[..], literal_bits, bits.bits);
                    continue;
                } else if entry & END_OF_BLOCK == END_OF_BLOCK {
                    bits.take(entry);
                    break 'turns Ok(true);
                } else {
                    break 'turns Err(Stop::Broken("an invalid code for a literal or a length"));
                }
                if end >= FULL || !bits.refill(ahead) {
                    break 'turns Ok(false);
                }
            }
        };
        (self.bits, self.count, self.end) = (bits.bits, bits.count(), end);
        input.pass(bits.at);
        if let Ok(true) = outcome {
            self.block = Block::Header;
        }
        outcome
    }
}

/// The bits ahead while the inner loop runs, and how many bytes of the input they come from.
struct Bits {
    bits: u64,
    /// How many they are, in the lowest six bits. Entries are subtracted whole, because a mask would be
    /// one more step before the next look-up.
    count: u32,
    at: usize,
}

impl Bits {
    fn count(&self) -> u32 {
        self.count % 64
    }

    /// Reads on until at least 56 bits are counted. Those above the count are right, too, so 64 can be
    /// looked at. False where the input has no eight bytes left.
    #[inline(always)]
    fn refill(&mut self, input: &[u8]) -> bool {
        let word = input.get(self.at..self.at + 8);
        let Some(word) = word.and_then(|word| word.first_chunk()) else {
            return false;
        };
        self.bits |= u64::from_le_bytes(*word) << self.count();
        self.at += (63 - self.count() as usize) >> 3;
        // Adds 8 for each byte read: the count is now 56 to 63, and its lowest three bits stay.
        self.count |= 56;
        true
    }

    #[inline(always)]
    fn take(&mut self, entry: TableEntry) {
        debug_assert!(take(entry) <= self.count(), "a turn takes what is ahead");
        self.bits >>= take(entry);
        self.count = self.count.wrapping_sub(entry);
    }
}

/// Writes the literals of an entry, and returns how many. Two are always written; what follows
/// overwrites those that don't count.
#[inline(always)]
pub(super) fn write_literals(text: &mut TextBuffer, end: usize, entry: TableEntry) -> usize {
    let (both, count) = literals(entry);
    text[end..end + 2].copy_from_slice(&both);
    count
}

/// Copies a match of up to 258 bytes to `end`; it may write up to [`COPIED`] bytes more.
#[inline(always)]
pub(super) fn copy_match(text: &mut TextBuffer, end: usize, distance: usize, length: usize) {
    let from = end - distance;
    if distance >= COPIED {
        // Each step reads bytes that an earlier one wrote; most matches take one step.
        let mut done = 0;
        loop {
            text.copy_within(from + done..from + done + COPIED, end + done);
            done += COPIED;
            if done >= length {
                break;
            }
        }
    } else if distance == 1 {
        let byte = text[from];
        text[end..end + length].fill(byte);
    } else {
        for at in from..from + length {
            text[at + distance] = text[at];
        }
    }
}
