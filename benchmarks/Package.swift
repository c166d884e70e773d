// swift-tools-version: 6.2
import PackageDescription

/// The generator and the peers' runner need only libssl and HdrHistogram and nothing of Enroute, so that they treat all
/// servers alike. The instruction counts drive the real gateway through Enroute's own client.
let package = Package(
    name: "enroute-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .systemLibrary(name: "CLibssl", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "LoadEngine",
            dependencies: ["CLibssl", .product(name: "Histogram", package: "hdrhistogram-swift")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "enroute-load",
            dependencies: ["LoadEngine", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "enroute-peers",
            dependencies: ["LoadEngine", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ]
)
