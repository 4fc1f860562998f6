//! The rendezvous: where the nodes of a job find each other, and hear of each other's end for as long as it lasts.
//!
//! It runs inside the launcher, or inside rank 0 when there is none. It proves every connection, collects the ranks'
//! addresses, hands out the table when all have joined, relays losses, and decides deadlocks from what ranks report.

use std::io;
use std::time::Instant;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::coordinator::Coordinator;
use super::events::{Event, Input, Order, Settings};
use super::handshake;
use crate::config::Config;
use crate::wire::handshake::{Limits, Party, Purpose, RENDEZVOUS, VERSIONS};

/// Serves a job until every rank that joined has left. `orders` may be closed from the start.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    orders: mpsc::Receiver<Order>,
    events: mpsc::Sender<Event>,
) -> io::Result<()> {
    let limits = Limits::of(&Config::alone());
    let party = Party {
        key: settings.key.clone(),
        rank: RENDEZVOUS,
        size: settings.size,
        incarnation: handshake::incarnation()?,
        limits,
        encrypts: false,
        checks: false,
        versions: VERSIONS,
    };
    let (sender, mut inputs) = mpsc::channel(256);
    let mut tasks = JoinSet::new();
    let (guests, deaf) = (sender.clone(), sender.clone());
    tasks.spawn(async move {
        let error =
            handshake::receive(listener, party, Purpose::Control, guests, |guest| Input::Guest(Box::new(guest))).await;
        let _ = deaf.send(Input::Deaf(error)).await;
    });
    tasks.spawn(relay_orders(orders, sender.clone()));
    let mut coordinator = Coordinator::new(settings, events, sender, tasks);
    while !coordinator.is_done() {
        match timeout(coordinator.patience(), inputs.recv()).await {
            Ok(Some(input)) => coordinator.take(input).await,
            Ok(None) => break,
            Err(_) => {}
        }
        coordinator.look_at_clock(Instant::now()).await;
    }
    // Last words are under way in the writers' queues.
    coordinator.flush().await;
    Ok(())
}

async fn relay_orders(mut orders: mpsc::Receiver<Order>, inputs: mpsc::Sender<Input>) {
    while let Some(order) = orders.recv().await {
        if inputs.send(Input::Launcher(order)).await.is_err() {
            return;
        }
    }
}
