// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// The description of a driver, as it reports itself.
public struct DriverDescription: Sendable, Hashable {
    /// The VA-API version of libva.
    public let version: APIVersion
    /// The driver's name and version (`vaQueryVendorString`); free text.
    public let vendor: String
    /// The driver file that libva loaded; nil if libva was built without messages.
    public let file: String?
    /// The supported profiles, in the driver's order.
    public let profiles: [ProfileDescription]

    /// Creates a description, for example from values of another process.
    public init(version: APIVersion, vendor: String, file: String?, profiles: [ProfileDescription]) {
        self.version = version
        self.vendor = vendor
        self.file = file
        self.profiles = profiles
    }

    /// The driver's short name, such as `iHD` or `radeonsi`, from the name of its file.
    public var name: String? { file.flatMap(Self.name(ofFile:)) }

    /// Returns the short name of the driver in a file; nil if the file name does not follow libva's naming of drivers.
    public static func name(ofFile file: String) -> String? {
        guard let base = file.split(separator: "/").last, base.hasSuffix(DriverSearch.suffix) else { return nil }
        return String(base.dropLast(DriverSearch.suffix.count))
    }

    /// The supported encoders, in the driver's order and without duplicates.
    public var encoders: [(profile: Profile, entrypoint: Entrypoint)] {
        var known: Set<[Int64]> = []
        return profiles.flatMap { profile in
            profile.entrypoints.filter(\.encodes).map { (profile.profile, $0) }
        }.filter { known.insert([Int64($0.rawValue), Int64($1.rawValue)]).inserted }
    }

    /// The supported decoders of H.264 and HEVC, in the driver's order and without duplicates.
    public var decoders: [(profile: Profile, entrypoint: Entrypoint)] {
        var known: Set<Int32> = []
        return profiles.filter { profile in
            let name = profile.profile.description
            return (name.hasPrefix("H264") || name.hasPrefix("HEVC")) && profile.entrypoints.contains(where: \.decodes)
        }.filter { known.insert($0.profile.rawValue).inserted }.map { ($0.profile, .bitstreamDecoder) }
    }

    /// The text that libva prints before the path of a file that it is about to load.
    static let announcement = "Trying to open "

    /// Returns the driver file that libva loaded: the last one in its messages. No call returns it.
    static func loadedFile(accordingTo messages: [DriverMessage]) -> String? {
        messages.last { $0.text.hasPrefix(announcement) }.map { String($0.text.dropFirst(announcement.count)) }
    }
}

/// A version of VA-API. Its major version is one lower than libva's: libva 2.17 implements VA-API 1.17.
public struct APIVersion: Sendable, Hashable, CustomStringConvertible {
    /// The major version.
    public let major: Int32
    /// The minor version.
    public let minor: Int32

    /// Creates a version.
    public init(major: Int32, minor: Int32) {
        self.major = major
        self.minor = minor
    }

    /// A description such as `1.17`.
    public var description: String { "\(major).\(minor)" }
}

/// A profile with its entrypoints.
public struct ProfileDescription: Sendable, Hashable {
    /// The profile.
    public let profile: Profile
    /// The entrypoints for decoding, encoding and processing.
    public let entrypoints: [Entrypoint]

    /// Creates a description of a profile.
    public init(profile: Profile, entrypoints: [Entrypoint]) {
        self.profile = profile
        self.entrypoints = entrypoints
    }
}

/// A profile of a codec (`VAProfile`).
public struct Profile: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The value in `va.h`.
    public let rawValue: Int32

    /// Wraps a value from `va.h`.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The name in `va.h` without its prefix, such as `H264High`; the number if libva has no name for it.
    public var description: String {
        shortName(vaProfileStr(VAProfile(rawValue: rawValue)), prefix: "VAProfile") ?? "profile \(rawValue)"
    }
}

/// An operation that a driver supports for a profile (`VAEntrypoint`).
public struct Entrypoint: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The value in `va.h`.
    public let rawValue: UInt32

    /// Wraps a value from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The decoder of slices (`VAEntrypointVLD`).
    public static let bitstreamDecoder = Entrypoint(rawValue: VAEntrypointVLD.rawValue)

    /// Whether it decodes slices.
    public var decodes: Bool { self == Self.bitstreamDecoder }

    /// Whether it encodes surfaces to a bitstream.
    public var encodes: Bool {
        [VAEntrypointEncSlice, VAEntrypointEncPicture, VAEntrypointEncSliceLP].contains { $0.rawValue == rawValue }
    }

    /// The name in `va.h` without its prefix, such as `EncSliceLP`; the number if libva has no name for it.
    public var description: String {
        shortName(vaEntrypointStr(VAEntrypoint(rawValue: rawValue)), prefix: "VAEntrypoint") ?? "entrypoint \(rawValue)"
    }
}

/// Returns the name of a constant without its prefix; nil if libva has no name for it.
func shortName(_ name: UnsafePointer<CChar>?, prefix: String) -> String? {
    guard let name = name.map({ String(cString: $0) }), name.hasPrefix(prefix) else { return nil }
    return String(name.dropFirst(prefix.count))
}
