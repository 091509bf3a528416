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
        .package(name: "vatoolbox", path: "../..")
    }

let package = Package(
    name: "consumer",
    dependencies: [vatoolbox],
    targets: [
        .executableTarget(name: "Consumer", dependencies: [.product(name: "VAToolbox", package: "vatoolbox")])
    ]
)
