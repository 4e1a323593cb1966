//! Tables that turn the bits ahead into literals, lengths and distances.

/// Bits that the first-level tables are looked up with; for literals at most, see
/// [`Codes::literal_bits`].
pub(super) const LITERAL_BITS: u32 = 12;
pub(super) const DISTANCE_BITS: u32 = 9;

/// Entries with all second-level tables. One with 8 entries has at least 4 of the 288 codes, one with 64
/// has at least 7 of the 32. With 11 bits there is more space than any code needs.
pub(super) const LITERAL_ENTRIES: usize = (1 << LITERAL_BITS) + 288 / 4 * 8;
pub(super) const DISTANCE_ENTRIES: usize = 1024;

/// The longest code.
const LONGEST: usize = 15;

/// An entry of a table, packed:
///
/// - bits 0 to 5: how many bits to take, with all extra bits
/// - 6 to 9: how many of them are the code's
/// - 10 to 25: a distance, the length of a code, or where a second-level table starts
/// - or 10 to 17: the first literal; 18 to 25: the second one, or 18 to 26: the length of a match
/// - 27 and 28: how many literals there are
/// - 28 to 31: the kind. Bit 28 is part of it only where [`SPECIAL`] is set
pub(super) type TableEntry = u32;

/// One literal or two, and no length.
pub(super) const LITERAL: TableEntry = 1 << 31;
/// Neither a literal nor a length or distance, but one of the three below.
pub(super) const SPECIAL: TableEntry = 1 << 30;
pub(super) const END_OF_BLOCK: TableEntry = SPECIAL | 1 << 29;
/// The value is where a second-level table starts; its size is where other entries have the code's bits.
pub(super) const SECOND: TableEntry = SPECIAL | 1 << 28;
/// No code is spelled like this.
pub(super) const INVALID: TableEntry = SPECIAL;

/// Where an entry has its value or its first literal, its length, and its number of literals.
const VALUE_SHIFT: u32 = 10;
const LENGTH_SHIFT: u32 = 18;
const COUNT_SHIFT: u32 = 27;

/// Bits to take: those of the code and the extra bits.
pub(super) const fn take(entry: TableEntry) -> u32 {
    entry & 0x3f
}

/// Bits of the code alone.
const fn code_bits(entry: TableEntry) -> u32 {
    entry >> 6 & 0xf
}

/// A distance, the length of a code, or where a second-level table starts.
pub(super) const fn value(entry: TableEntry) -> usize {
    (entry >> VALUE_SHIFT & 0xffff) as usize
}

/// Two bytes, and how many of them are literals of the entry.
#[inline(always)]
pub(super) fn literals(entry: TableEntry) -> ([u8; 2], usize) {
    let [_, first, second, _] = (entry >> (VALUE_SHIFT - 8)).to_le_bytes();
    ([first, second], (entry >> COUNT_SHIFT & 3) as usize)
}

/// An entry whose code has `bits` bits more.
const fn with_code(entry: TableEntry, bits: u32) -> TableEntry {
    entry + bits + (bits << 6)
}

/// A length or distance: its base and the extra bits, which follow the code.
#[inline(always)]
fn with_extra(base: usize, entry: TableEntry, bits: u64) -> usize {
    base + (low(bits, take(entry)) >> code_bits(entry))
}

/// The length of a match, with its extra bits.
#[inline(always)]
pub(super) fn length(entry: TableEntry, bits: u64) -> usize {
    with_extra((entry >> LENGTH_SHIFT & 0x1ff) as usize, entry, bits)
}

/// The distance of a match, with its extra bits.
#[inline(always)]
pub(super) fn distance(entry: TableEntry, bits: u64) -> usize {
    with_extra(value(entry), entry, bits)
}

/// Lengths by symbol 257 to 285: base and extra bits.
#[rustfmt::skip]
const LENGTHS: [(u16, u8); 29] = [
    (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0), (11, 1), (13, 1),
    (15, 1), (17, 1), (19, 2), (23, 2), (27, 2), (31, 2), (35, 3), (43, 3), (51, 3), (59, 3),
    (67, 4), (83, 4), (99, 4), (115, 4), (131, 5), (163, 5), (195, 5), (227, 5), (258, 0),
];

/// Distances by symbol 0 to 29: base and extra bits.
#[rustfmt::skip]
const DISTANCES: [(u16, u8); 30] = [
    (1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (7, 1), (9, 2), (13, 2),
    (17, 3), (25, 3), (33, 4), (49, 4), (65, 5), (97, 5), (129, 6), (193, 6),
    (257, 7), (385, 7), (513, 8), (769, 8), (1025, 9), (1537, 9), (2049, 10), (3073, 10),
    (4097, 11), (6145, 11), (8193, 12), (12289, 12), (16385, 13), (24577, 13),
];

/// The entry of a symbol of the code for literals and lengths.
pub(super) fn literal_symbol(symbol: u32) -> TableEntry {
    match symbol {
        0..256 => LITERAL | 1 << COUNT_SHIFT | symbol << VALUE_SHIFT,
        256 => END_OF_BLOCK,
        _ => match LENGTHS.get(symbol as usize - 257) {
            Some(&(base, extra)) => {
                TableEntry::from(base) << LENGTH_SHIFT | TableEntry::from(extra)
            }
            None => INVALID,
        },
    }
}

/// The entry of a symbol of the code for distances.
pub(super) fn distance_symbol(symbol: u32) -> TableEntry {
    match DISTANCES.get(symbol as usize) {
        Some(&(base, extra)) => TableEntry::from(base) << VALUE_SHIFT | TableEntry::from(extra),
        None => INVALID,
    }
}

/// The entry of a symbol of the code for code lengths.
pub(super) fn code_length_symbol(symbol: u32) -> TableEntry {
    symbol << VALUE_SHIFT
}

/// The lowest bits as a number; at most 28.
#[expect(clippy::cast_possible_truncation, reason = "at most 28 bits are left")]
pub(super) fn low(bits: u64, count: u32) -> usize {
    (bits & ((1 << count) - 1)) as usize
}

/// The entry that the bits ahead spell, through a second-level table where the first one says so.
#[inline(always)]
pub(super) fn look_up(table: &[TableEntry], table_bits: u32, bits: u64) -> TableEntry {
    let entry = table[low(bits, table_bits)];
    if entry & SECOND == SECOND {
        return table[value(entry) + low(bits >> table_bits, code_bits(entry))];
    }
    entry
}

/// The code of a symbol, its first bit lowest.
#[derive(Clone, Copy, Default)]
struct Code {
    bits: u32,
    length: u32,
    symbol: u32,
}

/// A canonical code: the codes of its symbols, the shortest first.
pub(super) struct Codes {
    codes: [Code; 320],
    count: usize,
    /// Whether there is a symbol for all bits that can follow.
    pub(super) is_complete: bool,
}

impl Codes {
    /// The codes of symbols by their lengths, where 0 is a symbol without a code.
    ///
    /// `None` where zlib refuses the code: too many codes for their lengths, or too few. As in zlib, there
    /// may be a single code of one bit, or none at all; only these two are not complete.
    pub(super) fn new(lengths: &[u8]) -> Option<Self> {
        let mut of_length = [0_u32; LONGEST + 1];
        for &length in lengths {
            of_length[usize::from(length)] += 1;
        }
        of_length[0] = 0;
        let mut left = 1_u32;
        for count in &of_length[1..] {
            left = (left * 2).checked_sub(*count)?;
        }
        if left > 0 && of_length[2..].iter().any(|&count| count > 0) {
            return None;
        }
        // The next code of each length, and where it is in the order of codes.
        let (mut next, mut at) = ([0; LONGEST + 1], [0; LONGEST + 1]);
        for length in 1..LONGEST {
            next[length + 1] = (next[length] + of_length[length]) << 1;
            at[length + 1] = at[length] + of_length[length] as usize;
        }
        let mut codes = [Code::default(); 320];
        for (symbol, &length) in (0..).zip(lengths).filter(|(_, length)| **length > 0) {
            let (next, at) = (&mut next[usize::from(length)], &mut at[usize::from(length)]);
            let length = u32::from(length);
            codes[*at] = Code {
                // Codes are written with their highest bit first, numbers with their lowest.
                bits: u32::reverse_bits(*next) >> (32 - length),
                length,
                symbol,
            };
            *next += 1;
            *at += 1;
        }
        Some(Self {
            codes,
            count: at[LONGEST],
            is_complete: left == 0,
        })
    }

    fn codes(&self) -> &[Code] {
        &self.codes[..self.count]
    }

    /// Fills a table: first `1 << bits` entries, then the second-level tables.
    ///
    /// # Panics
    /// If the table is too small for these.
    pub(super) fn fill(
        &self,
        table: &mut [TableEntry],
        bits: u32,
        entry_of: impl Fn(u32) -> TableEntry,
    ) {
        let codes = self.codes();
        let (short, long) = codes.split_at(codes.partition_point(|code| code.length <= bits));
        let (first, mut rest) = table.split_at_mut(1 << bits);
        fill(first, short, 0, &entry_of);
        // Codes that share their first bits follow each other, the longest last.
        let index = |code: &Code| low(u64::from(code.bits), bits);
        let mut start = 1 << bits;
        for group in long.chunk_by(|a, b| index(a) == index(b)) {
            let size = group[group.len() - 1].length - bits;
            let (second, after) = rest.split_at_mut(1 << size);
            fill(second, group, bits, &entry_of);
            first[index(&group[0])] = SECOND | start << VALUE_SHIFT | size << 6;
            start += 1 << size;
            rest = after;
        }
    }

    /// Bits to look up literals and lengths with. One more makes more pairs of literals, but a larger table.
    /// It pays where literals fill more than half of it, as in text that is mostly hashes: real job_events
    /// take 0.82 of the time, while task_usage would take 5 % longer.
    pub(super) fn literal_bits(&self) -> u32 {
        let literals = self.codes().iter().filter(|code| code.symbol < 256);
        let all = 1_usize << LONGEST;
        let share: usize = literals.map(|code| all >> code.length).sum();
        if share > all / 2 {
            LITERAL_BITS
        } else {
            LITERAL_BITS - 1
        }
    }

    /// Makes one entry of a literal and what follows it, another literal or a length, where the bits of
    /// both codes are known. Most text of tables is digits with codes of few bits, and a literal or two
    /// between matches.
    pub(super) fn combine_literals(&self, table: &mut [TableEntry], bits: u32) {
        // The second code is looked up where nothing was combined.
        let mut single = [INVALID; 1 << (LITERAL_BITS - 1)];
        let single = &mut single[..1 << (bits - 1)];
        single.copy_from_slice(&table[..1 << (bits - 1)]);
        let codes = self.codes().iter();
        for code in codes.filter(|code| code.symbol < 256 && code.length < bits) {
            let left = bits - code.length;
            let literal = 1 << COUNT_SHIFT | code.symbol << VALUE_SHIFT;
            let entries = table[code.bits as usize..1 << bits]
                .iter_mut()
                .step_by(1 << code.length);
            for (entry, &after) in entries.zip(&single[..1 << left]) {
                let second = after & 0xff << VALUE_SHIFT;
                let moved = after - second + (second << (LENGTH_SHIFT - VALUE_SHIFT));
                // A branch would go either way at random.
                let combines = (after & SPECIAL == 0) & (code_bits(after) <= left);
                let combined = with_code(literal + moved, code.length);
                *entry = if combines { combined } else { *entry };
            }
        }
    }
}

/// Fills a table with `codes`, the shortest first. Its indices leave out their first `before` bits, which
/// chose the table.
fn fill(
    table: &mut [TableEntry],
    codes: &[Code],
    before: u32,
    entry_of: impl Fn(u32) -> TableEntry,
) {
    table[0] = INVALID;
    let mut filled = 1;
    // An index is a code and whatever bits follow it, so the entries repeat.
    let mut repeat_until = |table: &mut [TableEntry], size| {
        while filled < size {
            table.copy_within(..filled, filled);
            filled *= 2;
        }
    };
    for code in codes {
        repeat_until(table, 1 << (code.length - before));
        table[(code.bits >> before) as usize] = with_code(entry_of(code.symbol), code.length);
    }
    repeat_until(table, table.len());
}

#[cfg(test)]
mod tests;
