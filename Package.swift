// swift-tools-version: 6.2
import PackageDescription

/// Every target is compiled alike: Swift 6 mode, the upcoming strictness on, warnings are errors.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Tests import what they test; spelling out each module behind a member would say nothing there.
let testing: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The targets of the hot path: exclusivity is checked in debug and in tests, not once per message in release
/// (10 to 17 % of the CPU of a delivered message, see Sources/SecureSocket/decisions/direct-write.md).
let hot: [SwiftSetting] =
    strict + [
        .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))
    ]

/// The targets of pure values that the simulator drives: optimised in debug builds too, because 200,000 seeds are part
/// of `make test`. Preconditions, and the checks of exclusivity and overflow, stay.
let quick: [SwiftSetting] = strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// Products of other packages.
let products = [
    "async-http-client": "AsyncHTTPClient",
    "hummingbird": "Hummingbird HummingbirdCore",
    "jwt-kit": "JWTKit",
    "swift-argument-parser": "ArgumentParser",
    "swift-asn1": "SwiftASN1",
    "swift-certificates": "X509",
    "swift-configuration": "Configuration",
    "swift-crypto": "Crypto CryptoExtras",
    "swift-http-types": "HTTPTypes",
    "swift-log": "Logging",
    "swift-nio": "NIOConcurrencyHelpers NIOCore NIOEmbedded NIOFoundationCompat NIOHTTP1 NIOPosix NIOTLS NIOWebSocket",
    "swift-nio-ssl": "NIOSSL",
    "swift-service-lifecycle": "ServiceLifecycle UnixSignals",
    "swift-subprocess": "Subprocess",
    "swift-system": "SystemPackage",
]

let packages = Dictionary(
    uniqueKeysWithValues: products.flatMap { package, names in names.split(separator: " ").map { ("\($0)", package) } })

/// Dependencies by their names: targets of this package, and products.
func named(_ names: String) -> [Target.Dependency] {
    names.split { $0.isWhitespace }.map { name in
        packages["\(name)"].map { .product(name: "\(name)", package: $0) } ?? .byName(name: "\(name)")
    }
}

/// A target of Sources/.
func module(
    _ name: String, _ dependencies: String = "", exclude: [String] = [], path: String? = nil,
    settings: [SwiftSetting] = strict
) -> Target {
    .target(name: name, dependencies: named(dependencies), path: path, exclude: exclude, swiftSettings: settings)
}

/// A target of Tests/.
func tests(
    _ name: String, _ dependencies: String = "", exclude: [String] = [], settings: [SwiftSetting] = testing
) -> Target {
    .testTarget(name: name, dependencies: named(dependencies), exclude: exclude, swiftSettings: settings)
}

/// `ENROUTE_BUILD_TWIN=1` builds the gateway on NIOSSL's handler in the place of ours, to compare the two
/// (benchmarks/NIOSSLTwin).
let secureSocket =
    Context.environment["ENROUTE_BUILD_TWIN"] == "1"
    ? module("SecureSocket", "NIOCore NIOPosix NIOTLS NIOSSL", path: "benchmarks/NIOSSLTwin", settings: hot)
    : module("SecureSocket", "COpenSSL HotPath NIOCore NIOPosix", settings: hot)

let package = Package(
    name: "enroute",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "enroute", targets: ["enroute"]),
        .library(name: "EnrouteWire", targets: ["EnrouteWire"]),
        .library(name: "EnrouteClient", targets: ["EnrouteClient"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        // 0 vocabulary
        // Without `hot`: a package of somebody else may not depend on a target with unsafe flags.
        module("EnrouteWire", "CTexts HotPath", exclude: ["PROTOCOL.md", "Texts"]),
        module("Telemetry"),
        module("HotPath"),
        module("Resilience", settings: quick),

        // 1 mechanisms
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CTexts"),
        .target(name: "CScripts"),
        .target(name: "CWebAssets"),
        module(
            "Redis",
            """
            CHiredis HotPath Resilience Telemetry NIOCore NIOPosix Crypto Logging NIOSSL
            """, settings: hot),
        secureSocket,
        module("Fanout", settings: hot + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        module("OutboundHTTP", "Resilience NIOCore NIOHTTP1 AsyncHTTPClient NIOSSL"),
        module("Access", "EnrouteWire OutboundHTTP Crypto CryptoExtras JWTKit"),
        module("Journeys", "CZlib"),
        module("Tracking", "EnrouteWire", settings: quick),
        module("Routing", "EnrouteWire OutboundHTTP"),
        module("Events", "EnrouteWire OutboundHTTP Crypto SwiftASN1 X509"),

        // 2 state
        module("LiveState", "Access CScripts EnrouteWire HotPath OutboundHTTP Redis NIOCore Crypto", settings: hot),

        // 3 the gateway, from the bottom
        module(
            "HTTPValues",
            """
            Access EnrouteWire Telemetry NIOCore Crypto HTTPTypes Hummingbird Logging
            """, settings: hot),
        module("WebSocket", "EnrouteWire SecureSocket NIOCore", settings: hot),
        module("TrafficControl", "Access EnrouteWire Fanout HTTPValues Telemetry NIOCore", settings: hot),
        module("WebAssets", "CWebAssets CZlib HTTPValues", exclude: ["web", "api"]),
        module(
            "Jobs",
            """
            Access EnrouteWire Events HTTPValues LiveState Redis Routing Telemetry Tracking NIOCore Crypto Logging
            """, settings: hot),
        module(
            "ETA",
            """
            EnrouteWire HTTPValues Jobs LiveState Routing Telemetry Tracking TrafficControl WebSocket NIOCore
            Logging
            """, settings: hot),
        module(
            "Realtime",
            """
            Access EnrouteWire ETA Fanout HotPath HTTPValues Jobs LiveState Redis Resilience SecureSocket Telemetry
            Tracking TrafficControl WebSocket NIOCore Logging
            """, settings: hot),
        module(
            "REST",
            """
            Access EnrouteWire Events Fanout HTTPValues Jobs LiveState Realtime Redis Routing SecureSocket
            Telemetry Tracking TrafficControl WebAssets NIOCore HTTPTypes Hummingbird Logging
            """, settings: hot),
        module(
            "Gateway",
            """
            Access EnrouteWire ETA Events Fanout HTTPValues LiveState Realtime Redis REST SecureSocket Telemetry
            TrafficControl WebSocket NIOCore NIOHTTP1 NIOPosix Crypto HTTPTypes Hummingbird Logging
            ServiceLifecycle HummingbirdCore
            """, settings: hot),

        // aside: the client library
        module("EnrouteClient", "EnrouteWire NIOConcurrencyHelpers NIOCore NIOHTTP1 NIOPosix NIOWebSocket NIOSSL"),

        // aside: a redis-server and certificates of one's own, for the demo and the tests
        module("Embedded", "Crypto Subprocess SwiftASN1 SystemPackage X509"),

        // 4 process
        .executableTarget(
            name: "enroute",
            dependencies: named(
                """
                Access Embedded EnrouteClient EnrouteWire ETA Events Gateway HTTPValues Journeys LiveState
                OutboundHTTP Realtime Redis REST Routing SecureSocket Telemetry Tracking TrafficControl WebAssets
                NIOCore NIOFoundationCompat NIOHTTP1 NIOPosix AsyncHTTPClient HTTPTypes Hummingbird Logging NIOSSL
                ServiceLifecycle Subprocess SystemPackage ArgumentParser Configuration UnixSignals
                """), exclude: ["Demo/Panel"], swiftSettings: strict),

        // tests: one target for each target, one for the commands, one for the project's own rules
        module(
            "TestSupport",
            """
            Embedded Redis NIOConcurrencyHelpers NIOCore NIOHTTP1 NIOPosix Crypto CryptoExtras Logging NIOSSL
            SwiftASN1 X509
            """, path: "Tests/TestSupport"),
        tests("EnrouteWireTests", "EnrouteWire TestSupport", exclude: ["Golden"]),
        tests(
            "RedisTests",
            """
            Embedded Redis TestSupport NIOConcurrencyHelpers NIOCore NIOEmbedded NIOPosix Logging Subprocess
            """),
        tests(
            "SecureSocketTests",
            """
            COpenSSL SecureSocket TestSupport NIOConcurrencyHelpers NIOCore NIOEmbedded NIOPosix Crypto NIOSSL
            SwiftASN1 X509
            """),
        tests("TestSupportTests", "Redis TestSupport NIOCore Subprocess"),
        tests("OutboundHTTPTests", "OutboundHTTP TestSupport NIOConcurrencyHelpers"),
        tests("FanoutTests", "Fanout TestSupport"),
        tests("ResilienceTests", "Resilience"),
        // The cores are values, whose exclusivity is checked when they are compiled; of the model's classes it would
        // be checked at run time, which was 40 % of a run.
        tests(
            "SimulationTests",
            """
            Fanout Resilience TestSupport
            """,
            settings: testing + [.unsafeFlags(["-O", "-enforce-exclusivity=unchecked"], .when(configuration: .debug))]),
        tests("AccessTests", "Access EnrouteWire Crypto CryptoExtras JWTKit"),
        tests("EventsTests", "EnrouteWire Events TestSupport Crypto CryptoExtras SwiftASN1 X509"),
        tests("JourneysTests", "CZlib Journeys"),
        tests("RoutingTests", "EnrouteWire Routing TestSupport NIOConcurrencyHelpers"),
        tests("TrackingTests", "EnrouteWire Journeys Tracking"),
        tests(
            "LiveStateTests",
            """
            Access Embedded EnrouteWire LiveState Redis TestSupport NIOCore NIOPosix Subprocess SystemPackage
            """),
        // The search is a value's; 2,000 histories of it are part of `make test`.
        tests(
            "LinearizabilityTests",
            """
            Embedded EnrouteWire LiveState Redis Resilience TestSupport NIOCore
            """, settings: testing + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        tests(
            "GatewayTests",
            """
            Access Embedded EnrouteClient EnrouteWire ETA Events Gateway HotPath HTTPValues Jobs Journeys LiveState
            Realtime Redis REST Routing SecureSocket Telemetry TestSupport Tracking TrafficControl WebAssets
            WebSocket NIOCore NIOHTTP1 NIOPosix Crypto Logging NIOSSL ServiceLifecycle Subprocess SystemPackage
            """),
        tests(
            "CommandTests",
            """
            Access Embedded enroute EnrouteWire LiveState Redis TestSupport NIOCore NIOFoundationCompat NIOHTTP1
            NIOPosix AsyncHTTPClient Logging NIOSSL Subprocess SystemPackage
            """),
        tests("TidyTests", ""),
    ],
    // `#embed` (CWebAssets).
    cLanguageStandard: .c2x
)

/// Texts stand beside the code they describe: a README.md, and a folder of decisions with a record each.
let withReadme = [
    "ETA", "Gateway", "Jobs", "LiveState", "REST", "Realtime", "Redis", "Resilience", "SecureSocket", "TrafficControl",
    "WebAssets", "WebSocket",
]
let withDecisions = [
    "EnrouteWire", "Fanout", "Gateway", "Jobs", "LiveState", "REST", "Realtime", "Redis", "SecureSocket", "WebSocket",
    "enroute",
]
for target in package.targets where target.path == nil {
    if withReadme.contains(target.name) { target.exclude.append("README.md") }
    if withDecisions.contains(target.name) { target.exclude.append("decisions") }
}

// Fuzzers (Tests/Fuzzing) exist where ENROUTE_FUZZ is set, which `make test-long LONG=fuzz` does: they are linked with libFuzzer. Their
// checks reach into the targets with @testable, so elsewhere they are a test target, which a release build passes over.
let fuzzers = ["FollowTable", "HTTPHead", "Messages", "Outbox", "ReportQueue", "RESP", "WebSocket"].map { "Fuzz\($0)" }
let checked = named(
    """
    Access ETA EnrouteWire Fanout Gateway HTTPValues LiveState REST Realtime Redis SecureSocket Tracking
    TrafficControl WebSocket NIOCore NIOEmbedded NIOHTTP1 JWTKit Logging
    """)
if Context.environment["ENROUTE_FUZZ"] == nil {
    package.targets += [
        .testTarget(
            name: "FuzzChecks", dependencies: checked, path: "Tests/Fuzzing/Checks", swiftSettings: testing),
        .testTarget(name: "CorpusTests", dependencies: ["FuzzChecks", "TestSupport"], swiftSettings: testing),
    ]
} else {
    package.targets += [
        .target(name: "FuzzChecks", dependencies: checked, path: "Tests/Fuzzing/Checks", swiftSettings: testing),
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzzing/CLibFuzzer"),
    ]
    package.targets += fuzzers.map { name in
        .executableTarget(
            name: name, dependencies: ["CLibFuzzer", "FuzzChecks"], path: "Tests/Fuzzing/\(name)",
            swiftSettings: testing)
    }
}
