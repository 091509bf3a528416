// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// What a VA-API driver says of itself, in the numbers of `va.h`: nothing here needs libva to read it.
package struct DriverReport: Sendable, Hashable {
    /// The version of VA-API that libva speaks, for example 1 and 17.
    package var majorVersion: Int32
    /// The second number of that version.
    package var minorVersion: Int32
    /// The driver's name for itself and its version; free text of the driver, as it came.
    package var vendor: String
    /// The path of the driver's file; `nil` if libva did not tell.
    package var file: String?
    /// What the driver offers, in its order.
    package var profiles: [Profile]

    /// A profile, and the ways in which the driver processes it.
    package struct Profile: Sendable, Hashable {
        /// The `VAProfile`.
        package var number: Int32
        /// Decoding, encoding and processing units that take it, in the driver's order.
        package var entrypoints: [Entrypoint]

        /// Makes a profile.
        package init(number: Int32, entrypoints: [Entrypoint]) {
            self.number = number
            self.entrypoints = entrypoints
        }
    }

    /// One way in which the driver processes a profile.
    package struct Entrypoint: Sendable, Hashable {
        /// The `VAEntrypoint`.
        package var number: UInt32

        /// Makes an entrypoint.
        package init(number: UInt32) { self.number = number }
    }

    /// What the driver says of a profile and an entrypoint that encodes it.
    package struct Encoder: Sendable, Hashable {
        /// The `VAProfile`.
        package var profile: Int32
        /// The `VAEntrypoint`.
        package var entrypoint: UInt32
        /// The attributes that the driver has, with their values.
        package var attributes: [Attribute]
        /// What it says of surfaces, in its order.
        package var surfaces: [SurfaceAttribute]
        /// The question that the driver refused; what comes after it was not asked.
        package var refusal: MediaError?

        /// Makes an encoder.
        package init(
            profile: Int32,
            entrypoint: UInt32,
            attributes: [Attribute] = [],
            surfaces: [SurfaceAttribute] = [],
            refusal: MediaError? = nil
        ) {
            self.profile = profile
            self.entrypoint = entrypoint
            self.attributes = attributes
            self.surfaces = surfaces
            self.refusal = refusal
        }
    }

    /// A `VAConfigAttrib`.
    package struct Attribute: Sendable, Hashable {
        /// The `VAConfigAttribType`.
        package var number: UInt32
        /// The value; bits, a number or several fields, as the attribute has it.
        package var value: UInt32

        /// Pairs an attribute with a value.
        package init(number: UInt32, value: UInt32) {
            self.number = number
            self.value = value
        }
    }

    /// A `VASurfaceAttrib`.
    package struct SurfaceAttribute: Sendable, Hashable {
        /// The `VASurfaceAttribType`.
        package var number: UInt32
        /// Bits of `VA_SURFACE_ATTRIB_*ABLE`.
        package var flags: UInt32
        /// The value if it is a number.
        package var value: Int32?

        /// Pairs an attribute with a value.
        package init(number: UInt32, flags: UInt32, value: Int32?) {
            self.number = number
            self.flags = flags
            self.value = value
        }
    }

    /// Makes a report.
    package init(majorVersion: Int32, minorVersion: Int32, vendor: String, file: String?, profiles: [Profile]) {
        self.majorVersion = majorVersion
        self.minorVersion = minorVersion
        self.vendor = vendor
        self.file = file
        self.profiles = profiles
    }
}

/// How far a helper has come with a driver. Each stage is told before the calls that belong to it, so that the last one
/// names what a driver was doing when it crashed or hung.
package enum DriverStage: Sendable, Hashable {
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
    /// The driver is asked how it encodes a `VAProfile` with a `VAEntrypoint` (`vaGetConfigAttributes`).
    case askingAttributes(profile: Int32, entrypoint: UInt32)
    /// The driver is asked which surfaces it encodes from (`vaCreateConfig`, `vaQuerySurfaceAttributes`).
    case askingSurfaces(profile: Int32, entrypoint: UInt32)
    /// The driver is let go of (`vaTerminate`), after it has reported or failed.
    case closing

    /// The file that the stage is about.
    package var file: String? {
        switch self {
        case .loading(let file), .initializing(let file): file
        default: nil
        }
    }
}

/// What an inspection of a driver tells while it goes on.
package enum DriverNews: Sendable, Hashable {
    /// A stage begins.
    case stage(DriverStage)
    /// The driver has said who it is and what it offers. Told once, before anything of how it encodes.
    case report(DriverReport)
    /// The driver has said how it encodes something that it has listed. Told at most once for each profile and
    /// entrypoint, before the driver is let go of.
    case encoder(DriverReport.Encoder)
}

/// Asks the VA-API driver of the render node at a path who it is and what it offers, in the helper's process.
///
/// It is called on the thread of its connection, and may crash or never return. `tell` has handed the news to the
/// client when it returns.
///
/// - Throws: what libva or the driver refused.
package typealias DriverInspector =
    @Sendable (_ path: String, _ tell: @escaping @Sendable (DriverNews) throws(MediaError) -> Void) throws(MediaError)
    -> Void
