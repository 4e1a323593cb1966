//! Progress of reading a file.

use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_core::event::Event;

/// Reports how much of a file has been read, and ends the reading once its context is cancelled.
#[derive(Debug)]
pub struct ReadProgress {
    context: Context,
    /// Bytes of the file that were reported.
    reported: u64,
}

impl ReadProgress {
    /// Starts at the beginning of a file.
    #[must_use]
    pub fn new(context: &Context) -> Self {
        Self {
            context: context.clone(),
            reported: 0,
        }
    }

    /// Reports the bytes up to a position that weren't reported yet.
    pub fn report(&mut self, position: u64) {
        let bytes = position - self.reported;
        self.reported = position;
        if bytes > 0 {
            self.context.emit(Event::Read { bytes });
        }
    }

    /// Reports the bytes up to a position, and looks whether to stop.
    pub(super) fn advance(&mut self, position: u64) -> Result<()> {
        self.report(position);
        self.context.check()
    }
}
