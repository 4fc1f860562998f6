use super::super::authentication::keyed_hash;
use super::super::refusal::{CODE_PURPOSE, CODE_SIZE, CODE_WRONG_PEER};
use super::*;

const LIMITS: Limits = Limits { window_bytes: 1 << 20, envelopes_max: 7, fragment_bytes: 4096 };

fn party(rank: u32) -> Party {
    let (key, incarnation) = (Key([7; 32]), 100 + u64::from(rank));
    Party { key, rank, size: 4, incarnation, limits: LIMITS, encrypts: false, checks: false, versions: VERSIONS }
}

fn target(rank: u32) -> Target {
    Target { purpose: Purpose::Link, rank, incarnation: Some(100 + u64::from(rank)), epoch: 3 }
}

/// Which bytes on the way are changed: the pass (0 to 3) and how.
type Tamper<'a> = (usize, &'a dyn Fn(&mut Vec<u8>));

/// The four passes between `dialer` and `acceptor`: what each side makes of it.
fn shake(
    dialer: &Party,
    acceptor: &Party,
    target: Target,
    tamper: Option<Tamper<'_>>,
) -> (Result<Established, Refusal>, Result<Authenticated, Refusal>) {
    let meddle = |pass: usize, mut bytes: Vec<u8>| {
        if let Some((_, change)) = tamper.filter(|tamper| tamper.0 == pass) {
            change(&mut bytes);
        }
        bytes
    };
    let unreached = || Refusal::Stranger("not reached");
    let (mut dialer, hello) = Dialer::hello(dialer, target, &[1; 32]);
    let mut acceptor = Acceptor::new(acceptor, Purpose::Link);
    let challenge = match acceptor.hello(&meddle(0, hello), &[2; 32]) {
        Ok(challenge) => challenge,
        Err(refusal) => return (Err(unreached()), Err(refusal)),
    };
    let response = match dialer.challenged(&meddle(1, challenge), 11) {
        Ok(response) => response,
        Err(refusal) => return (Err(refusal), Err(unreached())),
    };
    let proven = match acceptor.response(&meddle(2, response)) {
        Ok(proven) => proven,
        Err(refusal) => return (Err(unreached()), Err(refusal)),
    };
    let ready = acceptor.ready(proven.fits.as_ref().map(|()| 22));
    (dialer.ready(&meddle(3, ready)), Ok(proven))
}

#[test]
fn both_sides_learn_limits_incarnation_and_position() {
    let (dialer, acceptor) = shake(&party(1), &party(2), target(2), None);
    assert_eq!(dialer.unwrap(), Established { limits: LIMITS, incarnation: 102, next_expected: 22 });
    let proven = acceptor.unwrap();
    assert_eq!((proven.rank, proven.epoch, proven.fits), (1, 3, Ok(())));
    assert_eq!(proven.established, Established { limits: LIMITS, incarnation: 101, next_expected: 11 });
}

#[test]
fn every_changed_byte_and_every_truncation_is_refused() {
    let mut variants = 0;
    for (pass, bytes) in [HELLO_BYTES, CHALLENGE_BYTES, RESPONSE_BYTES, READY_BYTES].into_iter().enumerate() {
        for at in 0..bytes {
            for bit in 0..8 {
                let flip = |bytes: &mut Vec<u8>| bytes[at] ^= 1 << bit;
                let (dialer, acceptor) = shake(&party(1), &party(2), target(2), Some((pass, &flip)));
                // Who reads the changed bytes, or the next pass that rests on them, refuses.
                assert!(dialer.is_err(), "pass {pass} byte {at} bit {bit}: {dialer:?}");
                assert!(pass == 3 || acceptor.is_err(), "pass {pass} byte {at} bit {bit}: {acceptor:?}");
                variants += 1;
            }
            let cut = |bytes: &mut Vec<u8>| bytes.truncate(at);
            let (dialer, acceptor) = shake(&party(1), &party(2), target(2), Some((pass, &cut)));
            assert!(dialer.is_err() && (pass == 3 || acceptor.is_err()), "pass {pass} cut at {at}");
            variants += 1;
        }
        let longer = |bytes: &mut Vec<u8>| bytes.push(0);
        assert!(shake(&party(1), &party(2), target(2), Some((pass, &longer))).0.is_err());
    }
    assert_eq!(variants, 9 * (HELLO_BYTES + CHALLENGE_BYTES + RESPONSE_BYTES + READY_BYTES));
}

#[test]
fn open_fits_its_own_connection_only() {
    let connection = |nonce: u8| {
        let (mut dialer, hello) = Dialer::hello(&party(1), target(2), &[1; 32]);
        let mut acceptor = Acceptor::new(&party(2), Purpose::Link);
        let challenge = acceptor.hello(&hello, &[nonce; 32]).unwrap();
        acceptor.response(&dialer.challenged(&challenge, 0).unwrap()).unwrap();
        (dialer, acceptor)
    };
    let ((dialer, acceptor), (other, _)) = (connection(2), connection(3));
    assert!(acceptor.is_open(dialer.open()) && !acceptor.is_open(other.open()));
    for at in 0..OPEN_BYTES {
        let mut changed = dialer.open();
        changed[at] ^= 1;
        assert!(!acceptor.is_open(changed), "byte {at}");
    }
}

#[test]
fn a_control_frame_is_believed_once_in_its_place_and_direction() {
    let connection = |nonce: u8| {
        let (mut dialer, hello) = Dialer::hello(&party(1), target(2), &[1; 32]);
        let mut acceptor = Acceptor::new(&party(2), Purpose::Control);
        let challenge = acceptor.hello(&hello, &[nonce; 32]).unwrap();
        acceptor.response(&dialer.challenged(&challenge, 0).unwrap()).unwrap();
        (dialer.seals(), acceptor.seals())
    };
    let (mut near, mut far) = connection(2);
    let frames: [&[u8]; 3] = [b"one", b"two", b"one"];
    let tags = frames.map(|frame| near.outgoing.tag(&[frame]));
    assert!(tags[0] != tags[2], "what is said twice looks different");
    let (prefix, rest) = frames[0].split_at(1);
    assert!(far.incoming.fits(&[prefix, rest], tags[0]), "parts do not matter");
    assert!(far.incoming.fits(&[frames[1]], tags[1]) && far.incoming.fits(&[frames[2]], tags[2]));
    // Repeated, reordered, left out, changed, reflected, of another connection.
    let first_of = |frame: &[u8], tag| connection(2).1.incoming.fits(&[frame], tag);
    assert!(first_of(b"one", tags[0]));
    assert!(!first_of(b"two", tags[1]) && !first_of(b"one", tags[2]) && !first_of(b"onf", tags[0]));
    assert!(
        !connection(2).0.incoming.fits(&[frames[0]], tags[0]) && !connection(3).1.incoming.fits(&[frames[0]], tags[0])
    );
    let mut repeated = connection(2).1;
    assert!(repeated.incoming.fits(&[frames[0]], tags[0]) && !repeated.incoming.fits(&[frames[0]], tags[0]));
}

#[test]
fn a_wrong_key_is_seen_by_both_sides() {
    let other = Party { key: Key([8; 32]), ..party(1) };
    assert_eq!(shake(&other, &party(2), target(2), None).0, Err(Refusal::Unauthenticated));
    // A dialer that goes on regardless of the acceptor's response cannot make its own.
    let mut acceptor = Acceptor::new(&party(2), Purpose::Link);
    let (mut forger, hello) = Dialer::hello(&other, target(2), &[1; 32]);
    let challenge = acceptor.hello(&hello, &[2; 32]).unwrap();
    forger.transcript.update(&challenge);
    let mut response = 0u64.to_le_bytes().to_vec();
    forger.transcript.update(&response);
    response.extend(keyed_hash(&other.key, "dialer", &forger.transcript).as_bytes());
    assert_eq!(acceptor.response(&response), Err(Refusal::Unauthenticated));
}

#[test]
fn what_does_not_fit_is_named_to_a_proved_peer() {
    let told = |code, detail| Err(Refusal::Told { code, detail });
    // Rank 1 reaches rank 3 at the address of rank 2.
    let (dialer, acceptor) = shake(&party(1), &party(2), Target { incarnation: None, ..target(3) }, None);
    assert_eq!(dialer, told(CODE_WRONG_PEER, 2));
    assert_eq!(acceptor.unwrap().fits, Err(Refusal::WrongPeer { wanted: 3, theirs: 2 }));
    assert!(dialer.unwrap_err().to_string().contains("it is rank 2"));

    let (dialer, _) = shake(&Party { size: 5, ..party(1) }, &party(2), target(2), None);
    assert_eq!(dialer, told(CODE_SIZE, 4));
    let (dialer, _) = shake(&Party { rank: 4, ..party(1) }, &party(2), target(2), None);
    assert_eq!(dialer, told(CODE_SIZE, 4), "a rank outside the job");

    let (dialer, _) = shake(&party(1), &party(2), Target { purpose: Purpose::Control, ..target(2) }, None);
    assert_eq!(dialer, told(CODE_PURPOSE, 0));

    let (dialer, _) = shake(&party(1), &party(2), Target { incarnation: Some(9), ..target(2) }, None);
    assert_eq!(dialer, Err(Refusal::Incarnation));

    // One side encrypts: the dialer finds out first, whichever it is; the rendezvous asks nobody.
    let sealed = |rank| Party { encrypts: true, ..party(rank) };
    let (dialer, _) = shake(&party(1), &sealed(2), target(2), None);
    assert_eq!(dialer, Err(Refusal::Encryption { theirs: true }));
    let (dialer, _) = shake(&sealed(1), &party(2), target(2), None);
    assert_eq!(dialer, Err(Refusal::Encryption { theirs: false }));
    assert!(dialer.unwrap_err().to_string().contains("it does not encrypt its links, this side does"));
    assert!(shake(&sealed(1), &sealed(2), target(2), None).0.is_ok());
    // The same of checksums. Where links are encrypted, nobody asks.
    let checked = |rank| Party { checks: true, ..party(rank) };
    let (dialer, _) = shake(&party(1), &checked(2), target(2), None);
    assert_eq!(dialer, Err(Refusal::Checksum { theirs: true }));
    let (dialer, _) = shake(&checked(1), &party(2), target(2), None);
    assert_eq!(dialer, Err(Refusal::Checksum { theirs: false }));
    for words in ["it has no checksums in its links, this side has them", "LATHIDE_CHECKSUM"] {
        assert!(dialer.as_ref().unwrap_err().to_string().contains(words), "{dialer:?}");
    }
    let (dialer, _) = shake(&checked(1), &sealed(2), target(2), None);
    assert_eq!(dialer, Err(Refusal::Encryption { theirs: true }));
    let both = |rank| Party { checks: true, ..sealed(rank) };
    for (one, other) in [(checked(1), checked(2)), (both(1), sealed(2)), (sealed(1), both(2))] {
        assert!(shake(&one, &other, target(2), None).0.is_ok(), "{one:?} and {other:?}");
    }
    assert!(Refusal::Incarnation.is_final() && !Refusal::Unauthenticated.is_final());

    // Versions: the newer acceptor says so through READY, the dialer of an older one sees it in CHALLENGE.
    let (least, most) = VERSIONS;
    let newer = Party { versions: (most + 1, most + 2), ..party(2) };
    let (dialer, _) = shake(&party(1), &newer, target(2), None);
    assert_eq!(dialer, Err(Refusal::Version { ours: VERSIONS, theirs: most + 2 }));
    let both = Party { versions: (least, most + 2), ..party(2) };
    assert!(shake(&party(1), &both, target(2), None).0.is_ok());
}

#[test]
fn a_reflected_or_replayed_pass_proves_nothing() {
    // Reflection: the dialer's own bytes come back.
    let (mut dialer, hello) = Dialer::hello(&party(1), target(2), &[1; 32]);
    assert!(dialer.challenged(&hello, 0).is_err());
    assert!(dialer.challenged(&hello[..CHALLENGE_BYTES], 0).is_err());

    // Reflection through a second connection to the same process: rank 1 is asked to answer its own HELLO.
    let (mut dialer, hello) = Dialer::hello(&party(1), Target { incarnation: None, ..target(2) }, &[1; 32]);
    let mut acceptor = Acceptor::new(&party(1), Purpose::Link);
    let challenge = acceptor.hello(&hello, &[2; 32]).unwrap();
    let response = dialer.challenged(&challenge, 0).unwrap();
    let fits = acceptor.response(&response).unwrap().fits;
    assert_eq!(fits, Err(Refusal::WrongPeer { wanted: 2, theirs: 1 }));

    // Replay: all of a recorded dialer's bytes to an acceptor with a new nonce.
    let (mut dialer, hello) = Dialer::hello(&party(1), target(2), &[1; 32]);
    let mut first = Acceptor::new(&party(2), Purpose::Link);
    let challenge = first.hello(&hello, &[2; 32]).unwrap();
    let response = dialer.challenged(&challenge, 0).unwrap();
    let proven = first.response(&response).unwrap();
    let ready = first.ready(proven.fits.as_ref().map(|()| 0));
    let mut second = Acceptor::new(&party(2), Purpose::Link);
    second.hello(&hello, &[3; 32]).unwrap();
    assert_eq!(second.response(&response), Err(Refusal::Unauthenticated));

    // And all of a recorded acceptor's bytes to a dialer with a new nonce.
    let (mut later, _) = Dialer::hello(&party(1), target(2), &[9; 32]);
    assert_eq!(later.challenged(&challenge, 0), Err(Refusal::Unauthenticated));
    assert_eq!(later.ready(&ready), Err(Refusal::Unauthenticated));
    assert!(dialer.ready(&ready).is_ok(), "the recorded bytes were good");
}

#[test]
fn the_key_is_never_shown() {
    let shown = format!("{:?}", party(1));
    assert!(shown.contains("Key(..)") && !shown.contains("7, 7"), "{shown}");
}

#[test]
fn all_windows_of_a_node_share_its_budget() {
    let window = |size: u32, window_bytes: u64, budget_bytes: u64| {
        let mut config = crate::config::Config::new(0, size, None);
        (config.window_bytes, config.budget_bytes) = (window_bytes, budget_bytes);
        Limits::of(&config).window_bytes
    };
    assert_eq!(window(2, 64 << 20, 512 << 20), 64 << 20, "few links have all they may");
    assert_eq!(window(8, 64 << 20, 512 << 20), 64 << 20);
    assert_eq!(window(128, 64 << 20, 512 << 20), 4 << 20);
    assert_eq!(window(128, 1 << 20, 512 << 20), 1 << 20);
    assert_eq!(window(1 << 20, 64 << 20, 512 << 20), 64 << 10, "each has something");
    assert_eq!(window(1 << 20, 1000, 512 << 20), 1000, "but never more than is wanted");
}

/// Passes that are almost right, alone and out of their order: none is accepted but the one that was said.
#[test]
fn passes_that_are_almost_right_are_refused() {
    const PASSES: u64 = 300_000;
    let open = |nonce: u8| {
        let (mut dialer, hello) = Dialer::hello(&party(1), target(2), &[nonce; 32]);
        let mut acceptor = Acceptor::new(&party(2), Purpose::Link);
        let challenge = acceptor.hello(&hello, &[nonce + 1; 32]).unwrap();
        let response = dialer.challenged(&challenge, 3).unwrap();
        acceptor.response(&response).unwrap();
        vec![hello, challenge, response, acceptor.ready(Ok(4)), dialer.open().to_vec()]
    };
    let said = open(1);
    let corpus = [said.clone(), open(9)].concat();
    crate::mutant::each_seed("passes_that_are_almost_right_are_refused", PASSES, |chance| {
        let heard = crate::mutant::bytes(chance, &corpus);
        let (mut dialer, hello) = Dialer::hello(&party(1), target(2), &[1; 32]);
        let mut acceptor = Acceptor::new(&party(2), Purpose::Link);
        if chance.once_in(4) {
            // Whatever comes first.
            let answered = acceptor.hello(&heard, &[2; 32]).is_ok();
            assert!(acceptor.response(&heard).is_err() && dialer.ready(&heard).is_err());
            return answered && dialer.challenged(&heard, 3).is_ok();
        }
        assert_eq!(acceptor.hello(&hello, &[2; 32]).unwrap(), said[1]);
        if chance.once_in(2) {
            let accepted = dialer.challenged(&heard, 3).is_ok();
            assert_eq!(accepted, heard == said[1], "a challenge");
            return accepted;
        }
        dialer.challenged(&said[1], 3).unwrap();
        if chance.once_in(2) {
            let accepted = acceptor.response(&heard).is_ok();
            assert_eq!(accepted, heard == said[2], "a proof");
            return accepted;
        }
        acceptor.response(&said[2]).unwrap();
        let accepted = dialer.ready(&heard).is_ok();
        assert_eq!(accepted, heard == said[3], "a ready");
        if let Ok(open) = heard[..].try_into() {
            assert_eq!(acceptor.is_open(open), heard == said[4], "an open");
        }
        accepted
    });
}
