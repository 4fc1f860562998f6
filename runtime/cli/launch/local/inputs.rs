//! The launcher's input, for rank 0.

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

/// Carries the terminal's input to rank 0.
pub(super) async fn carry_input(mut to: ChildStdin) {
    let mut pieces = read_input();
    while let Some(piece) = pieces.recv().await {
        // A rank that does not read its input any more is no error.
        if to.write_all(&piece).await.is_err() {
            return;
        }
    }
}

/// This process's input in pieces; none if the system has no thread left. A thread reads it: there is no way to wait for a
/// terminal without blocking.
pub(crate) fn read_input() -> mpsc::Receiver<Vec<u8>> {
    let (sender, pieces) = mpsc::channel::<Vec<u8>>(4);
    let _ = std::thread::Builder::new().name("lathide-input".into()).spawn(move || {
        use std::io::Read;
        let mut buffer = vec![0; 32 << 10];
        while let Ok(read @ 1..) = std::io::stdin().read(&mut buffer) {
            if sender.blocking_send(buffer[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    pieces
}
