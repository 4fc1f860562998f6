//! Every byte between two ranks. All integers are little-endian.
//!
//! # Connections
//!
//! There is one TCP connection per pair of ranks, dialed by the lower rank: at the start, and again after a cut. Where a path asks
//! for them it dials others for long messages, the [lanes](#lanes). Each begins with five handshake messages of fixed size:
//!
//! | message | from | what |
//! | --- | --- | --- |
//! | HELLO | dialer | magic, versions, purpose (1 coordinator, 2 link, 2 + n its lane n), options, job, ranks, incarnation, epoch, nonce |
//! | CHALLENGE | acceptor | nonce, and a keyed BLAKE3 hash of all bytes so far |
//! | RESPONSE | dialer | what the dialer has received on the lane so far, and its keyed hash |
//! | READY | acceptor | the acceptor accepts, and what it has received |
//! | OPEN | dialer | READY has arrived |
//!
//! The hashes cover labels, both ranks and both nonces, so nothing can be replayed, reflected or relayed. A peer that
//! does not know the job's key gets no further than HELLO, and changes nothing. If the connection breaks before OPEN,
//! the dialer dials again with a greater epoch, which replaces what is left of the earlier connection.
//!
//! A listener keeps a bounded number of unauthenticated connections: twice the job's ranks and some, at
//! least 64. Beyond that, the source address with the most of them loses one, at random.
//!
//! The connection to the coordinator begins in the same way, without OPEN. It then carries control messages: a length
//! (u32), JSON of that length, and an authentication tag of 32 bytes. The tag is keyed BLAKE3 over the number, the
//! length and the JSON of the control message, with a key for this connection and direction. If a control message was
//! changed, repeated, reordered, dropped or forged, it is ignored and the connection ends; the job ends with an error
//! that says so.
//!
//! The options in HELLO and CHALLENGE have a byte of flags: 1, the rank encrypts its links; 2, it puts checksums in them. At most one
//! is set. Ranks that differ get an error that says so.
//!
//! # Checksums
//!
//! With `LATHIDE_CHECKSUM=on` a link carries, from OPEN on, records of at most 32 KiB of plain bytes:
//!
//! ```text
//! record   length u16 | checksum of the plain bytes u32 | checksum of the head u32 | plain bytes
//! ```
//!
//! The length is that of the plain bytes, at least 1. Both checksums are CRC-32C (Castagnoli; RFC 3720). The second one covers the
//! number of the record (u64, from 0, in this direction of this connection; it does not travel), the length, and the first
//! checksum. So a wrong length is found when the head is there, and nobody waits for bytes that do not come; and a record that is
//! missing, repeated or out of order is found, too. Frames and records are independent.
//!
//! A receiver looks at nothing before its record is found right. If a checksum is wrong it ends the connection, counts that
//! (`LinkReport::wrong_checksums`), and says so when the link goes on: both ends state their positions, as after any cut, and what was
//! damaged is sent again on the next connection. What came before the damage counts. Up to three flipped bits in a record are
//! found for certain, and so are changes within 32 bits in succession; other damage is missed once in 2^32. TCP's own checksum, 16
//! bits, misses much more, and is computed anew by everything that rewrites packets.
//!
//! Checksums are against accidents. Who changes bytes on purpose changes the checksum with them: that takes encryption, which finds every
//! change itself. So an encrypted link has no checksums, whatever `LATHIDE_CHECKSUM` says, and a change ends the job
//! with [`crate::Error::Tampered`]. The handshake is covered by its hashes in any case: a dialer whose handshake was damaged dials again.
//! The connection to the coordinator has authentication tags: damage there ends the job with an error.
//!
//! At each end checksums cost a copy and a check of every byte, and up to 200 KiB of memory per link. `cargo bench --bench versions --
//! --checksum` measures it (`benches/results/2026-11-24-cuts.md`).
//!
//! # Encryption
//!
//! A rank encrypts its links with the feature `encrypt` and `LATHIDE_ENCRYPT=on`.
//!
//! After READY the dialer sends the first message of `Noise_NNpsk0_25519_AESGCM_SHA256` (48 bytes), and the acceptor
//! the second. The pre-shared key is BLAKE3's `derive_key("lathide v1 cipher", job key | hash of HELLO to RESPONSE)`.
//! It contains both nonces, so the two messages fit this connection alone. Both sides are authenticated before, so no
//! third message is needed. The session keys come from ephemeral Diffie-Hellman keys, which gives forward secrecy: the
//! job's key does not decrypt recorded connections.
//!
//! From then on the link carries records: a length (u16, with the tag), at most 32 KiB of ciphertext, and a tag of 16
//! bytes. Frames and records are independent; a frame may end anywhere in a record. Sealed bytes leave in the order in
//! which they were sealed; frames that are not sealed yet may still be overtaken. A changed, lost or repeated record
//! ends the link.
//!
//! Encryption costs copies and the cipher. `LATHIDE_ENCRYPT=on lathide link` measures it, in a program built with the
//! feature (`benches/results/2026-11-22-link.md`). What ranks send to the coordinator (addresses, causes of failures,
//! reports) is authenticated, not encrypted.
//!
//! # Frames
//!
//! ```text
//! frame header     kind u8 | length u24 | number u32 | message_id u56 | flags u8      16 bytes
//! message header   tag u32 | element u16 | context u8 | group u24 | total u48         16 bytes
//! ```
//!
//! `number` counts the frames of one direction, and wraps. A wrong number ends the link. `message_id` counts the
//! messages of the sender. It does not wrap in the lifetime of a link, since a message may wait unread that long.
//!
//! | kind | | followed by | meaning |
//! | --- | --- | --- | --- |
//! | 1 | data | message header if FIRST, payload | fragments, each at most 4 KiB (`LATHIDE_FRAGMENT`) |
//! | 2 | envelope | message header | a message waits at the sender for a grant |
//! | 3 | grant | | its receive buffer is reserved |
//! | 4 | credit | bytes u64 | the window has room again |
//! | 5 | hold | | messages wait that may not even be announced (without the flag: no longer) |
//! | 6 | want | message header | a read waits for a message of this tag |
//! | 7 | refuse | two message headers: the read's, the message's | the message does not fit the read |
//! | 8 | abort | bytes u64, segments u64 | no more of the refused message comes than these, on all lanes together |
//! | 9 | goodbye | text | nothing else follows; FAILED: `message_id` is the rank at fault, the text the cause |
//! | 10 | goodbye ack | | everything has arrived |
//! | 11 | stamp | sent u64, echo i64 | timestamp of the message whose last frame came just before |
//! | 12 | acknowledgement | position u64 | all bytes of the lane before the position have arrived |
//! | 13 | segment | start u64, length u64 | on a lane: the data frames of this message that follow begin at this byte of it, and the lane brings so many |
//! | 14 | lanes | | the sender wishes for `message_id` lanes beside the first |
//!
//! A stamp has the time at which the message was posted, by the sender's clock in ns, and the smallest recent
//! difference between the sender's own clock and the stamps that it received. With PING it belongs to no message, and
//! is answered `message_id` times in turn.
//!
//! Flags: FIRST 1, CHARGED 2 (data of an announced message that is released by credit, not by a grant), ANSWER 4 (an
//! envelope that answers a want), HOLDING 8, FAILED 16, PING 32.
//!
//! A batch is up to 16 consecutive fragments of a message (64 KiB) behind one header. It is used if the socket takes
//! all that it is given: there, a header per fragment would cost a sixth of the bandwidth, and 64 KiB pass in
//! microseconds. If the socket fills up, as on any link slower than the processors, every fragment travels alone, and
//! other messages pass between them.
//!
//! `context` tells the program's messages (0) from those of collectives (1), what ranks say to each other about collectives
//! that do not go as they should (2), neighbours' exchanges (3), exchanges of observations (4), and the founding of groups (5).
//! `group` is the receiver's number of the group that a collective or an exchange belongs to, and 0 for the whole job.
//!
//! Message headers leave in the order of posting, so matching is in order per tag. After its first batch, a long
//! message takes turns of four fragments with others. Messages of one fragment go first.
//!
//! # Lanes
//!
//! A link has lane 0 from its beginning, and up to `LATHIDE_LANES` others, each a connection of its own. Lane 0 carries every message
//! header, all messages of one frame, and all control frames. A message of up to 32 KiB is one frame if no long one is under way and no more than 64
//! KiB are then under way on lane 0 (unacknowledged). Of a longer message lane 0 brings the first fragment; lanes 1 and up bring the rest, in *segments* of up to 1 MiB (256 KiB if there are several such lanes). A lane brings a segment's bytes in order, in frames
//! of up to 64 KiB, and may put it aside for that of another message and announce it again. Segments of one message do not overlap, and
//! come in no order. A segment that comes before its message has been opened on lane 0 waits, with all behind it on its lane, which is not read
//! meanwhile: lane 0 waits for no other, so it always comes. On lanes 1 and up there are only segments, data frames without flags,
//! stamps of messages that came over one lane, and acknowledgements.
//!
//! Lanes have their own frame numbers, positions and acknowledgements, and are cut and made anew each by itself: its
//! epochs begin at 1. A goodbye leaves lane 0 when the peer has acknowledged all that the lanes were to bring; then they may end.
//!
//! A rank asks for a lane when something has been sent and 256 KiB of long messages still wait, the smoothed round trip is 0.3 ms or
//! more, and data arrives at less than 1 GB/s: then something would wait behind them. If its shortest round trip is 5 ms or more and
//! segments of TCP were sent again, it asks for eight: TCP slows a connection after each loss, and eight recover eight times as
//! fast. The lower rank opens them, by itself or when the higher one wishes. From the first lane on, lane 0 has DSCP 46 (expedited forwarding) and socket priority 6, so that
//! queues with classes let it pass.
//!
//! # Positions, acknowledgements and resumption
//!
//! A *position* counts the plain bytes of a lane's frames in one direction, in 64 bits, over all its connections. Frames
//! follow each other without gaps, so a position says exactly what has arrived, also in the middle of a frame. The sender
//! keeps all bytes that are not acknowledged: headers and small payloads as a copy, longer payloads by reference to the
//! message's buffer. If the program takes a buffer back before the peer has acknowledged it, its unacknowledged part is
//! copied; of `Bytes` and `Arc<[T]>` a clone is kept. `wait` never waits for an acknowledgement; before it would copy 16 KiB or more, it
//! looks once whether one has come.
//!
//! At most 1 MiB per lane is kept (128 KiB from lane 2 on), or twice what the path holds (its shortest round trip at its
//! delivery rate), up to 64 MiB; on lane 0 within a host whose ranks have cores of their own 4 MiB, of messages of 512 KiB or more.
//! A sender at the bound sends nothing but acknowledgements until it is acknowledged itself. A receiver acknowledges
//! 256 KiB at once (128 KiB on lane 1, 32 KiB from lane 2 on), 16 KiB together with other frames, and the rest 10 to 20 ms
//! after it has come. Acknowledgements are frames like others, and are acknowledged after 3 KiB of them, so two ranks that have nothing to say are silent.
//!
//! When a connection is gone, the lower rank dials again, with a greater epoch. RESPONSE and READY tell what each side has
//! received; each side sends from there. Before READY the acceptor closes what is left of the connection before and reads
//! nothing more from it. So a new connection begins at the byte at which the last one stopped: nothing is rolled back. A
//! position that was never sent, or that lies before one acknowledged earlier, ends the link with an error.
//!
//! The link must go on within `LATHIDE_RESUME`. That time does not begin anew for a connection that opens and then brings nothing in
//! either direction though something was to be sent, as where a path damages or drops every long packet: if a row of such connections
//! takes that long, the peer is lost, and the error says how many there were. From the second of a row on there is a pause of 250 ms
//! before each.
//!
//! With encryption, each connection has its own Noise handshake and keys, and what is sent again is sealed again. Both
//! ends change keys after 2^20 records (32 GiB), each by its own count.
//!
//! # Windows
//!
//! Operations on [windows](super::windows) are messages of context 8, all of bytes. Tag 0 is a request, followed by its
//! operands if they have at most 512 bytes:
//!
//! ```text
//! request   call u8 | update u8 | element u16 | window u32 | id u32 | element bytes u32 | start u64 | count u64
//! refusal   request | why u8 | 0 u8 | element u16 | length u64
//! ```
//!
//! Calls: get 1, put 2, accumulate 3, fetch_update 4, compare_exchange 5, flush 6. Updates: replace 1, sum 2, product 3,
//! min 4, max 5. `id` counts the requests of one rank to another. Longer operands follow in chunks of at most 256 KiB, or
//! of one element if that is more, as messages of tag `2^30 + id mod 2^30`. What comes back has the tag `2^31 + id mod
//! 2^30`: the elements of a get in chunks, one element, or, for a flush, how many requests of this rank were refused
//! (u64). Tag 1 is a refusal: bounds 1 (with the target's number of elements), dropped 2, element type 3 (with the
//! target's), update 4.
