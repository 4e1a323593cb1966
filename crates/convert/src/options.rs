//! Options whose values have names: the same type from the command line to the manifest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Makes an option of an enum: each variant has one name, on the command line, in messages and in the
/// manifest.
macro_rules! option {
    ($(#[$doc:meta])* $option:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $option {
            $($(#[$variant_doc])* #[serde(rename = $name)] $variant,)+
        }

        impl $option {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name of the value.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl fmt::Display for $option {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $option {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(format!("expected {}", [$($name),+].join(" or "))),
                }
            }
        }
    };
}

option! {
    /// How the files of a lake are laid out.
    Layout {
        /// `task_usage/file_number=17/part-00017-of-00500.parquet`.
        Hive = "hive",
        /// `task_usage/part-00017-of-00500.parquet`.
        Flat = "flat",
    }
}

option! {
    /// What to do with a row that can't be converted.
    OnBadRow {
        /// Stop the run.
        Fail = "fail",
        /// Write it to the part's rejects file.
        Reject = "reject",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_name_everywhere() {
        for layout in Layout::ALL {
            assert_eq!(layout.name().parse(), Ok(*layout));
            assert_eq!(layout.to_string(), layout.name());
            let json = serde_json::to_string(layout).unwrap();
            assert_eq!(json, format!("\"{layout}\""));
        }
        assert_eq!(
            "heap".parse::<Layout>(),
            Err("expected hive or flat".into())
        );
        assert_eq!(OnBadRow::ALL.len(), 2);
    }
}
