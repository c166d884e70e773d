// The scenes, and which of them share a gateway.

/// A situation in which figures are measured.
protocol Scene: Sendable {
    /// The resources that it needs. Scenes on the same stage run one after the other.
    var kind: Stage.Kind { get }
    /// The names of its figures in instructions.json.
    var figures: [String] { get }

    /// - Returns: one figure for each name, in this order.
    func measure(on stage: Stage, _ scale: Scale) async throws -> [Figure]
}

/// How much is measured. Less is less exact.
struct Scale {
    /// Followers for the cost of a delivered message.
    var followers = 100
    /// Repetitions in lockstep.
    var repetitions = 300
    /// Time for which a field scene and the idle loop are counted.
    var window = Duration.seconds(60)

    /// Maximum number of riders in a field scene.
    var riders = 40

    /// Time for everything that a gateway does once when it starts.
    static let startUp = Duration.seconds(5)
    /// Repetitions before the first that counts.
    static let warmUp = 50
}

enum Scenes {
    /// Each part needs its own stage; all parts can run at the same time. A field scene shares its stage with no other
    /// scene, because other connections would add to its figures.
    static let parts: [[any Scene]] =
        [.second, .fiveSeconds].flatMap { (interval: FieldScene.Interval) -> [[any Scene]] in
            [
                [FieldScene(interval)], [FieldScene(interval, hasFollowers: false)],
                [FieldScene(interval, .countingRedis)],
            ]
        } + [[IdleScene(), LocationScene(), SubscriptionScene(), ConnectionScene(), StatusScene()]]

    static let figures = Self.parts.joined().flatMap(\.figures)

    /// The parts with only the scenes that yield one of these figures.
    static func parts(yielding figures: [String]) -> [[any Scene]] {
        self.parts.map { part in part.filter { !$0.figures.allSatisfy { !figures.contains($0) } } }
            .filter { !$0.isEmpty }
    }
}

/// An event loop of a gateway without clients.
struct IdleScene: Scene {
    let kind = Stage.Kind.lockstep
    let figures = ["idle_loop_second"]

    /// Of a field scene's window.
    private static let share = 0.25

    func measure(on stage: Stage, _ scale: Scale) async throws -> [Figure] {
        try await Task.sleep(for: Scale.startUp)
        let (profile, seconds) = try await stage.callgrind.count {
            try await Task.sleep(for: scale.window * Self.share)
        }
        return [Figure(self.figures[0], profile * (1 / seconds))]
    }
}
