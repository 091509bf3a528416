// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// What a VA-API driver says of itself, in the numbers of `va.h`: nothing here needs libva to read it.
public struct DriverReport: Sendable, Hashable {
    /// The version of VA-API that libva speaks, for example 1 and 17.
    public var majorVersion: Int32
    /// The second number of that version.
    public var minorVersion: Int32
    /// The driver's name for itself and its version; free text of the driver, as it came.
    public var vendor: String
    /// The path of the driver's file; `nil` if libva did not tell.
    public var file: String?
    /// What the driver offers, in its order.
    public var profiles: [Profile]

    /// A profile, and the ways in which the driver processes it.
    public struct Profile: Sendable, Hashable {
        /// The `VAProfile`.
        public var number: Int32
        /// Decoding, encoding and processing units that take it, in the driver's order.
        public var entrypoints: [Entrypoint]

        /// Makes a profile.
        public init(number: Int32, entrypoints: [Entrypoint]) {
            self.number = number
            self.entrypoints = entrypoints
        }
    }

    /// One way in which the driver processes a profile.
    public struct Entrypoint: Sendable, Hashable {
        /// The `VAEntrypoint`.
        public var number: UInt32

        /// Makes an entrypoint.
        public init(number: UInt32) { self.number = number }
    }

    /// Makes a report.
    public init(majorVersion: Int32, minorVersion: Int32, vendor: String, file: String?, profiles: [Profile]) {
        self.majorVersion = majorVersion
        self.minorVersion = minorVersion
        self.vendor = vendor
        self.file = file
        self.profiles = profiles
    }
}

/// How far a helper has come with a driver. Each stage is told before the calls that belong to it, so that the last one
/// names what a driver was doing when it crashed or hung.
public enum DriverStage: Sendable, Hashable {
    /// The render node is being opened.
    case openingNode
    /// libva looks for the driver's file.
    case choosingDriver
    /// libva loads a file (`dlopen`), whose constructors run. It may try several files.
    case loading(file: String)
    /// The file was loaded, and the driver's own start runs (`vaInitialize`).
    case initializing(file: String)
    /// The driver is asked for its name (`vaQueryVendorString`).
    case askingVendor
    /// The driver is asked for its profiles (`vaQueryConfigProfiles`).
    case askingProfiles
    /// The driver is asked what it does with a `VAProfile` (`vaQueryConfigEntrypoints`).
    case askingEntrypoints(profile: Int32)
    /// The driver is let go of (`vaTerminate`), after it has reported or failed.
    case closing

    /// The file that the stage is about.
    public var file: String? {
        switch self {
        case .loading(let file), .initializing(let file): file
        default: nil
        }
    }
}

/// What an inspection of a driver tells while it goes on.
public enum DriverNews: Sendable, Hashable {
    /// A stage begins.
    case stage(DriverStage)
    /// The driver has answered everything. Told once, before the driver is let go of.
    case report(DriverReport)
}

/// Asks the VA-API driver of the render node at a path who it is and what it offers, in the helper's process.
///
/// It is called on the thread that runs the server, and may crash or never return. `tell` has handed the news to the
/// client when it returns.
///
/// - Throws: what libva or the driver refused.
public typealias DriverInspector =
    @Sendable (_ path: String, _ tell: @escaping @Sendable (DriverNews) throws(MediaError) -> Void) throws(MediaError)
    -> Void
