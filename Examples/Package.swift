// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later

import PackageDescription

/// VAToolbox as a stranger's package gets it, by version: `scripts/check-consumer` gives the URL of a repository and
/// the version, because SwiftPM treats folders differently. Without them: the package around this one.
let vatoolbox: Package.Dependency =
    if let url = Context.environment["VATOOLBOX_URL"], let version = Context.environment["VATOOLBOX_VERSION"],
        let exact = Version(version)
    {
        .package(url: url, exact: exact)
    } else {
        .package(name: "vatoolbox", path: "..")
    }

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]
let sessions = Target.Dependency.product(name: "VAToolbox", package: "vatoolbox")
let files = Target.Dependency.product(name: "Transcoding", package: "vatoolbox")
let live = Target.Dependency.product(name: "LiveSessions", package: "vatoolbox")
let client = Target.Dependency.product(name: "VAToolboxClient", package: "vatoolbox")
/// The service, for a program that asks it.
let service: [Target.Dependency] = [
    .product(name: "vatoolbox", package: "vatoolbox"), .product(name: "vatoolbox-service", package: "vatoolbox"),
]
/// Programs that are built next to those that depend on them, in which GPUs encode and decode.
let encodingHelper = Target.Dependency.product(name: "vatoolbox-helper", package: "vatoolbox")
let decodingHelper = Target.Dependency.product(name: "vatoolbox-decoding-helper", package: "vatoolbox")

let package = Package(
    name: "examples",
    dependencies: [vatoolbox],
    targets: [
        .executableTarget(
            name: "EncodeFrames",
            dependencies: [sessions, files, encodingHelper, "TestCard"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "DecodeFrames",
            dependencies: [sessions, encodingHelper, decodingHelper, "TestCard"],
            swiftSettings: strict
        ),
        .executableTarget(name: "EncodeSound", dependencies: [sessions, files], swiftSettings: strict),
        .executableTarget(name: "FileToFile", dependencies: [sessions, files], swiftSettings: strict),
        .executableTarget(name: "CopyTracks", dependencies: [sessions, files], swiftSettings: strict),
        .executableTarget(name: "Recording", dependencies: [sessions, files, "TestCard"], swiftSettings: strict),
        .executableTarget(name: "LadderToHLS", dependencies: [sessions, files], swiftSettings: strict),
        .executableTarget(name: "LiveSource", dependencies: [sessions, "TestCard"], swiftSettings: strict),
        .executableTarget(name: "RecordScreen", dependencies: [sessions, files, live], swiftSettings: strict),
        .executableTarget(name: "EncodeRemotely", dependencies: [client] + service, swiftSettings: strict),
        // Pictures for the programs.
        .target(name: "TestCard", dependencies: [sessions], swiftSettings: strict),
        // What articles of the documentation show beside the programs; compiled, and not run.
        .target(name: "Excerpts", dependencies: [sessions, files], swiftSettings: strict),
    ]
)
