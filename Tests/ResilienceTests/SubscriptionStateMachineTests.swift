// The channels of a connection without I/O: what is requested, what counts, and what must be read again.

import Testing

@testable import Resilience

@Suite struct SubscribingTests {
    /// A connected state machine with these channels acknowledged.
    private static func connected(_ channels: [String] = [], batch: Int = 100) -> SubscriptionStateMachine<String> {
        var core = SubscriptionStateMachine<String>(batch: batch)
        core.didConnect()
        for channel in channels { _ = core.subscribe(channel) }
        _ = core.commands()
        for channel in channels { _ = core.acknowledged(channel) }
        return core
    }

    @Test func `a subscription counts once it is acknowledged`() {
        var core = Self.connected()
        #expect(core.subscribe("a") == false)
        #expect(core.unacknowledged == 1)
        #expect(core.hasCommands)
        #expect(core.commands() == [.subscribe(["a"])])
        #expect(!core.hasCommands)
        #expect(core.subscribe("a") == false)
        #expect(core.commands() == [])
        #expect(core.acknowledged("a") == .granted)
        #expect(core.unacknowledged == 0)
        #expect(core.subscribe("a") == true)
        #expect(core.contains("a") && core.count == 1)
    }

    @Test func `unsolicited and repeated acknowledgements are outdated`() {
        var core = Self.connected(["a"])
        #expect(core.acknowledged("a") == .outdated)
        #expect(core.acknowledged("b") == .outdated)
        #expect(core.count == 1)
    }

    @Test func `channels subscribed while disconnected are requested after connecting`() {
        var core = SubscriptionStateMachine<String>()
        #expect(core.subscribe("a") == false)
        #expect(!core.hasCommands && core.commands() == [])
        core.didConnect()
        #expect(core.commands() == [.subscribe(["a"])])
        #expect(core.acknowledged("a") == .granted)
    }

    @Test func `names are sent in batches, unsubscriptions first`() {
        var core = Self.connected(["a", "b", "c"], batch: 2)
        for channel in ["d", "e", "f"] { _ = core.subscribe(channel) }
        for channel in ["a", "b", "c"] { #expect(core.unsubscribe(channel) == true) }
        #expect(
            core.commands() == [
                .unsubscribe(["a", "b"]), .unsubscribe(["c"]), .subscribe(["d", "e"]), .subscribe(["f"]),
            ])
    }

    @Test func `a channel unsubscribed before it was requested is not requested`() {
        var core = Self.connected()
        _ = core.subscribe("a")
        #expect(core.unsubscribe("a") == true)
        #expect(core.commands() == [.unsubscribe(["a"])])
        #expect(core.unacknowledged == 0 && core.count == 0)
        #expect(core.unsubscribe("a") == false)
    }

    @Test func `a late acknowledgement is not mistaken for that of a newer subscription`() {
        var core = Self.connected()
        _ = core.subscribe("a")
        _ = core.commands()
        _ = core.unsubscribe("a")
        _ = core.subscribe("a")
        #expect(core.commands() == [.unsubscribe(["a"]), .subscribe(["a"])])
        #expect(core.acknowledged("a") == .outdated)
        #expect(core.unacknowledged == 1)
        #expect(core.unsubscribed("a") == false)
        #expect(core.acknowledged("a") == .granted)
    }

    @Test func `each of several unsubscriptions is awaited`() {
        var core = Self.connected(["a"])
        for _ in 0..<2 {
            _ = core.unsubscribe("a")
            _ = core.subscribe("a")
            _ = core.commands()
        }
        #expect(core.unsubscribed("a") == false)
        #expect(core.acknowledged("a") == .outdated)
        #expect(core.unsubscribed("a") == false)
        #expect(core.acknowledged("a") == .granted)
    }

    @Test func `a lost connection gives up new channels and restores the others, once per loss`() {
        var core = Self.connected(["a", "b"])
        for _ in 0..<3 {
            _ = core.subscribe("new")
            #expect(core.didDisconnect() == ["new"])
            #expect(core.unacknowledged == 2 && core.unrestored == 2)
            #expect(core.commands() == [])
            core.didConnect()
            guard case .subscribe(let names)? = core.commands().first else {
                Issue.record("not the expected answer")
                return
            }
            #expect(Set(names) == ["a", "b"])
            for channel in ["a", "b"] {
                #expect(core.acknowledged(channel) == .restored)
                #expect(core.acknowledged(channel) == .outdated)
            }
            #expect(core.unacknowledged == 0 && core.unrestored == 0)
        }
    }

    @Test func `a channel not restored before the next loss is restored after it`() {
        var core = Self.connected(["a"])
        #expect(core.didDisconnect() == [])
        core.didConnect()
        #expect(core.didDisconnect() == [])
        core.didConnect()
        #expect(core.commands() == [.subscribe(["a"])])
        #expect(core.acknowledged("a") == .restored)
    }

    @Test func `pending unsubscriptions end with their connection`() {
        var core = Self.connected(["a"])
        _ = core.unsubscribe("a")
        _ = core.commands()
        #expect(core.didDisconnect() == [])
        #expect(core.unsubscribe("a") == false)
        core.didConnect()
        #expect(!core.hasCommands)
        _ = core.subscribe("a")
        #expect(core.commands() == [.subscribe(["a"])])
        #expect(core.acknowledged("a") == .granted)
    }

    @Test func `a channel unsubscribed while disconnected is not requested again`() {
        var core = Self.connected(["a", "b"])
        _ = core.didDisconnect()
        #expect(core.unsubscribe("a") == true)
        #expect(core.unrestored == 1)
        core.didConnect()
        #expect(core.commands() == [.subscribe(["b"])])
    }
}

@Suite struct SubscribingRefusalsTests {
    private typealias Core = SubscriptionStateMachine<String>

    private static func connected(_ channels: [String] = []) -> Core {
        var core = Core()
        core.didConnect()
        for channel in channels { _ = core.subscribe(channel) }
        _ = core.commands()
        return core
    }

    @Test func `a refused new subscription is given up, and a refused restored one is requested again`() {
        var core = Self.connected(["a"])
        _ = core.acknowledged("a")
        _ = core.didDisconnect()
        core.didConnect()
        _ = core.subscribe("b")
        _ = core.commands()
        let refused = core.refused(["a", "b", "unknown"])
        #expect(refused.givenUp == ["b"] && refused.again == ["a"])
        #expect(!core.contains("b") && core.unacknowledged == 1)
        core.requestAgain(refused.again)
        #expect(core.commands() == [.subscribe(["a"])])
        #expect(core.acknowledged("a") == .restored)
    }

    @Test func `a channel unsubscribed or acknowledged meanwhile is not requested again`() {
        var core = Self.connected(["a", "b"])
        _ = (core.acknowledged("a"), core.acknowledged("b"))
        _ = core.didDisconnect()
        core.didConnect()
        _ = core.commands()
        let refused = core.refused(["a", "b"])
        _ = core.unsubscribe("a")
        _ = core.acknowledged("b")
        _ = core.commands()
        core.requestAgain(refused.again)
        #expect(core.commands() == [])
        _ = core.didDisconnect()
        core.requestAgain(refused.again)
        #expect(!core.hasCommands)
    }

    @Test func `a refusal of an acknowledged channel changes nothing`() {
        var core = Self.connected(["a"])
        _ = core.acknowledged("a")
        let refused = core.refused(["a"])
        #expect(refused.givenUp == [] && refused.again == [])
        #expect(core.subscribe("a") == true)
    }

    @Test func `a late refusal is not mistaken for that of a newer subscription`() {
        var core = Self.connected(["a"])
        _ = core.unsubscribe("a")
        _ = core.subscribe("a")
        _ = core.commands()
        #expect(core.refused(["a"]).givenUp == [])
        #expect(core.unsubscribed("a") == false)
        #expect(core.acknowledged("a") == .granted)
    }

    @Test func `a redirected channel is dropped without an unsubscribe command`() {
        var core = Self.connected(["a", "b", "c"])
        _ = core.acknowledged("b")
        _ = core.unsubscribe("c")
        _ = core.subscribe("c")
        _ = core.commands()
        #expect(core.redirected(["a", "b", "c"]) == ["a"])
        #expect(core.commands() == [])
        #expect(core.count == 2 && core.unacknowledged == 1)
        // When requested here again, it must not be mistaken for one that was ended.
        #expect(core.subscribe("a") == false)
        #expect(core.acknowledged("a") == .granted)
    }

    @Test func `a subscription ended by the server leaves nothing behind, acknowledged or requested`() {
        var core = Self.connected(["a", "b"])
        _ = core.acknowledged("a")
        #expect(core.unsubscribed("a") == true)
        #expect(core.unsubscribed("b") == true)
        #expect(core.count == 0 && core.unacknowledged == 0)
        #expect(core.unsubscribed("a") == false)
    }

    @Test func `a subscription ended by the server is a repair on its new node, even after a loss there`() {
        var (old, new) = (Self.connected(["a"]), Self.connected())
        _ = old.acknowledged("a")
        #expect(old.unsubscribed("a") == true)
        #expect(new.subscribe("a", isRepair: true) == false)
        #expect(new.unrestored == 1)
        #expect(new.didDisconnect() == [])
        new.didConnect()
        _ = new.commands()
        #expect(new.acknowledged("a") == .restored)
        #expect(new.unrestored == 0)
    }

    @Test func `an earlier subscribe does not turn a repair into a new subscription`() {
        var core = Self.connected(["a"])
        #expect(core.subscribe("a", isRepair: true) == false)
        #expect(core.subscribe("a", isRepair: true) == false)
        #expect(core.unrestored == 1 && core.commands() == [])
        #expect(core.acknowledged("a") == .restored)
        #expect(core.unrestored == 0)
        #expect(core.subscribe("a", isRepair: true) == true)
    }

    @Test func `an unsubscription by the server while ours is pending counts as ours`() {
        var core = Self.connected(["a"])
        _ = core.acknowledged("a")
        _ = core.unsubscribe("a")
        #expect(core.unsubscribed("a") == false)
        #expect(core.unsubscribed("a") == false)
        #expect(core.count == 0)
    }

    @Test func `batches preserve order and lose nothing`() {
        #expect(([] as [Int]).batches(of: 3) == [])
        #expect(Array(1...7).batches(of: 3) == [[1, 2, 3], [4, 5, 6], [7]])
    }
}

extension SubscriptionStateMachine {
    /// The number of channels without an acknowledgement.
    fileprivate var unacknowledged: Int { self.channels.values.count { $0 != .acknowledged } }
}
