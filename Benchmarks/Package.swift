// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later

import PackageDescription

// A package of its own, so that whoever depends on VAToolbox does not fetch what measures it. Files that tests have as well
// are links to those.
let package = Package(
    name: "benchmarks",
    dependencies: [
        .package(name: "vatoolbox", path: ".."),
        .package(url: "https://github.com/ordo-one/benchmark", exact: "1.38.1", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "Library",
            dependencies: [
                .product(name: "VAToolbox", package: "vatoolbox"),
                .product(name: "Transcoding", package: "vatoolbox"),
                .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "Benchmarks/Library",
            swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("InternalImportsByDefault")],
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        )
    ]
)
