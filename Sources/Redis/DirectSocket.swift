// Passes commands to the kernel without NIO's pipeline, queue and promise, which cost as much as encoding a command.
// The kernel nearly always accepts all bytes. Otherwise the rest goes to the channel, and so does everything later
// until the channel has written it: bytes never overtake each other. Sources/SecureSocket/SocketWriter.swift does the
// same for clients, and explains why the descriptor may be used: the channel owns it, and `isActive` is reliable on the
// channel's loop.

internal import Glibc
internal import NIOCore

/// The socket of one connection without TLS. Confined to the channel's loop.
final class DirectSocket {
    private let channel: any Channel
    private let descriptor: CInt
    /// Writes that the channel has not completed, because the kernel did not accept them.
    private var writesInChannel = 0

    /// The call must never block, and must report a disconnected peer as an error rather than by a signal.
    private static let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
    /// A larger buffer is not kept for the next commands.
    private static let keptCapacityBytes = 64 * 1024

    /// - Returns: `nil` if the channel is not a socket.
    init?(_ channel: any Channel) {
        let descriptor = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { $0 }
        guard let descriptor else { return nil }
        (self.channel, self.descriptor) = (channel, descriptor)
    }

    /// Sends all bytes of `output` and empties it. An error of the socket surfaces in the channel.
    func send(_ output: inout ByteBuffer) {
        let accepted = self.writesInChannel > 0 ? 0 : output.withUnsafeReadableBytes { self.offer($0) }
        output.moveReaderIndex(forwardBy: accepted)
        guard output.readableBytes == 0, output.capacity <= Self.keptCapacityBytes else {
            if output.readableBytes > 0 { self.passOn(output) }
            output = self.channel.allocator.buffer(capacity: 1024)
            return
        }
        output.clear()
    }

    private func passOn(_ bytes: ByteBuffer) {
        self.writesInChannel += 1
        let bound = NIOLoopBound(self, eventLoop: self.channel.eventLoop)
        self.channel.writeAndFlush(bytes).whenComplete { _ in bound.value.writesInChannel -= 1 }
    }

    /// Returns how many bytes the kernel accepts now.
    private func offer(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard self.channel.isActive else { return 0 }
        while true {
            let accepted = Glibc.send(self.descriptor, bytes.baseAddress, bytes.count, Self.flags)
            guard accepted < 0 else { return accepted }
            // The channel receives any other error too, and closes as usual.
            guard errno == EINTR else { return 0 }
        }
    }
}
