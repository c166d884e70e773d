// The commands of a connection that Redis has not answered yet. Replies arrive in the order of the commands.

internal import NIOCore

/// A command that waits for its reply, and where the reply goes.
enum UnansweredCommand {
    case answer(EventLoopPromise<RESPValue>, since: NIODeadline)
    case direct((DirectReply) -> Void, since: NIODeadline)
    /// A PING of the link: any reply shows that the node is alive.
    case pong(since: NIODeadline)
    /// A subscribe or unsubscribe command, with the number of acknowledgements still to come.
    case acknowledgements(Int, isSubscription: Bool, failed: (RedisError) -> Void, since: NIODeadline)

    /// When the command was sent.
    var since: NIODeadline {
        switch self {
        case .answer(_, let since), .direct(_, let since), .pong(let since), .acknowledgements(_, _, _, let since):
            since
        }
    }

    /// The connection has ended, so there will be no reply.
    func fail(_ reason: RedisError) {
        switch self {
        case .answer(let promise, _): promise.fail(reason)
        case .direct(let completion, _): completion(.failure(reason))
        case .pong: break
        case .acknowledgements(_, _, let failed, _): failed(reason)
        }
    }
}
