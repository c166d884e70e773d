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
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let jwtKit = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let swiftASN1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let systemPackage = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")

/// A target of Sources/.
func module(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], path: String? = nil,
    settings: [SwiftSetting] = strict
) -> Target {
    .target(name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: settings)
}

/// A target of Tests/.
func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], settings: [SwiftSetting] = testing
) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

/// `ENROUTE_BUILD_TWIN=1` builds the gateway on NIOSSL's handler in the place of ours, to compare the two
/// (benchmarks/NIOSSLTwin).
let secureSocket: Target =
    Context.environment["ENROUTE_BUILD_TWIN"] == "1"
    ? .target(
        name: "SecureSocket",
        dependencies: [
            nio("NIOCore"), nio("NIOPosix"), nio("NIOTLS"), nioSSL,
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
        module("EnrouteWire", ["CTexts", "HotPath"], exclude: ["PROTOCOL.md", "Texts"]),
        module("Telemetry", []),
        module("HotPath", []),
        module("Resilience", [], settings: quick),

        // 1 mechanisms
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CTexts"),
        .target(name: "CScripts"),
        .target(name: "CWebAssets"),
        module(
            "Redis",
            [
                "CHiredis", "HotPath", "Resilience", "Telemetry", nio("NIOCore"), nio("NIOPosix"), crypto, logging,
                nioSSL,
            ], settings: hot),
        secureSocket,
        module("Fanout", [], settings: hot + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        module("OutboundHTTP", ["Resilience", nio("NIOCore"), nio("NIOHTTP1"), asyncHTTPClient, nioSSL]),
        module("Access", ["EnrouteWire", "OutboundHTTP", crypto, cryptoExtras, jwtKit]),
        module("Journeys", ["CZlib"]),
        module("Tracking", ["EnrouteWire"], settings: quick),
        module("Routing", ["EnrouteWire", "OutboundHTTP"]),
        module("Events", ["EnrouteWire", "OutboundHTTP", crypto, swiftASN1, x509]),

        // 2 state
        module(
            "LiveState",
            [
                "Access", "CScripts", "EnrouteWire", "HotPath", "OutboundHTTP", "Redis", nio("NIOCore"), crypto,
            ], settings: hot),

        // 3 the gateway, from the bottom
        module(
            "HTTPValues",
            [
                "Access", "EnrouteWire", "Telemetry", nio("NIOCore"), crypto, httpTypes, hummingbird, logging,
            ], settings: hot),
        module("WebSocket", ["EnrouteWire", "SecureSocket", nio("NIOCore")], settings: hot),
        module(
            "TrafficControl",
            [
                "Access", "EnrouteWire", "Fanout", "HTTPValues", "Telemetry", nio("NIOCore"),
            ], settings: hot),
        module("WebAssets", ["CWebAssets", "CZlib", "HTTPValues"], exclude: ["web", "api"]),
        module(
            "Jobs",
            [
                "Access", "EnrouteWire", "Events", "HTTPValues", "LiveState", "Redis", "Routing", "Telemetry",
                "Tracking", nio("NIOCore"), crypto, logging,
            ], settings: hot),
        module(
            "ETA",
            [
                "EnrouteWire", "HTTPValues", "Jobs", "LiveState", "Routing", "Telemetry", "Tracking",
                "TrafficControl", "WebSocket", nio("NIOCore"), logging,
            ], settings: hot),
        module(
            "Realtime",
            [
                "Access", "EnrouteWire", "ETA", "Fanout", "HotPath", "HTTPValues", "Jobs", "LiveState", "Redis",
                "Resilience", "SecureSocket", "Telemetry", "Tracking", "TrafficControl", "WebSocket", nio("NIOCore"),
                logging,
            ], settings: hot),
        module(
            "REST",
            [
                "Access", "EnrouteWire", "Events", "Fanout", "HTTPValues", "Jobs", "LiveState", "Realtime", "Redis",
                "Routing", "SecureSocket", "Telemetry", "Tracking", "TrafficControl", "WebAssets", nio("NIOCore"),
                httpTypes, hummingbird, logging,
            ], settings: hot),
        module(
            "Gateway",
            [
                "Access", "EnrouteWire", "ETA", "Events", "Fanout", "HTTPValues", "LiveState", "Realtime", "Redis",
                "REST", "SecureSocket", "Telemetry", "TrafficControl", "WebSocket", nio("NIOCore"), nio("NIOHTTP1"),
                nio("NIOPosix"), crypto, httpTypes, hummingbird, logging, serviceLifecycle,
                .product(name: "HummingbirdCore", package: "hummingbird"),
            ], settings: hot),

        // aside: the client library
        module(
            "EnrouteClient",
            [
                "EnrouteWire", nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOHTTP1"), nio("NIOPosix"),
                nio("NIOWebSocket"), nioSSL,
            ]),

        // aside: a redis-server and certificates of one's own, for the demo and the tests
        module("Embedded", [crypto, subprocess, swiftASN1, systemPackage, x509]),

        // 4 process
        .executableTarget(
            name: "enroute",
            dependencies: [
                "Access", "Embedded", "EnrouteClient", "EnrouteWire", "ETA", "Events", "Gateway", "HTTPValues",
                "Journeys", "LiveState", "OutboundHTTP", "Realtime", "Redis", "REST", "Routing", "SecureSocket",
                "Telemetry", "Tracking", "TrafficControl", "WebAssets", nio("NIOCore"), nio("NIOFoundationCompat"),
                nio("NIOHTTP1"), nio("NIOPosix"), asyncHTTPClient, httpTypes, hummingbird, logging, nioSSL,
                serviceLifecycle, subprocess, systemPackage,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ], exclude: ["Demo/Panel"], swiftSettings: strict),

        // tests: one target for each target, one for the commands, one for the project's own rules
        module(
            "TestSupport",
            [
                "Embedded", "Redis", nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOHTTP1"), nio("NIOPosix"),
                crypto, cryptoExtras, logging, nioSSL, swiftASN1, x509,
            ], path: "Tests/TestSupport"),
        tests("EnrouteWireTests", ["EnrouteWire", "TestSupport"], exclude: ["Golden"]),
        tests(
            "RedisTests",
            [
                "Embedded", "Redis", "TestSupport", nio("NIOConcurrencyHelpers"), nio("NIOCore"), nio("NIOEmbedded"),
                nio("NIOPosix"), logging, subprocess,
            ]),
        tests(
            "SecureSocketTests",
            [
                "COpenSSL", "SecureSocket", "TestSupport", nio("NIOConcurrencyHelpers"), nio("NIOCore"),
                nio("NIOEmbedded"), nio("NIOPosix"), crypto, nioSSL, swiftASN1, x509,
            ]),
        tests("TestSupportTests", ["Redis", "TestSupport", nio("NIOCore"), subprocess]),
        tests("OutboundHTTPTests", ["OutboundHTTP", "TestSupport", nio("NIOConcurrencyHelpers")]),
        tests("FanoutTests", ["Fanout", "TestSupport"]),
        tests("ResilienceTests", ["Resilience"]),
        // The cores are values, whose exclusivity is checked when they are compiled; of the model's classes it would
        // be checked at run time, which was 40 % of a run.
        tests(
            "SimulationTests",
            [
                "Fanout", "Resilience", "TestSupport",
            ],
            settings: testing + [.unsafeFlags(["-O", "-enforce-exclusivity=unchecked"], .when(configuration: .debug))]),
        tests("AccessTests", ["Access", "EnrouteWire", crypto, cryptoExtras, jwtKit]),
        tests("EventsTests", ["EnrouteWire", "Events", "TestSupport", crypto, cryptoExtras, swiftASN1, x509]),
        tests("JourneysTests", ["CZlib", "Journeys"]),
        tests("RoutingTests", ["EnrouteWire", "Routing", "TestSupport", nio("NIOConcurrencyHelpers")]),
        tests("TrackingTests", ["EnrouteWire", "Journeys", "Tracking"]),
        tests(
            "LiveStateTests",
            [
                "Access", "Embedded", "EnrouteWire", "LiveState", "Redis", "TestSupport", nio("NIOCore"),
                nio("NIOPosix"), subprocess, systemPackage,
            ]),
        // The search is a value's; 2,000 histories of it are part of `make test`.
        tests(
            "LinearizabilityTests",
            [
                "Embedded", "EnrouteWire", "LiveState", "Redis", "Resilience", "TestSupport", nio("NIOCore"),
            ], settings: testing + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        tests(
            "GatewayTests",
            [
                "Access", "Embedded", "EnrouteClient", "EnrouteWire", "ETA", "Events", "Gateway", "HotPath",
                "HTTPValues", "Jobs", "Journeys", "LiveState", "Realtime", "Redis", "REST", "Routing",
                "SecureSocket", "Telemetry", "TestSupport", "Tracking", "TrafficControl", "WebAssets", "WebSocket",
                nio("NIOCore"), nio("NIOHTTP1"), nio("NIOPosix"), crypto, logging, nioSSL, serviceLifecycle,
                subprocess, systemPackage,
            ]),
        tests(
            "CommandTests",
            [
                "Access", "Embedded", "enroute", "EnrouteWire", "LiveState", "Redis", "TestSupport", nio("NIOCore"),
                nio("NIOFoundationCompat"), nio("NIOHTTP1"), nio("NIOPosix"), asyncHTTPClient, logging, nioSSL,
                subprocess, systemPackage,
            ]),
        tests("TidyTests", []),
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
let checked: [Target.Dependency] = [
    "Access", "ETA", "EnrouteWire", "Fanout", "Gateway", "HTTPValues", "LiveState", "REST", "Realtime", "Redis",
    "SecureSocket",
    "Tracking", "TrafficControl", "WebSocket",
    nio("NIOCore"), nio("NIOEmbedded"), nio("NIOHTTP1"), jwtKit,
    logging,
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
