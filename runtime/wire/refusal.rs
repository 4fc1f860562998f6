//! Why a handshake ends without a connection, in words and as the codes READY carries.

/// The rendezvous' place in the `to` field of a HELLO, where a rank's number would be.
pub const RENDEZVOUS: u32 = u32::MAX;

/// Why a handshake ended without a connection.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The bytes are not lathide's.
    #[error("it does not speak lathide's protocol ({0})")]
    Stranger(&'static str),
    /// The other side does not know the key, or somebody changed bytes on the way.
    #[error("it does not know this job's key: another job or another service has that port, or the key files differ")]
    Unauthenticated,
    /// No common protocol version.
    #[error("it speaks protocol version {theirs}, this side {}..={}; use one version of lathide", ours.0, ours.1)]
    Version {
        /// This side's versions.
        ours: (u16, u16),
        /// What the other side offered.
        theirs: u16,
    },
    /// Elements travel in the machine's byte order.
    #[error("its machine has the other byte order; lathide joins machines of one byte order only")]
    ByteOrder,
    /// Another process than the one wanted: an old address, or a wrong relay.
    #[error("it is {}, not {}", station(*.theirs), station(*.wanted))]
    WrongPeer {
        /// Who was wanted.
        wanted: u32,
        /// Who it was.
        theirs: u32,
    },
    /// The sides do not agree about the job's size.
    #[error("it was started in a job of {theirs} ranks, this side in one of {ours}; give all ranks the same size")]
    Size {
        /// This side's.
        ours: u32,
        /// The other's.
        theirs: u32,
    },
    /// A process of an earlier run with the same key.
    #[error("it is a process of an earlier run of this job; end it, or use a new key")]
    Incarnation,
    /// The rank is taken.
    #[error("rank {0} is taken: another process has joined with this number; give every process its own rank")]
    Duplicate(u32),
    /// One side encrypts its links.
    #[error("{}", encrypts(*.theirs))]
    Encryption {
        /// It is the other one.
        theirs: bool,
    },
    /// One side puts checksums in its links.
    #[error("{}", checks(*.theirs))]
    Checksum {
        /// It is the other one.
        theirs: bool,
    },
    /// The link goes on no more.
    #[error("it needs no connection any more: it has finished, or its job has failed")]
    Over,
    /// The connection has another purpose than this listener.
    #[error("the address belongs to another service of the job (a rank's port for the rendezvous', or the reverse)")]
    Purpose,
    /// The other side authenticated itself and refused, with one of this module's codes.
    #[error("{}", told(*.code, *.detail))]
    Told {
        /// What it found.
        code: u8,
        /// The number that belongs to it.
        detail: u64,
    },
}

impl Refusal {
    /// Whether the other side has shown that it belongs to the job: trying again will not help then.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Refusal::Stranger(_) | Refusal::Unauthenticated)
    }

    /// The code and number that tell an authenticated peer why it is refused.
    pub(super) fn code(&self) -> (u8, u64) {
        match *self {
            Refusal::Stranger(_) | Refusal::Unauthenticated => (CODE_OTHER, 0),
            Refusal::Version { ours, .. } => (CODE_VERSION, u64::from(ours.1)),
            Refusal::ByteOrder => (CODE_BYTE_ORDER, 0),
            Refusal::WrongPeer { wanted: _, theirs } => (CODE_WRONG_PEER, u64::from(theirs)),
            Refusal::Size { ours, .. } => (CODE_SIZE, u64::from(ours)),
            Refusal::Incarnation => (CODE_INCARNATION, 0),
            Refusal::Duplicate(rank) => (CODE_DUPLICATE, u64::from(rank)),
            Refusal::Encryption { theirs } => (CODE_ENCRYPTION, u64::from(!theirs)),
            Refusal::Checksum { theirs } => (CODE_CHECKSUM, u64::from(!theirs)),
            Refusal::Purpose => (CODE_PURPOSE, 0),
            Refusal::Over => (CODE_OVER, 0),
            Refusal::Told { code, detail } => (code, detail),
        }
    }
}

pub(super) const CODE_READY: u8 = 0;
pub(super) const CODE_VERSION: u8 = 1;
pub(super) const CODE_BYTE_ORDER: u8 = 2;
pub(super) const CODE_WRONG_PEER: u8 = 3;
pub(super) const CODE_SIZE: u8 = 4;
pub(super) const CODE_INCARNATION: u8 = 5;
pub(super) const CODE_DUPLICATE: u8 = 6;
pub(super) const CODE_PURPOSE: u8 = 7;
pub(super) const CODE_ENCRYPTION: u8 = 8;
pub(super) const CODE_OVER: u8 = 9;
pub(super) const CODE_CHECKSUM: u8 = 10;
pub(super) const CODE_OTHER: u8 = 255;

fn told(code: u8, detail: u64) -> String {
    match code {
        CODE_VERSION => format!("it speaks protocol versions up to {detail} only; use one version of lathide"),
        CODE_BYTE_ORDER => Refusal::ByteOrder.to_string(),
        CODE_WRONG_PEER => format!("it is {}, not the one wanted", station(detail as u32)),
        CODE_SIZE => format!("it belongs to a job of {detail} ranks; give all ranks the same size"),
        CODE_INCARNATION => "it takes this process for one of an earlier run of the job".into(),
        CODE_DUPLICATE => Refusal::Duplicate(detail as u32).to_string(),
        CODE_OVER => Refusal::Over.to_string(),
        CODE_PURPOSE => Refusal::Purpose.to_string(),
        CODE_ENCRYPTION => encrypts(detail != 0),
        CODE_CHECKSUM => checks(detail != 0),
        _ => format!("it refused with code {code}, which this version does not know"),
    }
}

fn encrypts(theirs: bool) -> String {
    let (theirs, ours) = if theirs { ("does", "does not") } else { ("does not", "does") };
    format!("it {theirs} encrypt its links, this side {ours}; give all ranks the same LATHIDE_ENCRYPT")
}

fn checks(theirs: bool) -> String {
    let (theirs, ours) = if theirs { ("has", "has none") } else { ("has no", "has them") };
    format!("it {theirs} checksums in its links, this side {ours}; give all ranks the same LATHIDE_CHECKSUM")
}

fn station(rank: u32) -> String {
    if rank == RENDEZVOUS { "the rendezvous".into() } else { format!("rank {rank}") }
}
