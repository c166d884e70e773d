// swift-tools-version: 6.1
// The Swift client of Enroute: a package of its own, so that an app does not have to check out the gateway.
// decisions/nested-package.md explains how to add it to an app.
import PackageDescription

/// Swift 6 mode, with the upcoming features that the gateway uses too.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// SwiftNIO is resolved only if the trait `NIO` is enabled.
func nio(_ product: String, _ package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: ["NIO"]))
}

let package = Package(
    name: "enroute-client",
    platforms: [.iOS(.v16), .macOS(.v13), .watchOS(.v9), .tvOS(.v16), .visionOS(.v1)],
    products: [
        .library(name: "Enroute", targets: ["Enroute"]),
        .library(name: "EnrouteNIO", targets: ["EnrouteNIO"]),
        .library(name: "EnrouteLocation", targets: ["EnrouteLocation"]),
        .library(name: "EnrouteUI", targets: ["EnrouteUI"]),
        .library(name: "EnrouteTesting", targets: ["EnrouteTesting"]),
    ],
    traits: [.trait(name: "NIO", description: "The transport of EnrouteNIO, for Linux and servers.")],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        .target(name: "Enroute", swiftSettings: strict),
        .target(
            name: "EnrouteNIO",
            dependencies: [
                "Enroute", nio("NIOConcurrencyHelpers", "swift-nio"), nio("NIOCore", "swift-nio"),
                nio("NIOHTTP1", "swift-nio"), nio("NIOPosix", "swift-nio"),
                nio("NIOWebSocket", "swift-nio"), nio("NIOSSL", "swift-nio-ssl"),
            ], swiftSettings: strict),
        .target(name: "EnrouteLocation", dependencies: ["Enroute"], swiftSettings: strict),
        .target(name: "EnrouteUI", dependencies: ["Enroute"], swiftSettings: strict),
        .target(name: "EnrouteTesting", dependencies: ["Enroute"], swiftSettings: strict),
        .testTarget(
            name: "EnrouteTests", dependencies: ["Enroute", "EnrouteLocation", "EnrouteTesting", "EnrouteUI"],
            exclude: ["connection-scripts.json", "permission-table.json"]),
        // The samples and the tests with a gateway are targets of the gateway's package, which has SwiftNIO anyway.
    ],
    swiftLanguageModes: [.v6]
)
