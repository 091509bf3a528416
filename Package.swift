// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-2.0-or-later

import PackageDescription

/// Settings of every Swift target: Swift 6 mode, explicit existentials, imports that say what they use.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "vatoolbox",
    products: [
        .library(name: "VAToolbox", targets: ["MediaTypes"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2")
    ],
    targets: [
        // Pure values: no C library, no system call.
        .target(name: "BitstreamSyntax", swiftSettings: strict),
        .target(name: "MediaTypes", dependencies: ["BitstreamSyntax", "CLinux"], swiftSettings: strict),

        // Files, by FFmpeg's libraries.
        .target(name: "MediaIO", dependencies: ["MediaTypes", "CFFmpeg"], swiftSettings: strict),

        .target(name: "PixelConversion", dependencies: ["MediaTypes"], swiftSettings: strict),
        .target(
            name: "VAToolbox",
            dependencies: ["BitstreamSyntax", "CLinux", "MediaTypes", "PixelConversion", "RenderNodes"],
            swiftSettings: strict
        ),

        // Encoders on the CPU.
        .target(
            name: "SoftwareEncoder",
            dependencies: [
                "BitstreamSyntax", "MediaTypes", "CX264",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),

        // C modules and the small shims that macros and ancillary messages need.
        .target(name: "CLinux"),
        .systemLibrary(name: "CFFmpeg", pkgConfig: "libavformat"),
        .systemLibrary(name: "CX264", providers: [.apt(["libx264-dev"])]),

        // Devices: what the kernel and libva offer.
        .systemLibrary(name: "CLibDRM", pkgConfig: "libdrm", providers: [.apt(["libdrm-dev"])]),
        .systemLibrary(name: "CLibVA", pkgConfig: "libva-drm", providers: [.apt(["libva-dev"])]),
        .target(name: "RenderNodes", dependencies: ["CLibDRM"], swiftSettings: strict),
        .target(name: "VAAPI", dependencies: ["CLibVA", "RenderNodes"], swiftSettings: strict),

        .testTarget(name: "BitstreamSyntaxTests", dependencies: ["BitstreamSyntax"], swiftSettings: strict),
        .testTarget(name: "MediaTypesTests", dependencies: ["MediaTypes"], swiftSettings: strict),
        .testTarget(name: "RenderNodesTests", dependencies: ["RenderNodes"], swiftSettings: strict),
        .testTarget(name: "VAToolboxTests", dependencies: ["VAToolbox", "MediaTypes"], swiftSettings: strict),
        .testTarget(name: "VAAPITests", dependencies: ["VAAPI", "RenderNodes", "CLibVA"], swiftSettings: strict),
        .testTarget(
            name: "SoftwareEncoderTests",
            dependencies: [
                "SoftwareEncoder", "MediaTypes", "BitstreamSyntax", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
    ]
)
