// swift-tools-version: 6.2
import Foundation
import PackageDescription

// MARK: settings

/// Swift 6 mode with upcoming features. Warnings are errors.
let testing: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Sources spell out their imports, too.
let strict: [SwiftSetting] =
    testing + [.enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility")]

/// Targets of the hot path. Release builds skip the exclusivity checks there: they cost 10 to 17 % of the CPU of a delivered
/// message (Sources/SecureSocket/decisions/direct-write.md). Debug builds and tests keep them.
let hot = strict + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// Optimises debug builds too: the simulator drives 200,000 seeds through these targets in `make test`.
let optimised: SwiftSetting = .unsafeFlags(["-O"], .when(configuration: .debug))

// MARK: packages

/// The packages Enroute depends on: GitHub repository, oldest version, products used.
let packages: [(repository: String, version: Version, products: String)] = [
    (
        "apple/swift-nio", "2.101.2",
        "NIOConcurrencyHelpers NIOCore NIOEmbedded NIOFoundationCompat NIOHTTP1 NIOPosix NIOTLS NIOWebSocket"
    ),
    ("apple/swift-nio-ssl", "2.37.6", "NIOSSL"),
    ("apple/swift-log", "1.16.2", "Logging"),
    ("apple/swift-http-types", "1.8.0", "HTTPTypes"),
    ("apple/swift-argument-parser", "1.8.2", "ArgumentParser"),
    ("apple/swift-certificates", "1.21.1", "X509"),
    ("apple/swift-crypto", "4.5.2", "Crypto CryptoExtras"),
    ("apple/swift-asn1", "1.7.4", "SwiftASN1"),
    ("apple/swift-system", "1.8.1", "SystemPackage"),
    ("hummingbird-project/hummingbird", "2.28.1", "Hummingbird HummingbirdCore"),
    ("swift-server/swift-service-lifecycle", "2.13.0", "ServiceLifecycle UnixSignals"),
    ("swiftlang/swift-subprocess", "1.0.2", "Subprocess"),
    ("vapor/jwt-kit", "5.7.1", "JWTKit"),
    ("swift-server/async-http-client", "1.37.0", "AsyncHTTPClient"),
]

/// Dependencies by name: products of `packages` and targets of this package.
func named(_ names: String) -> [Target.Dependency] {
    names.split { $0.isWhitespace }.map(String.init).map { name in
        packages.first { $0.products.split(separator: " ").contains(name[...]) }
            .map { .product(name: name, package: "\($0.repository.split(separator: "/")[1])") } ?? .byName(name: name)
    }
}

/// Products of the client for apps.
func client(_ names: String) -> [Target.Dependency] {
    names.split(separator: " ").map { .product(name: "\($0)", package: "Client") }
}

// MARK: targets

func module(
    _ name: String, _ dependencies: String = "", path: String? = nil, _ settings: [SwiftSetting] = strict
) -> Target {
    .target(name: name, dependencies: named(dependencies), path: path, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: String = "", path: String? = nil, _ settings: [SwiftSetting] = [])
    -> Target
{
    .testTarget(name: name, dependencies: named(dependencies), path: path, swiftSettings: testing + settings)
}

/// `ENROUTE_BUILD_TWIN=1` builds the gateway on swift-nio-ssl's handler instead of Enroute's, to compare the two.
let secureSocket =
    Context.environment["ENROUTE_BUILD_TWIN"] == "1"
    ? module("SecureSocket", "NIOCore NIOPosix NIOTLS NIOSSL", path: "benchmarks/NIOSSLTwin", hot)
    : module("SecureSocket", "COpenSSL HotPath NIOCore NIOPosix", hot)

let package = Package(
    name: "enroute",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "enroute", targets: ["enroute"])
    ],
    dependencies: packages.map { .package(url: "https://github.com/\($0.repository)", from: $0.version) } + [
        // The client for apps, for the tests that run it with a gateway.
        .package(path: "Sources/Client", traits: ["NIO"])
    ],
    targets: [
        // Layer 0: vocabulary. ARCHITECTURE.md describes the layers. EnrouteWire is not `hot`, because SwiftPM refuses
        // unsafe flags in a library that other packages use.
        module("EnrouteWire", "CTexts HotPath"),
        module("Telemetry"),
        module("HotPath"),
        module("Resilience", "", strict + [optimised]),
        module("NetworkErrors", "NIOCore NIOPosix NIOSSL"),

        // Layer 1: mechanisms.
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .target(name: "CTexts"),
        .target(name: "CScripts"),
        .target(name: "CWebAssets"),
        .target(name: "CCrashMessage"),
        // Release builds set ENROUTE_BUILD_REVISION to the commit, for `enroute_build_info`.
        .target(
            name: "CBuildInfo",
            cSettings: Context.environment["ENROUTE_BUILD_REVISION"].flatMap { $0.isEmpty ? nil : $0 }.map {
                [.define("ENROUTE_BUILD_REVISION", to: "\"\($0)\"")]
            } ?? []),
        module(
            "Redis", "CHiredis HotPath NetworkErrors Resilience Telemetry NIOCore NIOPosix Crypto Logging NIOSSL", hot),
        secureSocket,
        module("Fanout", "", hot + [optimised]),
        module("OutboundHTTP", "NetworkErrors Resilience NIOCore NIOHTTP1 AsyncHTTPClient NIOSSL"),
        module("Access", "EnrouteWire OutboundHTTP Crypto CryptoExtras JWTKit"),
        module("Gzip", "CZlib"),
        module("Journeys", "Gzip"),
        module("Tracking", "EnrouteWire", strict + [optimised]),
        module("Routing", "EnrouteWire OutboundHTTP"),
        module("Streets", "CZlib EnrouteWire Gzip", strict + [optimised]),
        module("Events", "EnrouteWire OutboundHTTP Crypto SwiftASN1 X509"),

        // Layer 2: state.
        module("LiveState", "Access CScripts EnrouteWire HotPath OutboundHTTP Redis NIOCore Crypto", hot),

        // Layer 3 and up: the gateway, from the bottom.
        module("HTTPValues", "Access EnrouteWire Telemetry NIOCore Crypto HTTPTypes Hummingbird Logging", hot),
        module("WebSocket", "EnrouteWire SecureSocket NIOCore", hot),
        module("TrafficControl", "Access EnrouteWire Fanout HTTPValues OutboundHTTP Telemetry NIOCore", hot),
        module("WebAssets", "CWebAssets CZlib HTTPValues"),
        module(
            "Jobs",
            """
            Access EnrouteWire Events HTTPValues LiveState Redis Routing Telemetry Tracking NIOCore Crypto Logging
            """, hot),
        module("Webhooks", "HTTPValues LiveState OutboundHTTP Redis Resilience Telemetry NIOPosix Crypto Logging"),
        module("Push", "Access EnrouteWire LiveState OutboundHTTP Telemetry Webhooks NIOCore Crypto Logging"),
        module(
            "ETA",
            """
            EnrouteWire HTTPValues Jobs LiveState Routing Streets Telemetry Tracking TrafficControl WebSocket NIOCore
            NIOPosix Logging
            """, hot),
        module(
            "Realtime",
            """
            Access EnrouteWire ETA Fanout HotPath HTTPValues Jobs LiveState Redis Resilience SecureSocket Streets Telemetry
            Tracking TrafficControl WebSocket NIOCore Logging
            """, hot),
        module(
            "REST",
            """
            Access EnrouteWire Events Fanout HTTPValues Jobs LiveState Realtime Redis Routing SecureSocket Telemetry
            Push Tracking TrafficControl WebAssets Webhooks NIOCore HTTPTypes Hummingbird Logging
            """, hot),
        module(
            "Gateway",
            """
            Access CBuildInfo CMalloc EnrouteWire ETA Events Fanout HTTPValues LiveState Push Realtime Redis REST
            SecureSocket Telemetry TrafficControl WebSocket Webhooks NIOCore NIOHTTP1 NIOPosix Crypto HTTPTypes Hummingbird
            HummingbirdCore Logging ServiceLifecycle
            """, hot),

        // Beside the layers: the client library, and a redis-server and certificates for the demo and the tests.
        module(
            "EnrouteClient",
            "EnrouteWire NetworkErrors NIOConcurrencyHelpers NIOCore NIOHTTP1 NIOPosix NIOWebSocket NIOSSL"),
        module("Embedded", "Crypto Subprocess SwiftASN1 SystemPackage X509"),

        // The process.
        .executableTarget(
            name: "enroute",
            dependencies: named(
                """
                Access CCrashMessage Embedded EnrouteClient EnrouteWire ETA Events Gateway HTTPValues Journeys LiveState
                OutboundHTTP Push Realtime Redis REST Routing SecureSocket Streets Telemetry Tracking TrafficControl WebAssets Webhooks
                NIOCore NIOFoundationCompat NIOHTTP1 NIOPosix AsyncHTTPClient HTTPTypes Hummingbird Logging NIOSSL
                ServiceLifecycle Subprocess SystemPackage ArgumentParser UnixSignals
                """), exclude: ["Demo/Panel"], swiftSettings: strict),

        // Tests: one target for each target, GatewayTests for what takes a running gateway, TidyTests for project rules.
        module(
            "TestSupport",
            """
            CZlib Embedded Redis NIOConcurrencyHelpers NIOCore NIOHTTP1 NIOPosix Crypto CryptoExtras Logging NIOSSL
            SwiftASN1 X509
            """, path: "Tests/TestSupport"),
        tests("TestSupportTests", "Redis TestSupport NIOCore Subprocess"),
        tests("EnrouteWireTests", "EnrouteWire TestSupport"),
        tests(
            "RedisTests",
            """
            Embedded Redis Resilience TestSupport NIOConcurrencyHelpers NIOCore NIOEmbedded NIOPosix Logging Subprocess
            """),
        tests(
            "SecureSocketTests",
            """
            COpenSSL SecureSocket TestSupport NIOConcurrencyHelpers NIOCore NIOEmbedded NIOPosix Crypto NIOSSL SwiftASN1
            X509
            """),
        tests("OutboundHTTPTests", "OutboundHTTP TestSupport NIOConcurrencyHelpers"),
        tests("FanoutTests", "Fanout TestSupport"),
        tests("ResilienceTests", "Resilience"),
        // Exclusivity checks of the model's classes took 40 % of a simulation; the compiler checks the values it drives.
        tests(
            "SimulationTests", "Fanout Resilience TestSupport",
            [.unsafeFlags(["-O", "-enforce-exclusivity=unchecked"], .when(configuration: .debug))]),
        tests("AccessTests", "Access EnrouteWire Crypto CryptoExtras JWTKit"),
        tests("EventsTests", "EnrouteWire Events TestSupport Crypto CryptoExtras SwiftASN1 X509"),
        tests("GzipTests", "Gzip TestSupport"),
        tests("JourneysTests", "Journeys TestSupport"),
        tests("RoutingTests", "EnrouteWire Routing TestSupport NIOConcurrencyHelpers"),
        tests("StreetsTests", "CZlib EnrouteWire Gzip Streets TestSupport"),
        tests("TrackingTests", "EnrouteWire Journeys Tracking"),
        tests(
            "LiveStateTests",
            "Access Embedded EnrouteWire LiveState Redis TestSupport NIOCore NIOPosix Subprocess SystemPackage"),
        tests(
            "LinearizabilityTests", "Embedded EnrouteWire LiveState Redis Resilience TestSupport NIOCore", [optimised]),
        tests("HTTPValuesTests", "HTTPValues"),
        tests("WebSocketTests", "EnrouteWire WebSocket NIOCore"),
        tests("TrafficControlTests", "EnrouteWire Telemetry TrafficControl WebSocket NIOCore"),
        tests("WebAssetsTests", "EnrouteWire TestSupport WebAssets"),
        tests(
            "JobsTests",
            "EnrouteWire HTTPValues Jobs LiveState Redis Telemetry Tracking TrafficControl NIOCore NIOEmbedded "
                + "Logging"),
        tests("PushTests", "Access LiveState Push TestSupport Webhooks Crypto"),
        tests(
            "WebhooksTests",
            "HTTPValues LiveState Redis Telemetry TestSupport Webhooks NIOCore NIOHTTP1 NIOPosix Crypto Logging NIOSSL"),
        tests(
            "ETATests",
            "Embedded EnrouteWire ETA HTTPValues Jobs LiveState Redis Routing TestSupport Tracking NIOCore"),
        tests(
            "GatewayTests",
            """
            Access Embedded EnrouteClient EnrouteWire ETA Events Gateway HotPath HTTPValues Jobs Journeys LiveState
            Push Realtime Redis REST Routing SecureSocket Streets Telemetry TestSupport Tracking TrafficControl WebAssets
            Webhooks WebSocket NIOCore NIOHTTP1 NIOPosix Crypto Logging NIOSSL ServiceLifecycle Subprocess SystemPackage
            """),
        tests(
            "CommandTests",
            """
            Access Embedded enroute EnrouteWire LiveState Redis TestSupport NIOCore NIOFoundationCompat NIOHTTP1 NIOPosix
            AsyncHTTPClient Crypto CryptoExtras Logging NIOSSL Subprocess SystemPackage
            """),
        tests("TidyTests", "Subprocess"),

        // The client for apps, tested here because SwiftNIO is built here anyway.
        .testTarget(
            name: "ClientTests", dependencies: client("Enroute EnrouteLocation EnrouteTesting EnrouteUI"),
            path: "Sources/Client/Tests/EnrouteTests", exclude: ["connection-scripts.json", "permission-table.json"]),
        .testTarget(
            name: "ClientGatewayTests",
            dependencies: client("Enroute EnrouteNIO EnrouteTesting") + ["follower-sample", "rider-sample"]
                + named("Subprocess SystemPackage"),
            path: "Sources/Client/Tests/GatewayRunTests", swiftSettings: [.define("NIO")]),
        .executableTarget(
            name: "follower-sample", dependencies: client("Enroute EnrouteNIO"),
            path: "Sources/Client/Samples/Follower",
            swiftSettings: strict),
        .executableTarget(
            name: "rider-sample", dependencies: client("Enroute EnrouteNIO"), path: "Sources/Client/Samples/Rider",
            swiftSettings: strict),
        // What the conformance kit runs (Tests/Conformance).
        .executableTarget(
            name: "conformance-driver", dependencies: client("Enroute EnrouteNIO"), path: "Tests/Conformance/swift",
            swiftSettings: strict),

        // A benchmark that uses Enroute's client; the other benchmarks are a package of their own.
        .executableTarget(
            name: "enroute-instructions", dependencies: named("COpenSSL EnrouteClient EnrouteWire ArgumentParser"),
            path: "benchmarks/Sources/enroute-instructions", swiftSettings: testing),
    ],
    cLanguageStandard: .c2x  // for #embed
)

// MARK: fuzzers

// `make test-long LONG=fuzz` sets ENROUTE_FUZZ and builds the fuzzers with libFuzzer. Their checks need @testable, so other
// builds have them as a test target, which release builds leave out.
let isFuzzing = Context.environment["ENROUTE_FUZZ"] != nil
let checks = """
    Access ETA EnrouteWire Fanout Gateway HTTPValues LiveState REST Realtime Redis SecureSocket Tracking TrafficControl
    WebSocket NIOCore NIOEmbedded NIOHTTP1 JWTKit Logging
    """
package.targets +=
    isFuzzing
    ? [
        module("FuzzChecks", checks, path: "Tests/Fuzzing/Checks", testing),
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzzing/CLibFuzzer"),
    ]
        + ["FollowTable", "HTTPHead", "Messages", "Outbox", "ProxyHeader", "ReportQueue", "RESP", "WebSocket"].map {
            name in
            .executableTarget(
                name: "Fuzz\(name)", dependencies: ["CLibFuzzer", "FuzzChecks"], path: "Tests/Fuzzing/Fuzz\(name)",
                swiftSettings: testing)
        }
    : [
        tests("FuzzChecks", checks, path: "Tests/Fuzzing/Checks"),
        tests("CorpusTests", "FuzzChecks TestSupport"),
    ]

// MARK: files that are not sources

/// Documents and embedded assets, relative to a target's folder.
let notSources = ["README.md", "enroute-js.md", "decisions", "protocol", "Texts", "web", "api", "Golden"]
for target in package.targets {
    let folder = target.path ?? "\(target.isTest ? "Tests" : "Sources")/\(target.name)"
    target.exclude += notSources.filter {
        FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(folder)/\($0)")
    }
}
