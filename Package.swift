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

func nio(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-nio") }

/// `ENROUTE_BUILD_TWIN=1` builds the gateway on NIOSSL's handler in the place of ours, to compare the two
/// (benchmarks/NIOSSLTwin).
let secureSocket: Target =
    Context.environment["ENROUTE_BUILD_TWIN"] == "1"
    ? .target(
        name: "SecureSocket",
        dependencies: [
            nio("NIOCore"), nio("NIOPosix"), nio("NIOTLS"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
        ], path: "benchmarks/NIOSSLTwin", swiftSettings: hot)
    : .target(
        name: "SecureSocket", dependencies: ["COpenSSL", "HotPath", nio("NIOCore"), nio("NIOPosix")],
        swiftSettings: hot)

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
        .target(
            name: "EnrouteWire", dependencies: ["CTexts", "HotPath"], exclude: ["PROTOCOL.md", "Texts"],
            swiftSettings: strict),
        .target(
            name: "Telemetry", swiftSettings: strict),
        .target(name: "HotPath", swiftSettings: strict),
        .target(name: "Resilience", swiftSettings: quick),

        // 1 mechanisms
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CTexts"),
        .target(name: "CScripts"),
        .target(name: "CWebAssets"),
        .target(
            name: "Redis",
            dependencies: [
                "CHiredis", "HotPath", "Resilience", "Telemetry", nio("NIOCore"), nio("NIOPosix"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Crypto", package: "swift-crypto"),
            ], swiftSettings: hot),
        secureSocket,
        .target(
            name: "Fanout", dependencies: [],
            swiftSettings: hot + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        .target(
            name: "OutboundHTTP",
            dependencies: [
                "Resilience", .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"), nio("NIOCore"), nio("NIOHTTP1"),
            ], swiftSettings: strict),
        .target(
            name: "Access",
            dependencies: [
                "EnrouteWire", "OutboundHTTP", .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ], swiftSettings: strict),
        .target(name: "Journeys", dependencies: ["CZlib"], swiftSettings: strict),
        .target(name: "Tracking", dependencies: ["EnrouteWire"], swiftSettings: quick),
        .target(
            name: "Routing",
            dependencies: ["EnrouteWire", "OutboundHTTP"], swiftSettings: strict),
        .target(
            name: "Events",
            dependencies: [
                "EnrouteWire", "OutboundHTTP", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ], swiftSettings: strict),

        // 2 state
        .target(
            name: "LiveState",
            dependencies: [
                "Access", "CScripts", "EnrouteWire", "HotPath", "OutboundHTTP", "Redis", nio("NIOCore"),
                .product(name: "Crypto", package: "swift-crypto"),
            ], swiftSettings: hot),

        // 3 sockets
        .target(
            name: "Gateway",
            dependencies: [
                "Access", "CWebAssets", "CZlib", "EnrouteWire", "Events", "Fanout", "HotPath", "LiveState", "Redis",
                "Resilience", "Routing", "SecureSocket", "Telemetry", "Tracking", nio("NIOCore"), nio("NIOPosix"),
                nio("NIOHTTP1"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Sources", exclude: ["WebAssets/web", "WebAssets/api"],
            sources: [
                "HTTPValues", "WebSocket", "TrafficControl", "WebAssets", "Jobs", "ETA", "Realtime", "REST", "Gateway",
            ], swiftSettings: hot),

        // aside: the client library
        .target(
            name: "EnrouteClient",
            dependencies: [
                "EnrouteWire", nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"),
                nio("NIOWebSocket"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ], swiftSettings: strict),

        // aside: a redis-server and certificates of one's own, for the demo and the tests
        .target(
            name: "Embedded",
            dependencies: [
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "SystemPackage", package: "swift-system"),
            ], swiftSettings: strict),

        // 4 process
        .executableTarget(
            name: "enroute",
            dependencies: [
                "Access", "Embedded", "EnrouteClient", "EnrouteWire", "Events", "Gateway", "Journeys", "LiveState",
                "OutboundHTTP", "Redis", "Routing", "SecureSocket", "Telemetry", "Tracking", nio("NIOCore"),
                nio("NIOPosix"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"), nio("NIOFoundationCompat"), nio("NIOHTTP1"),
            ], exclude: ["Demo/Panel"], swiftSettings: strict),

        // tests: one target for each target, one for the commands, one for the project's own rules
        .target(
            name: "TestSupport",
            dependencies: [
                "Embedded", "Redis", nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOHTTP1"), nio("NIOPosix"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ], path: "Tests/TestSupport", swiftSettings: strict),
        .testTarget(
            name: "EnrouteWireTests", dependencies: ["EnrouteWire", "TestSupport"], exclude: ["Golden"],
            swiftSettings: testing),
        .testTarget(
            name: "RedisTests",
            dependencies: [
                "Embedded", "Redis", "TestSupport", nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOEmbedded"),
                nio("NIOPosix"), .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ], swiftSettings: testing),
        .testTarget(
            name: "SecureSocketTests",
            dependencies: [
                "COpenSSL", "SecureSocket", "TestSupport", nio("NIOConcurrencyHelpers"), nio("NIOCore"),
                nio("NIOEmbedded"),
                nio("NIOPosix"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ], swiftSettings: testing),
        .testTarget(
            name: "TestSupportTests",
            dependencies: [
                "Redis", "TestSupport", nio("NIOCore"), .product(name: "Subprocess", package: "swift-subprocess"),
            ], swiftSettings: testing),
        .testTarget(
            name: "OutboundHTTPTests", dependencies: ["OutboundHTTP", "TestSupport", nio("NIOConcurrencyHelpers")],
            swiftSettings: testing),
        .testTarget(name: "FanoutTests", dependencies: ["Fanout", "TestSupport"], swiftSettings: testing),
        .testTarget(name: "ResilienceTests", dependencies: ["Resilience"], swiftSettings: testing),
        .testTarget(
            name: "SimulationTests", dependencies: ["Fanout", "Resilience", "TestSupport"],
            // The cores are values, whose exclusivity is checked when they are compiled; of the model's classes it would
            // be checked at run time, which was 40 % of a run.
            swiftSettings: testing + [
                .unsafeFlags(["-O", "-enforce-exclusivity=unchecked"], .when(configuration: .debug))
            ]),
        .testTarget(
            name: "AccessTests",
            dependencies: [
                "Access", "EnrouteWire", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
            ],
            swiftSettings: testing),
        .testTarget(
            name: "EventsTests",
            dependencies: [
                "EnrouteWire", "Events", "TestSupport", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ], swiftSettings: testing),
        .testTarget(name: "JourneysTests", dependencies: ["CZlib", "Journeys"], swiftSettings: testing),
        .testTarget(
            name: "RoutingTests",
            dependencies: ["EnrouteWire", "Routing", "TestSupport", nio("NIOConcurrencyHelpers")],
            swiftSettings: testing),
        .testTarget(
            name: "TrackingTests", dependencies: ["EnrouteWire", "Journeys", "Tracking"], swiftSettings: testing),
        .testTarget(
            name: "LiveStateTests",
            dependencies: [
                "Access", "Embedded", "EnrouteWire", "LiveState", "Redis", "TestSupport", nio("NIOCore"),
                nio("NIOPosix"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ], swiftSettings: testing),
        .testTarget(
            name: "LinearizabilityTests",
            dependencies: [
                "Embedded", "EnrouteWire", "LiveState", "Redis", "Resilience", "TestSupport", nio("NIOCore"),
            ],
            // The search is a value's; 2,000 histories of it are part of `make test`.
            swiftSettings: testing + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "Gateway", "Access", "Embedded", "EnrouteClient", "EnrouteWire", "Events", "HotPath", "Journeys",
                "LiveState", "Redis", "Routing", "SecureSocket", "Telemetry", "TestSupport", "Tracking", nio("NIOCore"),
                nio("NIOHTTP1"), nio("NIOPosix"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ], swiftSettings: testing),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "Access", "Embedded", "EnrouteWire", "LiveState", "Redis", "TestSupport", "enroute", nio("NIOCore"),
                nio("NIOPosix"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"), nio("NIOFoundationCompat"),
                nio("NIOHTTP1"), .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ], swiftSettings: testing),
        .testTarget(name: "TidyTests", swiftSettings: testing),
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

// Fuzzers (Tests/Fuzzing) exist where ENROUTE_FUZZ is set, which `make fuzz` does: they are linked with libFuzzer. Their
// checks reach into the targets with @testable, so elsewhere they are a test target, which a release build passes over.
let fuzzers = ["FollowTable", "HTTPHead", "Messages", "Outbox", "ReportQueue", "RESP", "WebSocket"].map { "Fuzz\($0)" }
let checked: [Target.Dependency] = [
    "Access", "EnrouteWire", "Fanout", "Gateway", "LiveState", "Redis", "SecureSocket", "Tracking",
    nio("NIOCore"), nio("NIOEmbedded"), nio("NIOHTTP1"), .product(name: "JWTKit", package: "jwt-kit"),
    .product(name: "Logging", package: "swift-log"),
]
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
