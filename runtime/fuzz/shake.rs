//! Handshakes of two sides that know the key, with somebody on the way.

use crate::config::Key;
use crate::wire::handshake::{Acceptor, Dialer, Limits, Party, Purpose, Target, VERSIONS};

fn party(rank: u32) -> Party {
    let limits = Limits { window_bytes: 1 << 20, envelopes_max: 7, fragment_bytes: 4096 };
    let key = Key::from_bytes(*b"a key that only these tests know");
    Party {
        key,
        rank,
        size: 4,
        incarnation: 100 + u64::from(rank),
        limits,
        encrypts: false,
        checks: false,
        versions: VERSIONS,
    }
}

/// What somebody does to the passes: a pass, where, and by what it is changed, three bytes each; or, after 255, bytes in a pass's stead.
struct Meddler<'a>(&'a [u8]);

impl Meddler<'_> {
    fn pass(&self, number: u8, honest: Vec<u8>) -> (Vec<u8>, bool) {
        let mut bytes = honest.clone();
        if let [255, pass, rest @ ..] = self.0 {
            if pass % 4 == number {
                bytes = rest.to_vec();
            }
        } else {
            for change in self.0.chunks_exact(3).filter(|change| change[0] % 4 == number) {
                let at = usize::from(change[1]) % bytes.len();
                bytes[at] ^= change[2];
            }
        }
        let is_changed = bytes != honest;
        (bytes, is_changed)
    }
}

/// Neither side believes what was changed.
pub fn handshake(bytes: &[u8]) {
    let meddler = Meddler(bytes);
    let target = Target { purpose: Purpose::Link, rank: 2, incarnation: Some(102), epoch: 3 };
    let (mut dialer, hello) = Dialer::hello(&party(1), target, &[1; 32]);
    let mut acceptor = Acceptor::new(&party(2), Purpose::Link);
    let (hello, mut is_changed) = meddler.pass(0, hello);
    let Ok(challenge) = acceptor.hello(&hello, &[2; 32]) else { return };
    let (challenge, changed) = meddler.pass(1, challenge);
    is_changed |= changed;
    let Ok(response) = dialer.challenged(&challenge, 11) else { return };
    assert!(!is_changed, "the dialer believes what was changed");
    let (response, changed) = meddler.pass(2, response);
    let Ok(authenticated) = acceptor.response(&response) else { return };
    assert!(!changed, "the acceptor believes what was changed");
    let ready = acceptor.ready(authenticated.fits.as_ref().map(|()| 22));
    let (ready, changed) = meddler.pass(3, ready);
    if let Ok(established) = dialer.ready(&ready) {
        assert!(!changed && established.next_expected == 22, "the dialer believes what was changed");
    }
}
