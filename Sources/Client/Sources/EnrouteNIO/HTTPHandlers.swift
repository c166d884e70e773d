// One HTTP request over a NIO channel, and the status of the response to an upgrade request.

#if NIO
    internal import Enroute
    internal import Foundation
    internal import NIOConcurrencyHelpers
    internal import NIOCore
    internal import NIOHTTP1

    /// Sends a request when the connection is open, and completes a promise with the whole response. Confined to its
    /// channel's event loop.
    final class AnswerHandler: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias OutboundOut = HTTPClientRequestPart

        private let request: TransportRequest
        private let address: Address
        private let promise: EventLoopPromise<TransportResponse>
        private var response: TransportResponse?

        init(_ request: TransportRequest, _ address: Address, _ promise: EventLoopPromise<TransportResponse>) {
            (self.request, self.address, self.promise) = (request, address, promise)
        }

        func channelActive(context: ChannelHandlerContext) {
            var headers: HTTPHeaders = ["host": self.address.authority, "connection": "close"]
            for (name, value) in self.request.headers { headers.replaceOrAdd(name: name, value: value) }
            headers.replaceOrAdd(name: "content-length", value: String(self.request.body?.count ?? 0))
            let head = HTTPRequestHead(
                version: .http1_1, method: HTTPMethod(rawValue: self.request.method), uri: self.address.path,
                headers: headers)
            context.write(self.wrapOutboundOut(.head(head)), promise: nil)
            if let body = self.request.body {
                context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
            }
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head):
                var headers: [String: String] = [:]
                for (name, value) in head.headers { headers[name.lowercased()] = value }
                self.response = TransportResponse(status: Int(head.status.code), headers: headers)
            case .body(let part):
                self.response?.body.append(contentsOf: part.readableBytesView)
                guard let size = self.response?.body.count, size > NIOTransport.mostAnswerBytes else { return }
                self.fail(context, TransportError("The response is longer than \(NIOTransport.mostAnswerBytes) bytes."))
            case .end:
                if let response { self.promise.succeed(response) }
                context.close(promise: nil)
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            // Does nothing after the response, because a promise is completed once.
            self.promise.fail(TransportError("The connection ended before the response."))
            context.fireChannelInactive()
        }

        /// A connection that was refused never becomes active or inactive.
        func handlerRemoved(context: ChannelHandlerContext) {
            self.promise.fail(TransportError("The connection was refused."))
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { self.fail(context, error) }

        private func fail(_ context: ChannelHandlerContext, _ error: any Error) {
            self.promise.fail(error)
            context.close(promise: nil)
        }
    }

    /// The HTTP status of the response to an upgrade request.
    final class AnswerStatus: Sendable {
        private let box = NIOLockedValueBox<UInt>(0)

        var value: UInt {
            get { self.box.withLockedValue { $0 } }
            set { self.box.withLockedValue { $0 = newValue } }
        }
    }

    /// Records the status. An upgrade removes this handler, because frames are not HTTP.
    final class StatusHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPClientResponsePart

        private let status: AnswerStatus

        init(_ status: AnswerStatus) { self.status = status }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if self.status.value == 0, case .head(let head) = self.unwrapInboundIn(data) {
                self.status.value = head.status.code
            }
            context.fireChannelRead(data)
        }
    }
#endif
