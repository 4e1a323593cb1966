use super::*;
use proptest::prelude::*;

/// Lengths of a complete code, made by splitting codes in two, from one of no bits. With `deep`, most
/// splits are of the longest code that can still be split, so that there are long codes.
fn lengths() -> impl Strategy<Value = Vec<u8>> {
    let split = || (any::<prop::sample::Index>(), any::<bool>());
    let splits = prop_oneof![
        prop::collection::vec(split(), 1..257),
        // Symbols from 257 on are lengths of matches.
        prop::collection::vec(split(), 257..287),
    ];
    let lengths = (splits, any::<bool>()).prop_map(|(splits, deep)| {
        let mut lengths = vec![0];
        for (at, is_random) in splits {
            let short = |length: &u8| usize::from(*length) < LONGEST;
            let longest = lengths.iter().copied().filter(short).max();
            let at = match longest {
                Some(longest) if deep && !is_random => {
                    lengths.iter().position(|&length| length == longest)
                }
                _ => Some(at.index(lengths.len())),
            };
            if let Some(at) = at.filter(|&at| short(&lengths[at])) {
                lengths[at] += 1;
                lengths.push(lengths[at]);
            }
        }
        lengths
    });
    lengths.prop_shuffle()
}

/// The plain twin: the symbol whose code the bits start with, and the code's length.
fn plain(codes: &Codes, bits: u64) -> (u32, u32) {
    let starts = |code: &&Code| low(bits, code.length) == code.bits as usize;
    let code = codes
        .codes()
        .iter()
        .find(starts)
        .expect("the code is complete");
    (code.symbol, code.length)
}

proptest! {
    #[test]
    fn an_entry_is_what_its_codes_say(
        lengths in lengths(),
        bits in LITERAL_BITS - 1..=LITERAL_BITS,
        texts in prop::collection::vec(any::<u64>(), 100),
    ) {
        let codes = Codes::new(&lengths).unwrap();
        prop_assert!(codes.is_complete);
        let mut table = [INVALID; LITERAL_ENTRIES];
        codes.fill(&mut table, bits, literal_symbol);
        let single = table;
        codes.combine_literals(&mut table, bits);
        for text in texts {
            let (symbol, length) = plain(&codes, text);
            let entry = with_code(literal_symbol(symbol), length);
            prop_assert_eq!(look_up(&single, bits, text), entry);
            let (after, length_after) = plain(&codes, text >> length);
            let after = with_code(literal_symbol(after), length_after);
            let combines = entry & LITERAL != 0 && after & SPECIAL == 0;
            let combined = look_up(&table, bits, text);
            if !combines || length + length_after > bits {
                prop_assert_eq!(combined, entry);
                continue;
            }
            let ([first, second], count) = literals(combined);
            prop_assert_eq!(first, literals(entry).0[0]);
            prop_assert_eq!(code_bits(combined), length + length_after);
            prop_assert_eq!(take(combined), length + take(after));
            prop_assert_eq!(combined & LITERAL, after & LITERAL);
            if after & LITERAL == 0 {
                prop_assert_eq!(count, 1);
                let rest = text >> length;
                prop_assert_eq!(super::length(combined, text), super::length(after, rest));
            } else {
                prop_assert_eq!((count, second), (2, literals(after).0[0]));
            }
        }
    }
}

/// Fills a table of `entries`, just enough, with the code that needs the most: its lengths, and how
/// many symbols have each.
fn fits(bits: u32, lengths: &[(u8, usize)], entries: usize, room: usize) {
    let runs = lengths.iter();
    let repeated = runs.flat_map(|&(length, times)| vec![length; times]);
    let codes = Codes::new(&repeated.collect::<Vec<_>>()).unwrap();
    assert!(codes.is_complete && entries <= room);
    codes.fill(&mut vec![INVALID; entries], bits, distance_symbol);
}

#[test]
    #[rustfmt::skip]
    fn the_codes_that_need_the_most_entries_fit() {
        let most = [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (12, 1), (13, 243), (14, 5), (15, 34)];
        fits(12, &most, 4382, LITERAL_ENTRIES);
        let most = [(1, 1), (2, 1), (3, 1), (4, 1), (11, 1), (12, 247), (13, 1), (14, 17), (15, 18)];
        fits(11, &most, 2342, LITERAL_ENTRIES);
        let most = [
            (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (7, 1), (8, 1), (10, 19), (11, 1), (12, 1), (13, 1), (14, 1),
            (15, 2),
        ];
        fits(DISTANCE_BITS, &most, 594, DISTANCE_ENTRIES);
    }
