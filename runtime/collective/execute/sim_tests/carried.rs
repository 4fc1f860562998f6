//! Collectives of which their caller has carried out something before they begin.

use super::world::World;
use crate::buffer::Element;
use crate::buffer::copied::Copied;
use crate::collective::execute::{Fault, Members, Start};
use crate::collective::schedule::Action;
use crate::engine::OpId;
use crate::error::Error;
use crate::ids::Rank;

impl World {
    /// Begins a collective whose caller has sent what waits for nothing.
    pub(super) fn start_numbered(&mut self, rank: usize, mut start: Start) -> Result<OpId, Error> {
        let (now, node) = (self.now(), &mut self.nodes[rank]);
        let mut numbered = node.collectives.number(&node.engine, start.group, start.signature.expect("one"))?;
        let (key, schedule) = (numbered.key(), start.schedule.clone());
        let members = match node.groups.values().find(|(number, _)| *number == start.group) {
            Some((_, members)) => members.clone(),
            None => Members::of_job(Rank(rank as u32), node.size).into(),
        };
        let single = schedule.single().expect("a sequence");
        if !numbered.has_heard {
            for action in &single.first {
                let (to, element, source) = match *action {
                    Action::Send { to, from } => {
                        (to, start.work.element(), Copied::new(start.work.source(from).bytes()))
                    }
                    Action::Signal { to } => (to, u8::TYPE, Copied::new(&[])),
                    _ => panic!("{action:?} sends nothing"),
                };
                let key = key.in_group(members.number(to));
                if let Err(unposted) = node.engine.initwrite(now, members.rank(to), key, element, Box::new(source)) {
                    numbered.fault = Some(Fault::Failed(unposted.error));
                    break;
                }
            }
            numbered.sent = single.first.len();
        }
        node.collectives.start_numbered(&mut node.engine, now, numbered, start)
    }
}
