//! Enums whose variants are words of a description.

/// Defines an enum whose variants have a word each, in one place.
macro_rules! words {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$of])* $variant,)+
        }

        impl $name {
            /// Every variant.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word in descriptions.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The variant of a word, or all words there are.
            pub(crate) fn of_word(word: &str) -> Result<Self, String> {
                let known = Self::ALL.into_iter().find(|one| one.name() == word);
                known.ok_or_else(|| Self::ALL.map(Self::name).join(", "))
            }
        }
    };
}

pub(super) use words;
