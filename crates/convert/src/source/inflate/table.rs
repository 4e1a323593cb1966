//! Tables that turn the bits ahead into literals, lengths and distances.

/// Bits that the first-level tables are looked up with.
pub(super) const LITERAL_BITS: u32 = 11;
pub(super) const DISTANCE_BITS: u32 = 9;

/// Entries with all second-level tables: zlib's program `enough` gives 2342 for 288 symbols and 594
/// for 32, with codes of at most 15 bits.
pub(super) const LITERAL_ENTRIES: usize = 2400;
pub(super) const DISTANCE_ENTRIES: usize = 1024;

/// The longest code.
const LONGEST: usize = 15;

/// An entry of a table, packed: bits to take with all extra bits (0 to 5), bits of the code alone
/// (6 to 9), value (10 to 25), kind (26 to 31). The value of a length has 9 bits, and the literal
/// before it is above them (19 to 26).
pub(super) type TableEntry = u32;

/// The value is one literal, or, with [`AND_LITERAL`], two of them, the first one lowest.
pub(super) const LITERAL: TableEntry = 1 << 31;
/// One more literal: the second of two, or one before a length.
const AND_LITERAL: TableEntry = 1 << 30;
/// Where an entry has its value.
const VALUE_SHIFT: u32 = 10;

/// Where an entry of a length has the literal before it.
const LITERAL_SHIFT: u32 = 19;

/// Neither a literal nor a length or distance: one of the three below.
pub(super) const ODD: TableEntry = 1 << 29;
pub(super) const END_OF_BLOCK: TableEntry = ODD | 1 << 28;
/// The value is where a second-level table starts, the bits of the code are its size.
pub(super) const SECOND: TableEntry = ODD | 1 << 27;
/// No code is spelled like this.
pub(super) const INVALID: TableEntry = ODD;

/// Bits to take: those of the code and the extra bits.
pub(super) const fn take(entry: TableEntry) -> u32 {
    entry & 0x3f
}

/// Bits of the code alone.
pub(super) const fn code_bits(entry: TableEntry) -> u32 {
    entry >> 6 & 0xf
}

pub(super) const fn value(entry: TableEntry) -> usize {
    (entry >> VALUE_SHIFT & 0xffff) as usize
}

/// An entry whose code has `bits` bits more.
const fn with_code(entry: TableEntry, bits: u32) -> TableEntry {
    entry + bits + (bits << 6)
}

/// A length or distance: the value with the extra bits, which follow the code.
#[inline(always)]
pub(super) fn with_extra(entry: TableEntry, bits: u64) -> usize {
    value(entry) + (low(bits, take(entry)) >> code_bits(entry))
}

/// The length of a match, with its extra bits.
#[inline(always)]
pub(super) fn length(entry: TableEntry, bits: u64) -> usize {
    (value(entry) & 0x1ff) + (low(bits, take(entry)) >> code_bits(entry))
}

/// The literal before a length, if [`more_literals`] says that there is one.
#[inline(always)]
pub(super) fn literal_before(length: TableEntry) -> u8 {
    (length >> LITERAL_SHIFT).to_le_bytes()[0]
}

/// The literals of a length, or those of a literal beyond its first: 0 or 1.
#[inline(always)]
pub(super) fn more_literals(entry: TableEntry) -> usize {
    usize::from(entry & AND_LITERAL != 0)
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
pub(super) fn literal(symbol: u32) -> TableEntry {
    match symbol {
        0..256 => LITERAL | symbol << VALUE_SHIFT,
        256 => END_OF_BLOCK,
        _ => match LENGTHS.get(symbol as usize - 257) {
            Some(&(base, extra)) => TableEntry::from(base) << VALUE_SHIFT | TableEntry::from(extra),
            None => INVALID,
        },
    }
}

/// The entry of a symbol of the code for distances.
pub(super) fn distance(symbol: u32) -> TableEntry {
    match DISTANCES.get(symbol as usize) {
        Some(&(base, extra)) => TableEntry::from(base) << VALUE_SHIFT | TableEntry::from(extra),
        None => INVALID,
    }
}

/// The entry of a symbol of the code for code lengths.
pub(super) fn code_length(symbol: u32) -> TableEntry {
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

/// Makes one entry of a literal and what follows it, another literal or a length, where the bits of
/// both codes are known. Most text of tables is digits with codes of few bits, and a literal or two
/// between matches.
pub(super) fn combine_literals(table: &mut [TableEntry], bits: u32) {
    // Downwards, so that what an entry is combined with was not combined itself.
    for index in (0..1_usize << bits).rev() {
        let first = table[index];
        if first & LITERAL == 0 {
            continue;
        }
        let second = table[index >> take(first)];
        let codes = code_bits(first) + code_bits(second);
        if second & (ODD | AND_LITERAL) != 0 || codes > bits {
            continue;
        }
        let literal = first >> VALUE_SHIFT & 0xff;
        table[index] = if second & LITERAL != 0 {
            let values = literal | (second >> VALUE_SHIFT & 0xff) << 8;
            LITERAL | AND_LITERAL | with_code(values << VALUE_SHIFT, codes)
        } else {
            let after = with_code(second, code_bits(first));
            AND_LITERAL | literal << LITERAL_SHIFT | after
        };
    }
}

/// Fills a table with a canonical code: first `1 << bits` entries, then the second-level tables.
///
/// `None` where zlib refuses the code: too many codes for their lengths, or too few. As in zlib, a
/// single code of one bit may stand alone, and no code at all is a table that nothing hits; these
/// two give `Some(false)`.
pub(super) fn build(
    table: &mut [TableEntry],
    bits: u32,
    lengths: &[u8],
    entry_of: impl Fn(u32) -> TableEntry,
) -> Option<bool> {
    let mut of_length = [0_u16; LONGEST + 1];
    for &length in lengths {
        of_length[usize::from(length)] += 1;
    }
    of_length[0] = 0;
    let longest = (1..=LONGEST)
        .rev()
        .find(|&length| of_length[length] > 0)
        .unwrap_or(0);
    let mut left = 1_i32;
    for &count in &of_length[1..] {
        left = left * 2 - i32::from(count);
        if left < 0 {
            return None;
        }
    }
    if left > 0 && longest > 1 {
        return None;
    }
    table.fill(INVALID);
    // The first code of each length, and where in order of codes its symbols start.
    let mut next = [0_u32; LONGEST + 2];
    for length in 1..=LONGEST {
        next[length + 1] = (next[length] + u32::from(of_length[length])) << 1;
    }
    let mut used: TableEntry = 1 << bits;
    // Second-level tables by the first-level index that leads there: sizes first, since the codes
    // that share an index may have several lengths.
    let mut codes = [(0_u32, 0_u32, 0_u32); 320];
    let mut total = 0;
    for (symbol, &length) in (0..).zip(lengths) {
        if length > 0 {
            let length = u32::from(length);
            let code = next[length as usize];
            next[length as usize] += 1;
            // Codes are written with their highest bit first, numbers with their lowest.
            codes[total] = (code.reverse_bits() >> (32 - length), length, symbol);
            total += 1;
        }
    }
    let mut sizes = [0_u32; 1 << LITERAL_BITS];
    for &(code, length, _) in codes[..total]
        .iter()
        .filter(|(_, length, _)| *length > bits)
    {
        let size = &mut sizes[low(u64::from(code), bits)];
        *size = (*size).max(length - bits);
    }
    for (index, &size) in sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
        table[index] = SECOND | used << VALUE_SHIFT | size << 6;
        used += 1 << size;
    }
    if used as usize > table.len() {
        // No code that gets here needs more: the sizes are those of zlib's program `enough`.
        return None;
    }
    for &(code, length, symbol) in &codes[..total] {
        let entry = with_code(entry_of(symbol), length);
        if length <= bits {
            let step = 1 << length;
            for index in (code as usize..1 << bits).step_by(step) {
                table[index] = entry;
            }
        } else {
            let second = table[low(u64::from(code), bits)];
            let (start, size) = (value(second), code_bits(second));
            let step = 1 << (length - bits);
            for index in ((code >> bits) as usize..1 << size).step_by(step) {
                table[start + index] = entry;
            }
        }
    }
    Some(left == 0)
}
