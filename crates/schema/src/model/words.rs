//! Enums whose variants are words that people write.

/// Defines an enum whose variants have a word each, in one place.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* pub enum $name:ident {
        $($(#[$of:meta])* $variant:ident $(($inner:ident))? = $word:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$of])* $variant $(($inner))?,)+
        }

        impl $name {
            /// Every variant; one with another enum in it has the first of that.
            pub const ALL: &'static [Self] = &[$(Self::$variant $(($inner::ALL[0]))?),+];

            /// The word that people write.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $word,)+
                }
            }
        }
    };
}

pub(super) use words;

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use crate::{Confidence, Obfuscation, Plot, Rule, Zone};

    #[test]
    fn a_description_has_the_words_that_people_write() {
        macro_rules! check {
            ($($name:ident),+) => {
                $(for &one in $name::ALL {
                    assert_eq!(from_value::<$name>(json!(one.name())).unwrap(), one);
                })+
            };
        }
        check!(Confidence, Obfuscation, Plot, Rule, Zone);
    }
}
