use std::fmt;
use std::sync::Arc;

use object_store::memory::InMemory;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use super::super::object::Stores;
use super::*;

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Logged(Arc<std::sync::Mutex<Vec<String>>>);

impl tracing::field::Visit for Logged {
    fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn fmt::Debug) {
        self.0
            .lock()
            .expect("no thread panicked")
            .push(format!("{value:?}"));
    }
}

impl<S: tracing::Subscriber> Layer<S> for Logged {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event.record(&mut self.clone());
    }
}

/// Reads a small object under these limits; also what was logged.
fn read(limits: Limits) -> (Result<Bytes>, Vec<String>) {
    let url = Url::of_store("bucket", Arc::new(InMemory::new())).join("a");
    url.put_new(vec![7; 1000]).expect("memory");
    let logged = Logged::default();
    let subscriber = tracing_subscriber::registry().with(logged.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let block = tracing::subscriber::with_default(subscriber, || {
        runtime.expect("a runtime").block_on(async {
            let object = Stores::default().open(url).await?;
            let (mut transfer, _) = Transfer::find(object).await?;
            transfer.limits = limits;
            transfer.block(0..1000).await
        })
    });
    (block, logged.0.lock().expect("no thread panicked").clone())
}

#[test]
fn a_slow_transfer_warns_and_one_that_is_slow_for_too_long_fails() {
    let (block, logged) = read(LIMITS);
    assert_eq!(block.unwrap(), vec![7; 1000]);
    assert!(logged.is_empty(), "{logged:?}");

    let (block, logged) = read(Limits::at_once(Duration::MAX));
    assert_eq!(block.unwrap(), vec![7; 1000]);
    assert_eq!(
        logged,
        ["s3://bucket/a: less than 1 KiB arrives in a second"]
    );

    let (block, _) = read(Limits::at_once(Duration::ZERO));
    let error = block.unwrap_err().to_string();
    let expected = "s3://bucket/a: cannot read: less than 1 KiB arrived in a second for five";
    assert!(error.starts_with(expected), "{error}");
}
