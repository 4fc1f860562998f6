//! An async server: it awaits requests of any rank and any length beside a clock, and replies. Each rank is a client, too,
//! with a timeout. Neither the clock nor a timeout loses a message, since both keep the handle.

use std::{error::Error, time::Duration};

use lathide::{Cancelled, Node, Tag};
use tokio::time::{interval, timeout};

const REQUEST: Tag = Tag(1);
const REPLY: Tag = Tag(2);
const MAX: usize = 1000; // numbers in a request, of which the sum is asked for

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let node = lathide::init()?;
    if node.rank() == 0 {
        tokio::try_join!(serve(&node), ask(&node))?;
        println!("server: {} clients, all replies as on one rank", node.size());
    } else {
        ask(&node).await?;
    }
    Ok(node.finalize()?)
}

async fn serve(node: &Node) -> Result<(), Box<dyn Error>> {
    let (mut clients, mut clock) = (node.size(), interval(Duration::from_millis(1)));
    let mut request = node.initread_any_vec::<u64>(REQUEST, MAX)?;
    while clients > 0 {
        tokio::select! {
            arrived = &mut request => {
                let (client, numbers) = arrived?;
                request = node.initread_any_vec(REQUEST, MAX)?;
                match numbers.is_empty() {
                    true => clients -= 1, // it has no more
                    false => drop(node.initwrite(client, REPLY, vec![numbers.iter().sum::<u64>()])?), // leaves without a wait
                }
            }
            _ = clock.tick() => {} // what else is to be done now and then; `request` stays
        }
    }
    let Cancelled::Withdrawn(_) = request.cancel() else { return Err("a client asks after its end".into()) };
    Ok(())
}

async fn ask(node: &Node) -> Result<(), Box<dyn Error>> {
    for length in (1..=25).map(|number| (number * 97 + node.rank().index() * 31) % MAX + 1) {
        let numbers: Vec<u64> = (0..length as u64).collect();
        let (expected, mut reply) = (numbers.iter().sum::<u64>(), node.initread(0, REPLY, vec![0; 1])?);
        node.initwrite(0, REQUEST, numbers)?.await?;
        let reply = loop {
            let Ok(reply) = timeout(Duration::from_micros(200), &mut reply).await else { continue }; // or do something
            break reply?;
        };
        if reply != [expected] {
            return Err(format!("the reply to {length} numbers is not the sequential result").into());
        }
    }
    node.initwrite(0, REQUEST, Vec::<u64>::new())?.await?;
    Ok(())
}
