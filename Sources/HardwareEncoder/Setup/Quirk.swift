// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// One entry of the quirk table.
struct Quirk: Sendable {
    /// The part of the vendor string that identifies the driver.
    let driver: String
    /// The affected codec; `nil` for all.
    let codec: VideoCodec?
    /// The affected chips, by their names in the vendor string; empty for all.
    let chips: [String]
    /// The affected versions. A driver whose vendor string contains no version is affected.
    let versions: DriverVersions
    /// The behaviour of the driver.
    let what: String
    /// The consequence.
    let why: String
    /// The evidence: where it was observed, or the place in the driver's own source.
    let source: String
    /// The workaround.
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

    /// Returns whether it affects a driver and a codec.
    func concerns(_ vendor: String, _ codec: VideoCodec) -> Bool {
        guard self.codec == nil || self.codec == codec else { return false }
        guard vendor.contains(driver), chips.isEmpty || chips.contains(where: vendor.contains) else { return false }
        return DriverVersion(vendor: vendor).map(versions.contains) ?? true
    }

    /// The entry as text: affected drivers, behaviour and changes.
    var text: String {
        var changed = Quirks()
        change(&changed)
        return "\(driver) \(codec.map(\.rawValue) ?? "") \(chips) \(versions) \(what) \(source) \(changed)"
    }
}
