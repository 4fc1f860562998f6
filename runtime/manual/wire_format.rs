//! Every byte between two ranks. All integers are little-endian.
//!
//! # Connections
//!
//! One TCP connection per pair of ranks, dialed at start by the lower rank. It begins with five passes of fixed size:
//! HELLO (magic, versions, options, job, ranks, incarnation, nonce), CHALLENGE (nonce, and a keyed BLAKE3 hash of all
//! bytes so far), PROOF, READY, OPEN. Labels, both ranks and both nonces are under the hash, so nothing can be replayed,
//! reflected or relayed. Who does not know the job's key gets no further than HELLO, and changes nothing. OPEN tells the
//! acceptor that READY has come: if the connection breaks before, the dialer dials again with a greater epoch (a number in HELLO)
//! and replaces what is left of it. A listener keeps as many connections without a proof as twice the job's ranks and some,
//! at least 64; beyond that the source address that has most loses one, at random.
//!
//! The connection to the rendezvous begins in the same way, without OPEN. What follows there are frames: a length (u32), so much
//! JSON, and a tag of 32 bytes, BLAKE3 keyed for this connection and direction over the frame's number, its length and its
//! JSON. A frame that was changed, repeated, reordered, left out or made up ends the connection, and the job with an error that says
//! so; nothing that it says is heeded.
//!
//! # Encryption
//!
//! The options say whether a rank encrypts its links (feature `encrypt`, `LATHIDE_ENCRYPT=on`); ranks that differ are told so.
//! Behind READY the dialer then sends the first message of `Noise_NNpsk0_25519_AESGCM_SHA256` (48 bytes) and the acceptor the
//! second. The pre-shared key is BLAKE3's `derive_key("lathide v1 cipher", job key | hash of HELLO to PROOF)`: both nonces are
//! in it, so the two messages fit this connection alone, and both sides have proved themselves before; no third message is
//! needed to confirm. The keys come from fresh Diffie-Hellman numbers: who records the connection and learns the job's key
//! later reads nothing. From then on the link carries records instead of plain bytes: a length (u16, with the tag), the
//! sealed bytes of at most 32 KiB, a tag of 16 bytes; frames do not know of them, and end anywhere in one.
//! What is sealed is committed: it leaves in that order, while frames that are not may still let others pass. A changed, lost or repeated record ends the
//! link. It costs copies and the cipher: over loopback of two cores, `LATHIDE_ENCRYPT=on lathide link --seconds 12` (of a
//! program built with the feature) had 8 bytes in 6.7 us instead of 5.6, and 64 KiB at 0.86 GB/s instead of 4.2. What ranks
//! tell the rendezvous (addresses, causes of failures, reports) is tagged but not encrypted.
//!
//! # Frames
//!
//! ```text
//! header    kind u8 | length u24 | number u32 | slot u56 | flags u8              16 bytes
//! opening   tag u32 | element u16 | context u8 | 0 u8 | total u64                16 bytes
//! ```
//!
//! `number` counts the frames of one direction; a wrong one ends the link. It wraps. `slot` names a message of the
//! sender's: it counts them, and does not wrap in any life of a link, since a message may wait unread that long.
//!
//! | kind | | what follows | says |
//! | --- | --- | --- | --- |
//! | 1 | data | opening if FIRST, payload | a train of fragments, each at most 4 KiB unless `LATHIDE_FRAGMENT` says otherwise |
//! | 2 | envelope | opening | a message waits at the sender for a grant |
//! | 3 | grant | | its place is reserved |
//! | 4 | credit | bytes u64 | the window has room again |
//! | 5 | hold | | messages wait that may not even be announced (or no longer, without the flag) |
//! | 6 | want | opening | a read waits for a message of this tag |
//! | 7 | refuse | opening, opening of the message | the message does not fit the read it met, whose length and element type come first |
//! | 8 | abort | | no more of the refused message comes |
//! | 9 | goodbye | words | nothing else comes; with FAILED, `slot` is the rank at fault and the words are the cause |
//! | 10 | goodbye ack | | all has arrived |
//! | 11 | stamp | sent u64, echo i64 | when the message whose last frame came just before was posted, by the sender's clock in ns, and the least difference the sender lately saw between its own clock and the stamps it got; with PING, of no message, to be answered `slot` times in turn |
//!
//! Flags: FIRST 1, CHARGED 2 (data of an announced message that credit, not a grant, lets go), ANSWER 4 (an envelope that
//! answers a want), HOLDING 8, FAILED 16, PING 32.
//!
//! A train is one fragment, and up to 16 (64 KiB) consecutive ones of a message where the socket takes whatever it is
//! given: there a header for each costs a sixth of the bandwidth, and 64 KiB pass in microseconds. Where the socket
//! fills up, as on any link slower than the processors, every fragment travels alone, and other messages pass in between.
//!
//! Openings leave in the order of posting, so matching is in order per tag; what follows the first train of long
//! messages takes turns of four fragments, and messages of one fragment go ahead of it.
