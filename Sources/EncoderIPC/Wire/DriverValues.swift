// SPDX-License-Identifier: GPL-2.0-or-later

// What a helper tells about a driver.

extension WireLimits {
    /// `va.h` of libva 2.22 has 44 profiles.
    static let profiles = 256
    /// The same header has 12 entrypoints; with the profiles at their limit the report still fits into a message.
    static let entrypoints = 64
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

    /// The report with texts as long as a message takes: a driver may say what it likes.
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
        case 7: self = .closing
        case let other: throw reader.error("DriverStage", at: start, .noSuchValue(given: "case \(other)"))
        }
    }

    /// The name of a file is cut where it is too long: it is for people.
    func write(to writer: inout WireWriter) throws(WireError) {
        writer.integer(rank)
        switch self {
        case .loading(let file), .initializing(let file): try file.fittingWire.write(to: &writer)
        case .askingEntrypoints(let profile): writer.integer(profile)
        case .openingNode, .choosingDriver, .askingVendor, .askingProfiles, .closing: break
        }
    }

    /// The number of the stage in the order in which stages come.
    var rank: UInt8 {
        switch self {
        case .openingNode: 0
        case .choosingDriver: 1
        case .loading: 2
        case .initializing: 3
        case .askingVendor: 4
        case .askingProfiles: 5
        case .askingEntrypoints: 6
        case .closing: 7
        }
    }
}
