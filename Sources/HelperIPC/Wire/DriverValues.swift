// SPDX-License-Identifier: GPL-2.0-or-later

// The report of a helper about a driver.

extension WireLimits {
    /// `va.h` of libva 2.22 has 44 profiles.
    static let profiles = 256
    /// The same header has 12 entrypoints; a report with the maximum number of profiles still fits into a message.
    static let entrypoints = 64
    /// libva 2.22 has 57 config attributes.
    static let configAttributes = 256
    /// A few types, and one for each pixel format; drivers list a few dozen.
    static let surfaceAttributes = 1024
}

extension DriverReport: WireStructure {
    static var blank: DriverReport { .init(majorVersion: 0, minorVersion: 0, vendor: "", file: nil, profiles: []) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&majorVersion)
        try visitor.field(&minorVersion)
        try visitor.field(&vendor)
        try visitor.field(&file)
        try visitor.list(&profiles, atMost: WireLimits.profiles)
    }

    /// The report with its texts truncated to fit a message, because a driver may return anything.
    var fittingWire: DriverReport {
        var report = self
        report.vendor = vendor.fittingWire
        report.file = file?.fittingWire
        return report
    }
}

extension DriverReport.Profile: WireStructure {
    static var blank: DriverReport.Profile { .init(number: 0, entrypoints: []) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
        try visitor.list(&entrypoints, atMost: WireLimits.entrypoints)
    }
}

extension DriverReport.Entrypoint: WireStructure {
    static var blank: DriverReport.Entrypoint { .init(number: 0) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
    }
}

extension DriverReport.Encoder: WireStructure {
    static var blank: DriverReport.Encoder { .init(profile: 0, entrypoint: 0) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&profile)
        try visitor.field(&entrypoint)
        try visitor.list(&attributes, atMost: WireLimits.configAttributes)
        try visitor.list(&surfaces, atMost: WireLimits.surfaceAttributes)
        try visitor.field(&refusal)
    }

    /// The encoder with its lists and texts truncated to fit a message, because a driver may return anything.
    var fittingWire: DriverReport.Encoder {
        var encoder = self
        encoder.attributes = Array(attributes.prefix(WireLimits.configAttributes))
        encoder.surfaces = Array(surfaces.prefix(WireLimits.surfaceAttributes))
        encoder.refusal = refusal?.fittingWire
        return encoder
    }
}

extension DriverReport.Attribute: WireStructure {
    static var blank: DriverReport.Attribute { .init(number: 0, value: 0) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
        try visitor.field(&value)
    }
}

extension DriverReport.SurfaceAttribute: WireStructure {
    static var blank: DriverReport.SurfaceAttribute { .init(number: 0, flags: 0, value: nil) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
        try visitor.field(&flags)
        try visitor.field(&value)
    }
}

extension DriverStage: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        switch try reader.integer(UInt8.self) {
        case 0: self = .openingNode
        case 1: self = .choosingDriver
        case 2: self = .loading(file: try String(from: &reader))
        case 3: self = .initializing(file: try String(from: &reader))
        case 4: self = .askingVendor
        case 5: self = .askingProfiles
        case 6: self = .askingEntrypoints(profile: try reader.integer())
        case 7: self = .askingAttributes(profile: try reader.integer(), entrypoint: try reader.integer())
        case 8: self = .askingSurfaces(profile: try reader.integer(), entrypoint: try reader.integer())
        case 9: self = .closing
        case let other: throw reader.error("DriverStage", at: start, .noSuchValue(given: "case \(other)"))
        }
    }

    /// A file name that is too long is truncated: it is for people.
    func write(to writer: inout WireWriter) throws(WireError) {
        writer.integer(rank)
        switch self {
        case .loading(let file), .initializing(let file): try file.fittingWire.write(to: &writer)
        case .askingEntrypoints(let profile): writer.integer(profile)
        case .askingAttributes(let profile, let entrypoint), .askingSurfaces(let profile, let entrypoint):
            writer.integer(profile)
            writer.integer(entrypoint)
        case .openingNode, .choosingDriver, .askingVendor, .askingProfiles, .closing: break
        }
    }

    /// The position of the stage in the order of stages.
    var rank: UInt8 {
        switch self {
        case .openingNode: 0
        case .choosingDriver: 1
        case .loading: 2
        case .initializing: 3
        case .askingVendor: 4
        case .askingProfiles: 5
        case .askingEntrypoints: 6
        case .askingAttributes: 7
        case .askingSurfaces: 8
        case .closing: 9
        }
    }
}
