// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// One line of the table.
struct Quirk: Sendable {
    /// A part of the vendor string by which the driver is known.
    let driver: String
    /// The codec that it concerns; `nil` for all.
    let codec: VideoCodec?
    /// Names of chips, as the vendor string has them, one of which it concerns; empty for all.
    let chips: [String]
    /// The versions that it concerns. A driver whose version the vendor string does not tell is concerned.
    let versions: DriverVersions
    /// What the driver does.
    let what: String
    /// Why that matters.
    let why: String
    /// How it is known: where it was seen, or the place in the driver's own source.
    let source: String
    /// What is done about it.
    let change: @Sendable (inout Quirks) -> Void

    init(
        _ driver: String,
        _ codec: VideoCodec? = nil,
        on chips: [String] = [],
        in versions: DriverVersions = .all,
        what: String,
        why: String,
        source: String,
        change: @escaping @Sendable (inout Quirks) -> Void
    ) {
        self.driver = driver
        self.codec = codec
        self.chips = chips
        self.versions = versions
        (self.what, self.why, self.source, self.change) = (what, why, source, change)
    }

    /// Whether it concerns a driver and a codec.
    func concerns(_ vendor: String, _ codec: VideoCodec) -> Bool {
        guard self.codec == nil || self.codec == codec else { return false }
        guard vendor.contains(driver), chips.isEmpty || chips.contains(where: vendor.contains) else { return false }
        return DriverVersion(vendor: vendor).map(versions.contains) ?? true
    }

    /// The line as text: whom it concerns, what it says and what it changes.
    var text: String {
        var changed = Quirks()
        change(&changed)
        return "\(driver) \(codec.map(\.rawValue) ?? "") \(chips) \(versions) \(what) \(source) \(changed)"
    }
}
