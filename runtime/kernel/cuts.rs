//! What the task does about links whose connection is cut: has another made, and carries the link on with it.

use std::net::{IpAddr, SocketAddr};

use tokio::time::Instant;

use super::Kernel;
use super::core::Core;
use super::down::{Gone, Resumed};
use super::task::Task;
use crate::engine::ACKNOWLEDGEMENT_DELAY;
use crate::ids::{Path, Rank};
use crate::join::control::Report;
use crate::join::handshake::{Connection, Guest};
use crate::join::rejoin::Event;
use crate::observe::say;
use crate::wire::handshake::Refusal;

impl Task {
    /// Links have gone down: has new connections made.
    pub(super) fn links_are_down(&mut self) {
        let Some(resume) = self.kernel.settings.resume else { return };
        let kernel = self.kernel.clone();
        let mut core = kernel.lock();
        for Gone { path, stood, in_vain } in core.take_down() {
            // One that comes no further has no more time than one that does not come.
            let deadline = Instant::now() + resume.saturating_sub(stood);
            let position = core.received_on(path);
            if let (Some(rejoin), Some(position)) = (&mut self.rejoin, position) {
                rejoin.begin(path, position, deadline, in_vain);
            }
        }
        kernel.unlock(core);
    }

    /// Something has come of one.
    pub(super) fn link_event(&mut self, event: Event) {
        match event {
            Event::Guest(guest) => self.admit(*guest),
            Event::Connected(path, epoch, connection, position) => {
                if self.rejoin.as_ref().is_some_and(|rejoin| rejoin.is_latest(path, epoch)) {
                    self.connected(path, *connection, position);
                }
            }
            Event::Moved(address) => self.report(Report::Moved { address }),
            // The peer is about to come again; its deadline runs on.
            Event::Broke => {}
            Event::Lost(path, why) => {
                self.end(path);
                self.kernel.intervene(|core| core.abandon(path, &why));
            }
        }
    }

    /// A lower rank has a new connection, and has shown that it is that rank: whatever there was before is over.
    fn admit(&mut self, guest: Guest) {
        let Some(rejoin) = &mut self.rejoin else { return };
        let path = match rejoin.fits(&guest) {
            Ok(path) => path,
            Err(refusal) => {
                tracing::warn!(rank = guest.authenticated.rank, %refusal, "a new connection does not fit");
                return rejoin.turn_away(guest, refusal);
            }
        };
        let mut position = None;
        self.kernel.intervene(|core| position = core.let_go(path));
        // Its link is watched from now on: it may come to nothing again.
        self.links_are_down();
        let Some(rejoin) = &mut self.rejoin else { return };
        match position {
            Some(position) => rejoin.admit(guest, position),
            None => rejoin.turn_away(guest, Refusal::Over),
        }
    }

    fn connected(&mut self, path: Path, connection: Connection<std::net::TcpStream>, position: u64) {
        let settings = (self.kernel.settings.keepalive, self.kernel.settings.disabled);
        let mut resumed = None;
        self.kernel.intervene(|core| resumed = core.resume(path, connection, position, settings));
        self.end(path);
        // It may have been cut again by now.
        self.links_are_down();
        let Some(Resumed { after, again, by_checksum }) = resumed else { return };
        let peer = path.peer;
        let address = self.rejoin.as_ref().and_then(|rejoin| rejoin.address(peer));
        let at = address.map_or_else(String::new, |address| format!(" ({})", address.ip()));
        let down = if after.as_secs_f64() < 0.1 {
            format!("{} ms", after.as_millis().max(1))
        } else {
            format!("{:.1} s", after.as_secs_f64())
        };
        tracing::info!(%peer, again, "the link goes on after {down}");
        // Once for each cut, of which both ends know; but only one of them of a checksum.
        if by_checksum {
            let why = "since bytes from there were changed on their way (checksum)";
            say(self.kernel.rank, &format!("link to rank {peer}{at} was cut for {down} {why}, resumed"));
        } else if self.kernel.rank < peer {
            say(self.kernel.rank, &format!("link to rank {peer}{at} was cut for {down}, resumed"));
        }
    }

    /// This node has another address. Links from one that it has not any more are dead.
    pub(super) fn moves_to(&mut self, local: IpAddr) {
        let Some(rejoin) = &mut self.rejoin else { return };
        rejoin.move_to(local);
        self.kernel.intervene(Core::cut_homeless);
        self.links_are_down();
    }

    /// A peer has. If this node is the one to dial, it does so at once: the peer may have lost the address before, and waits.
    pub(super) fn has_moved(&mut self, peer: Rank, address: SocketAddr) {
        let Some(rejoin) = &mut self.rejoin else { return };
        rejoin.moved(peer, address);
        if self.kernel.rank < peer {
            self.kernel.intervene(|core| core.cut_elsewhere(peer, address.ip()));
            self.links_are_down();
        }
    }

    fn end(&mut self, path: Path) {
        if let Some(rejoin) = &mut self.rejoin {
            rejoin.end(path);
        }
    }
}

impl Kernel {
    /// Has peers told of what has come from them, if anything may be sent now. Returns when that is to be done again. A program that
    /// goes from wait to wait does so itself: if it had to sleep until this thread has left the core, it might wake up on the core of the
    /// rank that it waits for.
    pub(super) fn acknowledge(&self) -> Option<std::time::Duration> {
        let is_there = self.help.is_held() || self.ownership.waits_follow();
        if is_there && !self.help.is_asleep() && !self.help.leaves_telling() {
            return Some(ACKNOWLEDGEMENT_DELAY);
        }
        self.help.takes_telling();
        let mut core = self.lock();
        let next = if self.task_may_move() || self.help.is_held() {
            core.tell()
        } else {
            core.tell_later();
            None
        };
        self.unlock(core);
        next
    }
}
