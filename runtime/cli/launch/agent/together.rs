//! Several hosts at a time.

use std::future::{Future, poll_fn};
use std::task::Poll;

/// What all of these futures, which make progress together, return, in their order.
pub(super) async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut are_done = true;
        for (future, output) in running.iter_mut().filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(context) {
                Poll::Ready(value) => *output = Some(value),
                Poll::Pending => are_done = false,
            }
        }
        if are_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn each_makes_progress_while_others_wait() {
        let (tell, told) = tokio::sync::oneshot::channel::<u32>();
        let (mut tell, mut told) = (Some(tell), Some(told));
        let of = |index: u32| {
            let (tell, told) = if index == 0 { (None, told.take()) } else { (tell.take(), None) };
            async move {
                if let Some(tell) = tell {
                    tell.send(index).unwrap();
                }
                match told {
                    Some(told) => told.await.unwrap(),
                    None => 10 * index,
                }
            }
        };
        assert_eq!(together([0, 1, 2].map(of)).await, [1, 10, 20]);
        assert!(together(std::iter::empty::<std::future::Ready<()>>()).await.is_empty());
    }
}
