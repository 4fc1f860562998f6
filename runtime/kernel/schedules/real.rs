//! The model of epoll against the system's.
