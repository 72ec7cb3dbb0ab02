"""Sessions for Socket.IO clients, at /socket.io."""
