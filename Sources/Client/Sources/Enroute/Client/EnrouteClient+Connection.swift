// The sockets of the client. The machine decides when they are opened, read, written and closed.

extension EnrouteClient {
    func perform(_ action: ConnectionMachine.Action) {
        switch action {
        case .fetchCredential(let attempt):
            let (configuration, timebase) = (self.configuration, self.timebase)
            Task {
                do {
                    let credential = try await configuration.fetchCredential(timebase)
                    self.connection { $0.received(credential, attempt: attempt, at: $1) }
                } catch {
                    self.connection { $0.credentialFailed("\(error)", attempt: attempt, at: $1) }
                }
            }
        case .open(let attempt): self.opening[attempt] = Task { await self.open(attempt) }
        case .send(let attempt, let text): self.sockets[attempt]?.outgoing.yield(text)
        case .close(let attempt, let code):
            self.opening.removeValue(forKey: attempt)?.cancel()
            guard let open = self.sockets.removeValue(forKey: attempt) else { return }
            open.outgoing.finish()
            open.writer.cancel()
            Task { await open.socket.close(code: code) }
        }
    }

    /// Opens a socket and reads it until it ends.
    private func open(_ attempt: Int) async {
        do {
            let socket = try await self.configuration.transport.connect(
                to: self.configuration.socketURL, subprotocol: Self.subprotocol)
            guard self.opening[attempt] != nil else { return await socket.close(code: 1000) }
            // The machine bounds this: at most `MessageBudget.burst` messages more than the socket has accepted.
            let (stream, outgoing) = AsyncStream.makeStream(of: String.self)
            let writer = Task { await self.write(stream, to: socket, attempt) }
            self.sockets[attempt] = OpenSocket(socket: socket, outgoing: outgoing, writer: writer)
            self.connection { $0.opened(attempt: attempt, at: $1) }
            while true {
                switch try await socket.receive() {
                case .text(let text):
                    guard let message = ServerMessage(text: text) else { continue }
                    self.change { $0.received(message, attempt: attempt, at: $1) }
                case .closed(let code, let reason):
                    return self.closed(CloseReason(code: code, reason: reason), attempt)
                }
            }
        } catch {
            self.closed(CloseReason(code: 1006, reason: "\(error)"), attempt)
        }
    }

    private func write(_ stream: AsyncStream<String>, to socket: any TransportSocket, _ attempt: Int) async {
        for await text in stream {
            do {
                try await socket.send(text)
                self.connection { connection, _ in connection.sent(characters: text.utf8.count, attempt: attempt) }
            } catch {
                // `receive` reports why the socket ended.
                return
            }
        }
    }

    private func closed(_ reason: CloseReason, _ attempt: Int) {
        self.connection { $0.closed(reason, attempt: attempt, at: $1) }
        // A socket that the machine gave up earlier is already closed.
        self.opening[attempt] = nil
        if let open = self.sockets.removeValue(forKey: attempt) { open.outgoing.finish() }
    }
}
