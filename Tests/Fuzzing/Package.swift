// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later

import PackageDescription

/// One program for each: a folder of that name under Sources, whose `FuzzTarget` is what libFuzzer calls. To add one, add
/// its name here and write the folder; `scripts/verify fuzz` finds it by this list.
let fuzzTargets = [
    "ClientFuzz", "DecodeFuzz", "FramingFuzz", "MessageFuzz", "ParameterSetFuzz", "PlanFuzz", "RecordFuzz",
    "ServerFuzz", "SliceFuzz", "TransportFuzz",
]

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

// What is under test, with the internals that `@testable` opens.
let vatoolbox = ["VAToolbox", "Transcoding", "EncodingBenchmark"].map {
    Target.Dependency.product(name: $0, package: "vatoolbox")
}

let package = Package(
    name: "fuzzing",
    dependencies: [.package(name: "vatoolbox", path: "../..")],
    targets: [.target(name: "FuzzSupport", dependencies: vatoolbox, swiftSettings: strict)]
        + fuzzTargets.map {
            .executableTarget(
                name: $0,
                dependencies: ["FuzzSupport"] + vatoolbox,
                // `main` is libFuzzer's.
                swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]
            )
        }
)
