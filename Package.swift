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

let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let database = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let httpClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let serverParts: [Target.Dependency] = [
    .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
    httpClient,
    .product(name: "Configuration", package: "swift-configuration"),
    .product(name: "Crypto", package: "swift-crypto"),
    .product(name: "HTTPTypes", package: "swift-http-types"),
    .product(name: "Hummingbird", package: "hummingbird"),
    .product(name: "HummingbirdHTTP2", package: "hummingbird"),
    .product(name: "HummingbirdTLS", package: "hummingbird"),
    .product(name: "HummingbirdCore", package: "hummingbird"),
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
    .product(name: "NIOSSL", package: "swift-nio-ssl"),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
    .product(name: "UnixSignals", package: "swift-service-lifecycle"),
    .product(name: "Yams", package: "Yams"),
]
let metricsForTests = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")

let package = Package(
    name: "vatoolbox",
    products: [
        .library(name: "VAToolbox", targets: ["VAToolbox", "HelperIPC", "MediaTypes", "BitstreamSyntax"]),
        .library(
            name: "Transcoding",
            targets: [
                "Transcoding", "Remuxing", "AssetWriting", "MediaIO", "AudioCoding", "MediaTimeline",
                "StreamingPlaylists",
                "FFmpegSupport",
            ]
        ),
        .library(name: "VAToolboxClient", targets: ["ServiceClient", "ServiceAPI"]),
        .library(name: "EncodingBenchmark", targets: ["EncodingBenchmark"]),
        .library(name: "LiveSessions", targets: ["LiveSessions", "Streaming", "Capture"]),
        .executable(name: "vatoolbox", targets: ["VAToolboxCommand"]),
        .executable(name: "vatoolbox-helper", targets: ["VAToolboxHelper"]),
        .executable(name: "vatoolbox-decoding-helper", targets: ["VAToolboxDecodingHelper"]),
        .executable(name: "vatoolbox-service", targets: ["VAToolboxService"]),
        .executable(name: "vatoolbox-live", targets: ["VAToolboxLive"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(
            url: "https://github.com/apple/swift-configuration",
            from: "1.4.0",
            traits: ["JSON", "YAML", "CommandLineArguments"]
        ),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Pure values: no C library, no device.
        .target(name: "BitstreamSyntax", swiftSettings: strict),
        .target(
            name: "MediaTypes",
            dependencies: ["BitstreamSyntax", "CLinux", "CPixelKernels"],
            swiftSettings: strict
        ),
        .target(name: "GOPPlanning", dependencies: ["BitstreamSyntax", "MediaTypes"], swiftSettings: strict),

        // Pixels, by libyuv and by kernels for what it does not have.
        .target(
            name: "PixelConversion",
            dependencies: ["BitstreamSyntax", "MediaTypes", "CLibYUV", "CPixelKernels"],
            swiftSettings: strict
        ),

        // Devices: what the kernel and libva offer.
        .target(name: "RenderNodes", dependencies: ["CLibDRM"], swiftSettings: strict),
        .target(name: "VAAPI", dependencies: ["CLibVA", "RenderNodes"], swiftSettings: strict),

        // What encoders and decoders of a GPU share.
        .target(
            name: "HardwareDisplay",
            dependencies: ["BitstreamSyntax", "MediaTypes", "VAAPI", logging],
            swiftSettings: strict
        ),

        // Encoders on a GPU.
        .target(
            name: "HardwareEncoder",
            dependencies: [
                "BitstreamSyntax", "CLibVA", "GOPPlanning", "HardwareDisplay", "MediaTypes", "VAAPI", logging,
            ],
            swiftSettings: strict
        ),

        // Encoders in a process of their own.
        .target(
            name: "HelperIPC",
            dependencies: ["BitstreamSyntax", "CLinux", "MediaTypes", logging, metrics],
            swiftSettings: strict
        ),
        // What such a process gives up before it loads an encoder.
        .target(name: "HelperSandbox", dependencies: ["CLinux", "MediaTypes"], swiftSettings: strict),

        // Encoders, and the session that uses them.
        .target(
            name: "SoftwareEncoder",
            dependencies: ["BitstreamSyntax", "MediaTypes", "CX264", "CX265", logging],
            swiftSettings: strict
        ),
        .target(
            name: "VAToolbox",
            dependencies: [
                "BitstreamSyntax", "CLinux", "HelperIPC", "HardwareDecoder", "HardwareDisplay", "HardwareEncoder",
                "MediaTypes", "PixelConversion", "RenderNodes", "SoftwareEncoder", "VAAPI", "VideoDecoding", logging,
                metrics,
            ],
            swiftSettings: strict
        ),

        // Jobs of the encoding service, their tasks and workers.
        .target(
            name: "JobStore",
            dependencies: ["CLinux", "CPostgreSQL", "MediaTypes", database],
            swiftSettings: strict
        ),

        // The encoding service: what its API says, the processes that do its work, and the server.
        .target(name: "ServiceAPI", swiftSettings: strict),
        .target(
            name: "JobExecution",
            dependencies: ["CLinux", "HelperSandbox", "MediaTypes", logging],
            swiftSettings: strict
        ),
        // Files, clocks and addresses. Apart from the service, because SwiftNIO's C module has the same types.
        .target(name: "HostSystem", swiftSettings: strict),
        .target(
            name: "EncodingService",
            dependencies: [
                "CDashboard", "CLinux", "HostSystem", "JobExecution", "JobStore", "MediaTypes", "ServiceAPI",
                database, logging,
            ] + serverParts,
            swiftSettings: strict
        ),
        // The service, as programs use it from elsewhere.
        .target(
            name: "ServiceClient",
            dependencies: [
                "CLinux", "ServiceAPI", httpClient,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        // The arguments of its commands, which two programs know.
        .target(
            name: "ServiceCommandLine",
            dependencies: ["MediaTypes", "ServiceAPI", arguments],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "VAToolboxService",
            dependencies: [
                "CLinux", "EncodingService", "JobExecution", "MediaTypes", "ServiceAPI", "ServiceClient",
                "ServiceCommandLine", arguments, logging,
            ],
            swiftSettings: strict
        ),

        // Times of tracks, and playlists, as pure values.
        .target(name: "MediaTimeline", dependencies: ["MediaTypes"], swiftSettings: strict),
        .target(name: "StreamingPlaylists", dependencies: ["MediaTypes"], swiftSettings: strict),

        // Sound and files, by FFmpeg's libraries, and the way from file to file.
        .target(
            name: "FFmpegSupport",
            dependencies: ["CFFmpeg", "CLinux", "MediaTypes", logging],
            swiftSettings: strict
        ),
        .target(
            name: "VideoDecoding",
            dependencies: ["BitstreamSyntax", "CFFmpeg", "FFmpegSupport", "MediaTypes", logging],
            swiftSettings: strict
        ),
        .target(
            name: "HardwareDecoder",
            dependencies: [
                "BitstreamSyntax", "CFFmpeg", "CLibVA", "FFmpegSupport", "HardwareDisplay", "MediaTypes", "VAAPI",
                "VideoDecoding", logging,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "AudioCoding",
            dependencies: ["BitstreamSyntax", "CFFmpeg", "FFmpegSupport", "MediaTimeline", "MediaTypes", logging],
            swiftSettings: strict,
            linkerSettings: [.linkedLibrary("swresample")]
        ),
        .target(
            name: "MediaIO",
            dependencies: [
                "AudioCoding", "BitstreamSyntax", "CFFmpeg", "CLinux", "FFmpegSupport", "MediaTimeline", "MediaTypes",
                "VideoDecoding", logging,
            ],
            swiftSettings: strict,
            linkerSettings: [.linkedLibrary("avformat")]
        ),
        // Recording: encoders of pictures and sound, and one file.
        .target(
            name: "AssetWriting",
            dependencies: ["AudioCoding", "MediaIO", "MediaTimeline", "MediaTypes", "VAToolbox", logging],
            swiftSettings: strict
        ),
        // Cameras, screens and microphones.
        .target(
            name: "Capture",
            dependencies: [
                "AudioCoding", "BitstreamSyntax", "CALSA", "CFFmpeg", "CLinux", "CPipeWire", "CPulse", "CSystemBus",
                "CVideo4Linux", "CXCB", "FFmpegSupport", "MediaTimeline", "MediaTypes", "PixelConversion",
                "VideoDecoding", logging,
            ],
            swiftSettings: strict
        ),
        // Receivers of live streams.
        .target(
            name: "Streaming",
            dependencies: [
                "AudioCoding", "BitstreamSyntax", "CGnuTLS", "CSRT", "HostSystem", "MediaIO", "MediaTimeline",
                "MediaTypes",
                logging,
            ],
            swiftSettings: strict
        ),
        // HTTP Live Streaming while it happens: a folder, or a server of our own.
        .target(
            name: "LiveHLS",
            dependencies: [
                "AudioCoding", "CZlib", "MediaIO", "MediaTypes", "Streaming", "StreamingPlaylists", httpClient, logging,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        // Devices, encoders, and what records or streams.
        .target(
            name: "LiveSessions",
            dependencies: [
                "AssetWriting", "AudioCoding", "BitstreamSyntax", "Capture", "HostSystem", "MediaIO", "MediaTimeline",
                "MediaTypes", "Streaming", "VAToolbox", logging, metrics,
            ],
            swiftSettings: strict
        ),
        // From container to container, without decoding.
        .target(
            name: "Remuxing",
            dependencies: ["BitstreamSyntax", "MediaIO", "MediaTypes", logging],
            swiftSettings: strict
        ),
        .target(
            name: "Transcoding",
            dependencies: [
                "AudioCoding", "BitstreamSyntax", "HelperIPC", "MediaIO", "MediaTimeline", "MediaTypes",
                "PixelConversion", "StreamingPlaylists", "VAToolbox", logging,
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        // What encoders cost and what they give for it, measured through the session API.
        .target(
            name: "EncodingBenchmark",
            dependencies: [
                "BitstreamSyntax", "CLinux", "FFmpegSupport", "HostSystem", "MediaIO", "MediaTypes", "PixelConversion",
                "RenderNodes", "SoftwareEncoder", "VAToolbox",
            ],
            swiftSettings: strict
        ),
        // Arguments, console, documents, exit codes and signals: what programs for people share.
        .target(
            name: "CommandLineSupport",
            dependencies: ["BitstreamSyntax", "CLinux", "MediaIO", "MediaTypes", "VAToolbox", arguments, logging],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "VAToolboxCommand",
            dependencies: [
                "AudioCoding", "BitstreamSyntax", "CLinux", "CommandLineSupport", "HelperIPC", "EncodingBenchmark",
                "FFmpegSupport", "HardwareEncoder", "MediaIO", "MediaTypes", "Remuxing", "RenderNodes",
                "ServiceCommandLine", "SoftwareEncoder", "StreamingPlaylists", "Transcoding", "VAAPI", "VAToolbox",
                arguments, logging,
            ],
            swiftSettings: strict
        ),
        // Records and streams: a program of its own, because no other needs the libraries of devices and networks.
        .executableTarget(
            name: "VAToolboxLive",
            dependencies: [
                "AssetWriting", "AudioCoding", "CLinux", "Capture", "CommandLineSupport", "FFmpegSupport",
                "HostSystem", "LiveHLS", "LiveSessions", "MediaIO", "MediaTimeline", "MediaTypes", "Streaming",
                "VAToolbox", arguments, logging,
            ],
            swiftSettings: strict
        ),
        // The helper programs: what both do, the one that encodes, and the one that decodes as well.
        .target(
            name: "HelperMain",
            dependencies: [
                "CLinux", "HardwareDisplay", "HardwareEncoder", "HelperIPC", "HelperSandbox", "MediaTypes",
                "SoftwareEncoder", "VAAPI", logging,
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "VAToolboxHelper",
            dependencies: ["HelperIPC", "HelperMain"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "VAToolboxDecodingHelper",
            dependencies: [
                "BitstreamSyntax", "HardwareDecoder", "HardwareEncoder", "HelperIPC", "HelperMain", "VAAPI",
                "VideoDecoding",
            ],
            swiftSettings: strict
        ),

        // C modules and the small shims that macros and ancillary messages need.
        // The pages of the dashboard, as bytes.
        .target(name: "CDashboard", exclude: ["pages"]),
        .systemLibrary(name: "CALSA", providers: [.apt(["libasound2-dev"])]),
        .systemLibrary(name: "CFFmpeg", pkgConfig: "libavcodec"),
        .systemLibrary(name: "CGnuTLS", pkgConfig: "gnutls", providers: [.apt(["libgnutls28-dev"])]),
        .systemLibrary(name: "CLibDRM", pkgConfig: "libdrm", providers: [.apt(["libdrm-dev"])]),
        .systemLibrary(name: "CLibVA", pkgConfig: "libva-drm", providers: [.apt(["libva-dev"])]),
        .systemLibrary(name: "CLibYUV", providers: [.apt(["libyuv-dev"])]),
        .target(name: "CLinux"),
        .target(name: "CPixelKernels"),
        .systemLibrary(name: "CPipeWire", pkgConfig: "libpipewire-0.3", providers: [.apt(["libpipewire-0.3-dev"])]),
        .systemLibrary(name: "CPulse", providers: [.apt(["libpulse-dev"])]),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CSRT", pkgConfig: "srt", providers: [.apt(["libsrt-gnutls-dev"])]),
        .systemLibrary(name: "CSystemBus", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CVideo4Linux"),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CX264", providers: [.apt(["libx264-dev"])]),
        .systemLibrary(name: "CX265", providers: [.apt(["libx265-dev"])]),
        .systemLibrary(
            name: "CXCB",
            pkgConfig: "xcb",
            providers: [
                .apt([
                    "libxcb1-dev", "libxcb-composite0-dev", "libxcb-damage0-dev", "libxcb-randr0-dev",
                    "libxcb-shm0-dev",
                    "libxcb-xfixes0-dev",
                ])
            ]
        ),

        // Records until it is killed.
        .executableTarget(
            name: "Recorder",
            dependencies: [
                "AssetWriting", "AudioCoding", "BitstreamSyntax", "MediaIO", "MediaTimeline", "MediaTypes", "VAToolbox",
            ],
            path: "Tests/Recorder",
            swiftSettings: strict
        ),
        .testTarget(
            name: "AssetWritingTests",
            dependencies: [
                "Recorder", "AssetWriting", "AudioCoding", "BitstreamSyntax", "MediaIO", "MediaTimeline", "MediaTypes",
                "StreamingPlaylists", "TestSupport", "Transcoding", "VAToolbox",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AudioCodingTests",
            dependencies: ["AudioCoding", "BitstreamSyntax", "MediaTimeline", "MediaTypes", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(name: "BitstreamSyntaxTests", dependencies: ["BitstreamSyntax"], swiftSettings: strict),
        // What every job store must do, and the store in SQLite.
        .target(
            name: "JobStoreConformance",
            dependencies: ["JobStore"],
            path: "Tests/JobStoreConformance",
            swiftSettings: strict
        ),
        // Workers of a job store, which are killed again and again.
        .executableTarget(
            name: "JobWorkers",
            dependencies: ["JobStore"],
            path: "Tests/JobWorkers",
            swiftSettings: strict
        ),
        // Workers of a queue in PostgreSQL, which are killed, frozen and cut off.
        .executableTarget(
            name: "ClusterWorkers",
            dependencies: ["JobStore"],
            path: "Tests/ClusterWorkers",
            swiftSettings: strict
        ),
        .testTarget(
            name: "JobStoreTests",
            dependencies: ["JobStore", "JobStoreConformance", "TestSupport", database],
            swiftSettings: strict
        ),
        .testTarget(name: "ServiceAPITests", dependencies: ["ServiceAPI"], swiftSettings: strict),
        .testTarget(
            name: "EncodingServiceTests",
            dependencies: ["EncodingService", "HostSystem", "JobStore", "ServiceAPI", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ServiceClientTests",
            dependencies: [
                "ServiceAPI", "ServiceClient", "ServiceCommandLine", "VAToolboxService",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        // A helper for tests, whose encoders crash, abort and hang.
        .executableTarget(
            name: "FaultyHelper",
            dependencies: ["BitstreamSyntax", "HelperIPC", "MediaTypes", "TestSupport", "VideoDecoding"],
            path: "Tests/FaultyHelper",
            swiftSettings: strict
        ),
        // What tests and helpers for tests share, and a helper whose encoders follow scripts.
        .target(
            name: "TestSupport",
            dependencies: ["BitstreamSyntax", "HostSystem", "MediaTypes", "RenderNodes", logging],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ScriptedHelper",
            dependencies: ["HelperIPC", "MediaTypes", "TestSupport"],
            path: "Tests/ScriptedHelper",
            swiftSettings: strict
        ),
        // Measures what a helper costs, for scripts/verify.
        .executableTarget(
            name: "IsolationMeter",
            dependencies: [
                "CLinux", "HelperIPC", "MediaTypes", "SoftwareEncoder", "TestSupport", "VAToolbox",
            ],
            path: "Tests/IsolationMeter",
            swiftSettings: strict
        ),
        .testTarget(
            name: "EncodingBenchmarkTests",
            dependencies: [
                "BitstreamSyntax", "EncodingBenchmark", "HostSystem", "MediaIO", "MediaTypes", "PixelConversion",
                "TestSupport", "VAToolbox", "VAToolboxCommand", "VAToolboxHelper",
            ],
            exclude: ["Report/older.json", "Statistics/bjontegaard.json"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HelperIPCTests",
            dependencies: [
                "BitstreamSyntax", "CLinux", "HelperIPC", "FaultyHelper", "MediaTypes", "SandboxEscapes",
                "SoftwareEncoder", "TestSupport", "VAToolbox", "VAToolboxDecodingHelper", "VAToolboxHelper",
                "VideoDecoding", logging, metrics, metricsForTests,
            ],
            swiftSettings: strict
        ),
        // Variables of the process that runs the tests.
        .target(name: "CTestEnvironment", path: "Tests/CTestEnvironment"),
        // A program that confines itself as the helper does and tries to get out.
        .target(name: "CEscapes", path: "Tests/CEscapes"),
        .executableTarget(
            name: "SandboxEscapes",
            dependencies: ["CEscapes", "HelperSandbox", "MediaTypes"],
            path: "Tests/SandboxEscapes",
            swiftSettings: strict
        ),
        // A launcher, a host to be killed, and a program that tries to get out of the confinement of a task.
        .executableTarget(
            name: "ConfinedProgram",
            dependencies: ["CEscapes", "JobExecution", "MediaTypes"],
            path: "Tests/ConfinedProgram",
            swiftSettings: strict
        ),
        .testTarget(
            name: "JobExecutionTests",
            dependencies: [
                "ConfinedProgram", "CTestEnvironment", "HelperSandbox", "JobExecution", "MediaTypes", "SandboxEscapes",
                "TestSupport", "VAToolboxCommand", "VAToolboxDecodingHelper", "VAToolboxHelper", "VAToolboxService",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HelperSandboxTests",
            dependencies: ["CLinux", "HelperSandbox", "MediaTypes", "SandboxEscapes", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HardwareEncoderTests",
            dependencies: [
                "BitstreamSyntax", "CLibVA", "GOPPlanning", "HardwareDisplay", "HardwareEncoder", "MediaTypes",
                "TestSupport", "VAAPI",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "GOPPlanningTests",
            dependencies: ["BitstreamSyntax", "GOPPlanning", "MediaTypes"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediaIOTests",
            dependencies: [
                "AudioCoding", "BitstreamSyntax", "CFFmpeg", "FFmpegSupport", "MediaIO", "MediaTypes", "TestSupport",
                "VideoDecoding", logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediaTimelineTests",
            dependencies: ["MediaTimeline", "MediaTypes"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediaTypesTests",
            dependencies: ["BitstreamSyntax", "MediaTypes", "CLinux"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PixelConversionTests",
            dependencies: ["PixelConversion", "MediaTypes"],
            swiftSettings: strict
        ),
        .testTarget(name: "RenderNodesTests", dependencies: ["RenderNodes"], swiftSettings: strict),
        .testTarget(
            name: "SoftwareEncoderTests",
            dependencies: [
                "BitstreamSyntax", "CX264", "CX265", "MediaIO", "MediaTypes", "SoftwareEncoder", "TestSupport", logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "TranscodingTests",
            dependencies: [
                "AudioCoding", "BitstreamSyntax", "MediaIO", "MediaTypes", "TestSupport", "Transcoding", "VAToolbox",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CaptureTests",
            dependencies: [
                "AudioCoding", "CameraScenarios", "Capture", "CLinux", "CPipeWire", "CPulse", "CTestEnvironment",
                "CVideo4Linux", "CXCB", "MediaTimeline", "MediaTypes", "PipeWireProducer", "TestSupport",
            ],
            exclude: ["PipeWire/Producer", "PipeWire/portal.py"],
            swiftSettings: strict
        ),
        // A source of pictures for the tests of PipeWire.
        .executableTarget(
            name: "PipeWireProducer",
            dependencies: ["CPipeWire"],
            path: "Tests/CaptureTests/PipeWire/Producer"
        ),
        // What the tests of cameras run on devices that a preloaded library pretends.
        .executableTarget(
            name: "CameraScenarios",
            dependencies: ["Capture", "MediaTypes"],
            path: "Tests/CameraScenarios",
            swiftSettings: strict
        ),
        .testTarget(
            name: "LiveHLSTests",
            dependencies: [
                "AudioCoding", "BitstreamSyntax", "LiveHLS", "MediaIO", "MediaTypes", "SoftwareEncoder", "Streaming",
                "StreamingPlaylists", "TestSupport", logging,
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LiveSessionsTests",
            dependencies: [
                "AssetWriting", "AudioCoding", "BitstreamSyntax", "Capture", "HostSystem", "LiveSessions", "MediaIO",
                "MediaTypes", "Streaming", "TestSupport", "VAToolbox", metrics, metricsForTests,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StreamingTests",
            dependencies: [
                "AudioCoding", "BitstreamSyntax", "CSRT", "HostSystem", "MediaTypes", "Streaming", "TestSupport",
                logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StreamingPlaylistsTests",
            dependencies: ["MediaTypes", "StreamingPlaylists"],
            swiftSettings: strict
        ),
        // Streams on a GPU and on the CPU, for the tests of decoders, under the shim.
        .executableTarget(
            name: "DecoderScenarios",
            dependencies: ["BitstreamSyntax", "HardwareDecoder", "MediaTypes", "TestSupport", "VideoDecoding"],
            path: "Tests/DecoderScenarios",
            swiftSettings: strict
        ),
        .testTarget(
            name: "HardwareDecoderTests",
            dependencies: [
                "BitstreamSyntax", "DecoderScenarios", "HardwareDecoder", "MediaTypes", "TestSupport", "VAAPI",
                "VideoDecoding",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "VideoDecodingTests",
            dependencies: ["BitstreamSyntax", "MediaTypes", "TestSupport", "VideoDecoding"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "VAToolboxCommandTests",
            dependencies: [
                "BitstreamSyntax", "CommandLineSupport", "ConcurrentJobs", "HelperIPC", "HardwareScenarios", "MediaIO",
                "MediaTypes", "Remuxing", "RenderNodes", "SandboxEscapes", "SoftwareEncoder", "TestSupport",
                "Transcoding", "VAAPI", "VAToolbox", "VAToolboxCommand", "VAToolboxDecodingHelper", "VAToolboxHelper",
                arguments,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "VAToolboxTests",
            dependencies: [
                "BitstreamSyntax", "HelperIPC", "FaultyHelper", "MediaTypes", "RenderNodes", "ScriptedHelper",
                "TestSupport", "VAToolbox", "VAToolboxDecodingHelper", "VAToolboxHelper", metrics, metricsForTests,
            ],
            swiftSettings: strict
        ),
        // What the tests of VAAPI run on drivers, each in a process of its own.
        .executableTarget(
            name: "VAAPIScenarios",
            dependencies: ["CLibVA", "VAAPI"],
            path: "Tests/VAAPIScenarios",
            swiftSettings: strict
        ),
        // Many transcodes at once in one process, for scripts/verify and the tests.
        .executableTarget(
            name: "ConcurrentJobs",
            dependencies: [
                "FFmpegSupport", "MediaIO", "MediaTypes", "TestSupport", "Transcoding", "VAToolbox", logging,
            ],
            path: "Tests/ConcurrentJobs",
            swiftSettings: strict
        ),
        // Sessions on a GPU, which scripts/verify and the tests run under the shim.
        .executableTarget(
            name: "HardwareScenarios",
            dependencies: ["BitstreamSyntax", "CLinux", "HelperIPC", "MediaTypes", "VAToolbox"],
            path: "Tests/HardwareScenarios",
            swiftSettings: strict
        ),
        .testTarget(
            name: "VAAPITests",
            dependencies: ["CLibVA", "RenderNodes", "TestSupport", "VAAPI", "VAAPIScenarios"],
            swiftSettings: strict
        ),
    ]
)
