//! Requests to language models, by what their columns mean in every trace of them.

use serde::Deserialize;

/// The columns of a table that has a row for each request to a language model. Its time is when the request arrived.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// The column with the number of tokens of the input, an integer.
    pub input_length: String,
    /// The column with the number of tokens of the output, an integer.
    pub output_length: String,
    /// The column with the blocks of the input, a list of integers, if there is one.
    pub hash_ids: Option<String>,
    /// The number of tokens in a block.
    pub block_size: Option<u32>,
    /// The column with the conversation that a request belongs to, if there is one.
    pub session_id: Option<String>,
    /// The column with the service or workload that a request belongs to, if there is one.
    pub service: Option<String>,
}

impl Requests {
    /// The requests of a lake that has some of the columns; `None` if it lacks one that can't be left out.
    pub(crate) fn of_columns(&self, has: impl Fn(&str) -> bool) -> Option<Self> {
        let mut kept = self.clone();
        kept.hash_ids = kept.hash_ids.filter(|name| has(name));
        kept.block_size = kept.block_size.filter(|_| kept.hash_ids.is_some());
        kept.session_id = kept.session_id.filter(|name| has(name));
        let is_whole = kept.columns().all(has);
        is_whole.then_some(kept)
    }

    /// The names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let others = [&self.hash_ids, &self.session_id, &self.service];
        let others = others.into_iter().filter_map(Option::as_deref);
        [&*self.input_length, &*self.output_length]
            .into_iter()
            .chain(others)
    }
}
