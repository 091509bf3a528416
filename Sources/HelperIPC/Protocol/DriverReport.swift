// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// The description of a VA-API driver with the numbers of `va.h`, which can be read without libva.
package struct DriverReport: Sendable, Hashable {
    /// The major version of VA-API in libva, for example 1.
    package var majorVersion: Int32
    /// The minor version of VA-API in libva, for example 17.
    package var minorVersion: Int32
    /// The driver's name and version; free text of the driver, unmodified.
    package var vendor: String
    /// The path of the driver's file; `nil` if libva did not report it.
    package var file: String?
    /// The supported profiles, in the driver's order.
    package var profiles: [Profile]

    /// A profile with its entrypoints.
    package struct Profile: Sendable, Hashable {
        /// The `VAProfile`.
        package var number: Int32
        /// The entrypoints for decoding, encoding and processing, in the driver's order.
        package var entrypoints: [Entrypoint]

        /// Creates a profile.
        package init(number: Int32, entrypoints: [Entrypoint]) {
            self.number = number
            self.entrypoints = entrypoints
        }
    }

    /// An entrypoint of a profile.
    package struct Entrypoint: Sendable, Hashable {
        /// The `VAEntrypoint`.
        package var number: UInt32

        /// Creates an entrypoint.
        package init(number: UInt32) { self.number = number }
    }

    /// The capabilities for a profile and an entrypoint, of encoding, or of decoding H.264 or HEVC.
    package struct Encoder: Sendable, Hashable {
        /// The `VAProfile`.
        package var profile: Int32
        /// The `VAEntrypoint`.
        package var entrypoint: UInt32
        /// The supported attributes with their values.
        package var attributes: [Attribute]
        /// The surface attributes, in the driver's order.
        package var surfaces: [SurfaceAttribute]
        /// The query that the driver refused; later queries were not made.
        package var refusal: MediaError?

        /// Creates the capabilities.
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
        /// The value: bits, a number or several fields, depending on the attribute.
        package var value: UInt32

        /// Creates an attribute.
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

        /// Creates a surface attribute.
        package init(number: UInt32, flags: UInt32, value: Int32?) {
            self.number = number
            self.flags = flags
            self.value = value
        }
    }

    /// Creates a report.
    package init(majorVersion: Int32, minorVersion: Int32, vendor: String, file: String?, profiles: [Profile]) {
        self.majorVersion = majorVersion
        self.minorVersion = minorVersion
        self.vendor = vendor
        self.file = file
        self.profiles = profiles
    }
}

/// A stage of inspecting a driver in a helper. Each stage is reported before its calls, so that the last stage shows
/// where a driver crashed or hung.
package enum DriverStage: Sendable, Hashable {
    /// The render node is being opened.
    case openingNode
    /// libva searches for the driver file.
    case choosingDriver
    /// libva loads a file (`dlopen`), which runs its constructors. It may try several files.
    case loading(file: String)
    /// The file was loaded, and the driver's initialization function runs (`vaInitialize`).
    case initializing(file: String)
    /// The driver's vendor string is queried (`vaQueryVendorString`).
    case askingVendor
    /// The driver's profiles are queried (`vaQueryConfigProfiles`).
    case askingProfiles
    /// The entrypoints of a `VAProfile` are queried (`vaQueryConfigEntrypoints`).
    case askingEntrypoints(profile: Int32)
    /// The attributes of a `VAProfile` and a `VAEntrypoint` are queried (`vaGetConfigAttributes`).
    case askingAttributes(profile: Int32, entrypoint: UInt32)
    /// The surface attributes of a `VAProfile` and a `VAEntrypoint` are queried (`vaCreateConfig`,
    /// `vaQuerySurfaceAttributes`).
    case askingSurfaces(profile: Int32, entrypoint: UInt32)
    /// The driver is closed (`vaTerminate`), after its report or failure.
    case closing

    /// The file of the stage.
    package var file: String? {
        switch self {
        case .loading(let file), .initializing(let file): file
        default: nil
        }
    }
}

/// An event during the inspection of a driver.
package enum DriverNews: Sendable, Hashable {
    /// A stage begins.
    case stage(DriverStage)
    /// The driver has reported its name and profiles. Sent once, before its capabilities.
    case report(DriverReport)
    /// The driver has reported its capabilities for a listed encoder or decoder. Sent at most once for each profile and
    /// entrypoint, before the driver is closed.
    case encoder(DriverReport.Encoder)
}

/// Inspects the VA-API driver of the render node at a path, in the helper process.
///
/// It is called on the thread of its connection, and may crash or never return. When `tell` returns, it has sent the
/// event to the client.
///
/// - Throws: The refusal of libva or the driver.
package typealias DriverInspector =
    @Sendable (_ path: String, _ tell: @escaping @Sendable (DriverNews) throws(MediaError) -> Void) throws(MediaError)
    -> Void
