//! Schedules with one message to wait for at most, as all short collectives of two ranks have: such a schedule is a sequence, which its
//! caller carries out itself, step by step.

use super::schedule::{Action, Schedule};

/// The most steps of such a schedule.
const STEPS_MAX: usize = 8;

/// A schedule as a sequence. Until the message has come nothing is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Single {
    /// Messages that wait for nothing.
    pub(crate) first: Vec<Action>,
    /// The message that is waited for, if there is one.
    pub(crate) awaited: Option<Action>,
    /// All else, in order.
    pub(crate) then: Vec<Action>,
}

impl Single {
    /// `schedule` as a sequence, if it is one: a message that follows a copy or a combination, and does not need the one that
    /// comes, had better not wait for that.
    pub(super) fn of(schedule: &Schedule) -> Option<Single> {
        if schedule.len() > STEPS_MAX {
            return None;
        }
        let mut receives = schedule.steps().filter(|step| schedule.action(*step).is_receive());
        let (receive, None) = (receives.next(), receives.next()) else { return None };
        // Whether a step needs nothing but messages that leave, and whether it needs the one that comes.
        let (mut is_free, mut follows) = ([false; STEPS_MAX], [false; STEPS_MAX]);
        let awaited = receive.map(|step| schedule.action(step));
        let mut single = Single { first: Vec::new(), awaited, then: Vec::new() };
        for step in schedule.steps() {
            let (action, needs) = (schedule.action(step), schedule.needs(step));
            let (is_local, needs_free) = (action.peer().is_none(), needs.iter().all(|need| is_free[need.index()]));
            let is_receive = receive == Some(step);
            // Messages to one peer keep their order.
            let is_next = schedule.stream_before(step).is_none_or(|before| is_free[before.index()]);
            is_free[step.index()] = needs_free && is_next && !is_local && !is_receive;
            follows[step.index()] = is_receive || needs.iter().any(|need| follows[need.index()]);
            match step {
                _ if is_receive => {
                    if !needs_free {
                        return None;
                    }
                }
                _ if is_free[step.index()] => single.first.push(action),
                _ if is_local || follows[step.index()] => single.then.push(action),
                _ => return None,
            }
        }
        Some(single)
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::{Builder, Region, Side};
    use super::super::{Blocks, allgather, allreduce, alltoall, barrier, broadcast};
    use super::*;
    use crate::ids::Rank;

    const PEER: Rank = Rank(1);

    #[test]
    fn short_collectives_of_two_ranks_are_sequences() {
        let own = Rank(0);
        let all = [
            barrier::dissemination(own, 2),
            barrier::serial(own, 2),
            barrier::simple(own, 2),
            broadcast::serial::schedule(own, 2, PEER, 4),
            allreduce::doubling::schedule(own, 2, 4),
            allgather::doubling::schedule(own, 2, &Blocks::Equal(4)),
            alltoall::pairwise::schedule(own, 2, &Blocks::Equal(4), 2),
        ];
        for schedule in all {
            let single = Single::of(&schedule).unwrap_or_else(|| panic!("{schedule:?}"));
            assert_eq!(single.first.len() + 1 + single.then.len(), schedule.len(), "{schedule:?}");
            assert!(single.awaited.is_some_and(|action| action.is_receive()));
            assert!(single.first.iter().all(|action| action.peer() == Some(PEER)));
        }
        let with_two = barrier::dissemination(own, 3);
        assert_eq!(Single::of(&with_two), None, "two messages come");
        let of_root = Single::of(&broadcast::serial::schedule(own, 3, own, 4)).expect("a sequence");
        assert_eq!((of_root.first.len(), of_root.awaited, of_root.then.len()), (2, None, 0));
    }

    /// Of two messages to one peer the second may wait for less; they leave in their order all the same.
    #[test]
    fn messages_to_one_peer_keep_their_order() {
        let (mut builder, own) = (Builder::new(), Region::output(0, 1));
        let come = builder.receive(PEER, own, &[]);
        builder.send(Rank(2), own, &[come]);
        builder.send(Rank(2), Region::input(0, 1), &[]);
        assert_eq!(Single::of(&builder.finish()), None);
    }

    /// A message that a copy allows must not wait for one that comes, since its receiver may wait for it first.
    #[test]
    fn what_leaves_after_a_copy_does_not_wait() {
        let (input, output) = (Region::input(0, 1), Region::output(0, 1));
        let sends_copy = |needs_message: bool| {
            let mut builder = Builder::new();
            let room = builder.scratch(1);
            let come = builder.receive(PEER, room, &[]);
            let copied = builder.copy(input, output, &[]);
            let combined = builder.combine(output, room, Side::Right, &[copied, come]);
            builder.send(PEER, output, &[if needs_message { combined } else { copied }]);
            Single::of(&builder.finish())
        };
        assert_eq!(sends_copy(false), None);
        let single = sends_copy(true).expect("a sequence");
        assert_eq!((single.first.len(), single.then.len()), (0, 3));
        let mut builder = Builder::new();
        let copied = builder.copy(input, output, &[]);
        builder.receive(PEER, output, &[copied]);
        assert_eq!(Single::of(&builder.finish()), None, "the message's place is copied first");
    }
}
