//! A host: a network namespace with a TUN device, whose other end the switch holds.

use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::thread;

use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use tun_rs::{DeviceBuilder, SyncDevice};

use super::address::{PREFIX_4, PREFIX_6, addresses};
use super::bucket;
use super::cable::{Cable, MTU};
use super::namespace::{self, LabError, refused};
use crate::launch::failed::{Failed, system};

/// The name of a host's interface.
const INTERFACE: &str = "lab0";
/// The loopback interface is the first of every network namespace.
const LOOPBACK: u32 = 1;
/// The system drops what finds no room between a host and the switch. It is read at once, so this is for bursts.
const DEVICE_QUEUE_PACKETS: u32 = 10_000;
/// TCP's trains have what it sends in a millisecond, and more if the round trip is shorter than 2 to the power of this
/// many microseconds. Here they are as long as a cable carries soon enough.
const TRAINS_BY_DELAY: &str = "/proc/sys/net/ipv4/tcp_tso_rtt_log";
const ALWAYS: &str = "31";

/// One host of a running lab.
pub(super) struct Host {
    /// Its network namespace.
    pub(super) network: File,
    /// Its other end: to be read, it gives what the host sends, a frame at a time.
    pub(super) device: SyncDevice,
    interface: u32,
    netlink: Socket,
}

impl Host {
    /// Makes this many hosts, all at once, since the system takes its time for each. This process is in the lab's user
    /// namespace.
    pub(super) fn make_all(hosts: u32, cable: &Cable) -> Result<Vec<Self>, LabError> {
        thread::scope(|scope| {
            // Only a thread can be in a network namespace of its own.
            let threads: Vec<_> = (0..hosts as usize)
                .map(|host| thread::Builder::new().spawn_scoped(scope, move || Host::make(host, cable)))
                .collect();
            let made = threads.into_iter().map(|thread| {
                let thread = thread.map_err(system("a host's thread cannot be started"))?;
                thread.join().unwrap_or_else(|_| Err(Failed::launcher("a host's thread panicked").into()))
            });
            made.collect()
        })
    }

    fn make(host: usize, cable: &Cable) -> Result<Self, LabError> {
        let network = namespace::enter_new_network()?;
        if let Err(error) = fs::write(TRAINS_BY_DELAY, ALWAYS) {
            tracing::debug!("the hosts' trains of packets are short over long delays: {TRAINS_BY_DELAY}: {error}");
        }
        let (address_4, address_6) = addresses(host);
        let device = DeviceBuilder::new().name(INTERFACE).offload(true).mtu(MTU as u16);
        let device = device.ipv4(address_4, PREFIX_4, None).build_sync().map_err(no_device)?;
        // Not every system has IPv6; then hosts have one address.
        if let Err(error) = device.add_address_v6(address_6, PREFIX_6) {
            tracing::debug!("host{host} has no IPv6 address: {error}");
        }
        let set_up = || -> io::Result<Self> {
            device.set_nonblocking(true)?;
            let (interface, netlink) = (device.if_index()?, Socket::new(NETLINK_ROUTE)?);
            set_link(&netlink, LOOPBACK, LinkFlags::Up, Vec::new())?;
            let host = Host { network, device, interface, netlink };
            host.limit_trains(cable)?;
            host.limit_rate(cable)?;
            Ok(host)
        };
        set_up().map_err(|error| refused("the host's network cannot be set up", error))
    }

    /// Lets the host send trains of packets that its cable carries soon enough.
    pub(super) fn limit_trains(&self, cable: &Cable) -> io::Result<()> {
        let (queue, trains) = (DEVICE_QUEUE_PACKETS, cable.train_bytes());
        let properties = vec![LinkAttribute::TxQueueLen(queue), LinkAttribute::GsoMaxSize(trains)];
        set_link(&self.netlink, self.interface, LinkFlags::empty(), properties)
    }

    /// Gives the host another address instead of one that it has. Connections from and to that one are dead.
    pub(super) fn change_address(&self, from: IpAddr, to: IpAddr) -> io::Result<()> {
        let message = |address: IpAddr| {
            let mut message = AddressMessage::default();
            (message.header.index, message.header.family, message.header.prefix_len) = match address {
                IpAddr::V4(_) => (self.interface, AddressFamily::Inet, PREFIX_4),
                IpAddr::V6(_) => (self.interface, AddressFamily::Inet6, PREFIX_6),
            };
            message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
            message
        };
        // In this order: with the first address of a network its others would go.
        ask(&self.netlink, RouteNetlinkMessage::DelAddress(message(from)), 0)?;
        ask(&self.netlink, RouteNetlinkMessage::NewAddress(message(to)), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Gives the host's network card its rate, if the cable says one.
    pub(super) fn limit_rate(&self, cable: &Cable) -> io::Result<()> {
        let Some(rate) = cable.host_rate else { return Ok(()) };
        let bytes_per_s = u32::try_from(rate.get() / 8).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "a network card of a lab sends at most 34gbit; leave the rate out",
            )
        })?;
        let message = |handle, parent, options| {
            let mut message = TcMessage::default();
            (message.header.index, message.header.handle, message.header.parent) =
                (self.interface as i32, handle, parent);
            message.attributes = vec![TcAttribute::Kind("htb".to_owned()), TcAttribute::Options(options)];
            message
        };
        let (card, class) = (TcHandle { major: 1, minor: 0 }, TcHandle { major: 1, minor: 1 });
        let made = [
            RouteNetlinkMessage::NewQueueDiscipline(message(
                card,
                TcHandle::ROOT,
                vec![bucket::discipline(class.minor)],
            )),
            RouteNetlinkMessage::NewTrafficClass(message(class, card, vec![bucket::class(bytes_per_s)])),
        ];
        // The discipline stays as it is where there is one; its class is changed.
        for (request, flags) in made.into_iter().zip([NLM_F_EXCL, 0]) {
            match ask(&self.netlink, request, NLM_F_CREATE | flags) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let what = format!("the system's token buckets (sch_htb) are needed for it: {error}");
                    return Err(io::Error::new(error.kind(), what));
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }
}

fn no_device(error: io::Error) -> LabError {
    let what = "a TUN device cannot be made";
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => {
            "there is no /dev/net/tun: load the module (sudo modprobe tun), or give a container the device \
             (--device /dev/net/tun)"
        }
        io::ErrorKind::PermissionDenied if std::fs::File::open("/dev/net/tun").is_err() => {
            "/dev/net/tun is closed to this user; on most systems everybody may open it: sudo chmod 666 /dev/net/tun"
        }
        _ => return refused(what, error),
    };
    LabError::refused(what, &error, remedy)
}

/// Gives an interface these flags and properties, besides those it has, and waits for the system's answer. The socket
/// speaks rtnetlink; it reaches the network namespace of the thread that made it, wherever it is used.
fn set_link(socket: &Socket, interface: u32, flags: LinkFlags, properties: Vec<LinkAttribute>) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = interface;
    link.header.flags = flags;
    link.header.change_mask = flags;
    link.attributes = properties;
    ask(socket, RouteNetlinkMessage::SetLink(link), 0)
}

/// Asks the system for a change, and waits for its answer.
fn ask(socket: &Socket, request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut message = NetlinkMessage::from(request);
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send_to(&bytes, &SocketAddr::new(0, 0), 0)?;
    loop {
        let (answer, _) = socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
        if let NetlinkPayload::Error(answer) = answer.payload {
            return if answer.code.is_some() { Err(answer.to_io()) } else { Ok(()) };
        }
    }
}
