//! The connections of a half, opened and accepted.

use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;

use sim::workload::Side;
use stacks::ClientPorts;

use super::Half;
use super::connection::Connection;
use crate::LiveError;
use crate::socket::connect_to;
use crate::workload::poller::{SocketNumber, Token};
use crate::workload::post::Told;
use crate::workload::runner::MOST_TRIES;

impl Half<'_> {
    pub(super) fn connect(&mut self, socket: SocketNumber, by: Side) -> Result<(), LiveError> {
        let port = ClientPorts::agreed(self.spec.flows, self.spec.index, socket);
        self.ran.opened.insert(socket, (by == Side::From, port));
        self.connections.insert(socket, Connection::new(by, port));
        if by == self.spec.side {
            self.open_client(socket, port)?;
        } else {
            self.claim()?;
        }
        let waiting = std::mem::take(&mut self.early).into_iter();
        let (about_it, rest): (Vec<_>, Vec<_>) = waiting.partition(|(known, _)| *known == socket);
        self.early = rest;
        about_it.into_iter().try_for_each(|(_, told)| self.hear(told))
    }

    /// Opens a socket on a port, or another if somebody has that, and begins to connect.
    fn open_client(&mut self, socket: SocketNumber, agreed: u16) -> Result<(), LiveError> {
        let own = self.spec.side;
        let opened = self.bound(agreed).map_err(|error| self.spec.failed("open a socket", error))?;
        let (stream, port) = opened;
        let started = connect_to(&stream, self.spec.listening(own.other()));
        let started = started.or_else(|error| match error.raw_os_error() {
            Some(nix::libc::EINPROGRESS) => Ok(()),
            _ => Err(error),
        });
        let started = started.and_then(|()| self.poller.register(stream.as_fd(), Token::End(socket, own)));
        if port != agreed {
            self.tell(Told::Opened { socket, port });
            self.know_port(socket, port);
        }
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.end.stream = Some(stream);
        }
        started.unwrap_or_else(|error| self.lose(socket, &error));
        Ok(())
    }

    fn bound(&self, agreed: u16) -> io::Result<(TcpStream, u16)> {
        let (workload, own) = (&self.spec.workload, self.spec.side);
        let (mut port, mut tries) = (agreed, 0);
        loop {
            match workload.options[own as usize].open(SocketAddrV4::new(*self.spec.end(own).ip(), port)) {
                Ok(stream) => {
                    stream.set_nonblocking(true)?;
                    return Ok((stream, port));
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries < MOST_TRIES => {
                    (port, tries) = (workload.ports.take(), tries + 1);
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn know_port(&mut self, socket: SocketNumber, port: u16) {
        if let Some(connection) = self.connections.get_mut(&socket) {
            connection.port = port;
        }
        if let Some(known) = self.ran.opened.get_mut(&socket) {
            known.1 = port;
        }
    }

    pub(super) fn accept(&mut self) -> Result<(), LiveError> {
        while let Some(Ok((stream, peer))) = self.listener.as_ref().map(TcpListener::accept) {
            stream.set_nonblocking(true).map_err(|error| self.spec.failed("accept a connection", error))?;
            self.accepted.insert(peer.port(), stream);
        }
        self.claim()
    }

    /// Gives accepted connections to those that the copy here has opened.
    pub(super) fn claim(&mut self) -> Result<(), LiveError> {
        let own = self.spec.side;
        let waits = |one: &Connection| one.opener != own && one.end.stream.is_none();
        let waiting = self.connections.iter().filter(|(_, one)| waits(one));
        let waiting: Vec<_> = waiting.map(|(socket, one)| (*socket, one.port)).collect();
        for (socket, port) in waiting {
            let Some(stream) = self.accepted.remove(&port) else { continue };
            let registered = self.poller.register(stream.as_fd(), Token::End(socket, own));
            registered.map_err(|error| self.spec.failed("accept a connection", error))?;
            if let Some(connection) = self.connections.get_mut(&socket) {
                connection.end.stream = Some(stream);
                connection.end.connected();
            }
            self.advance_end(socket)?;
        }
        Ok(())
    }
}
