//! Links whose TCP connections are cut, over real sockets: nothing is lost, nothing comes twice, and who is gone is named.

mod blind;
mod flips;
mod goodbye;
mod handshake;
mod loss;
mod proxy;
mod system;
mod traffic;
mod verified;
