// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// What a driver says of itself.
public struct DriverDescription: Sendable, Hashable {
    /// The version of VA-API that libva speaks.
    public let version: APIVersion
    /// The driver's name for itself and its version (`vaQueryVendorString`); free text.
    public let vendor: String
    /// The file that libva loaded; nil when libva was built without messages.
    public let file: String?
    /// What it offers, in the driver's order.
    public let profiles: [ProfileDescription]

    /// Makes a description of what a driver said, for example in another process.
    public init(version: APIVersion, vendor: String, file: String?, profiles: [ProfileDescription]) {
        self.version = version
        self.vendor = vendor
        self.file = file
        self.profiles = profiles
    }

    /// The driver's short name, such as `iHD` or `radeonsi`: that of its file.
    public var name: String? { file.flatMap(Self.name(ofFile:)) }

    /// The short name of the driver in a file; nil if the file is not named as libva's drivers are.
    public static func name(ofFile file: String) -> String? {
        guard let base = file.split(separator: "/").last, base.hasSuffix(DriverSearch.suffix) else { return nil }
        return String(base.dropLast(DriverSearch.suffix.count))
    }

    /// What it encodes with, in the driver's order, each only once.
    public var encoders: [(profile: Profile, entrypoint: Entrypoint)] {
        var known: Set<[Int64]> = []
        return profiles.flatMap { profile in
            profile.entrypoints.filter(\.encodes).map { (profile.profile, $0) }
        }.filter { known.insert([Int64($0.rawValue), Int64($1.rawValue)]).inserted }
    }

    /// What libva says before the path of a file that it is about to load.
    static let announcement = "Trying to open "

    /// The driver file that libva loaded: the last that it announced. There is no call that tells.
    static func loadedFile(accordingTo messages: [DriverMessage]) -> String? {
        messages.last { $0.text.hasPrefix(announcement) }.map { String($0.text.dropFirst(announcement.count)) }
    }
}

/// A version of VA-API. libva's own is one higher in the first number: libva 2.17 speaks VA-API 1.17.
public struct APIVersion: Sendable, Hashable, CustomStringConvertible {
    /// The first number.
    public let major: Int32
    /// The second number.
    public let minor: Int32

    /// Makes a version.
    public init(major: Int32, minor: Int32) {
        self.major = major
        self.minor = minor
    }

    /// Such as `1.17`.
    public var description: String { "\(major).\(minor)" }
}

/// A profile and the ways in which a driver processes it.
public struct ProfileDescription: Sendable, Hashable {
    /// The profile.
    public let profile: Profile
    /// Decoding, encoding and processing units that take it.
    public let entrypoints: [Entrypoint]

    /// Makes a description of a profile.
    public init(profile: Profile, entrypoints: [Entrypoint]) {
        self.profile = profile
        self.entrypoints = entrypoints
    }
}

/// A codec's profile (`VAProfile`).
public struct Profile: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number of `va.h`.
    public let rawValue: Int32

    /// Wraps a number of `va.h`.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The name of `va.h` without its prefix, such as `H264High`; the number where libva knows no name.
    public var description: String {
        shortName(vaProfileStr(VAProfile(rawValue: rawValue)), prefix: "VAProfile") ?? "profile \(rawValue)"
    }
}

/// A kind of processing that a driver offers for a profile (`VAEntrypoint`).
public struct Entrypoint: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number of `va.h`.
    public let rawValue: UInt32

    /// Wraps a number of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Whether it encodes from surfaces to bits.
    public var encodes: Bool {
        [VAEntrypointEncSlice, VAEntrypointEncPicture, VAEntrypointEncSliceLP].contains { $0.rawValue == rawValue }
    }

    /// The name of `va.h` without its prefix, such as `EncSliceLP`; the number where libva knows no name.
    public var description: String {
        shortName(vaEntrypointStr(VAEntrypoint(rawValue: rawValue)), prefix: "VAEntrypoint") ?? "entrypoint \(rawValue)"
    }
}

/// A constant's name without its prefix; nil where libva has no name for the number.
func shortName(_ name: UnsafePointer<CChar>?, prefix: String) -> String? {
    guard let name = name.map({ String(cString: $0) }), name.hasPrefix(prefix) else { return nil }
    return String(name.dropFirst(prefix.count))
}
