// SPDX-License-Identifier: GPL-2.0-or-later

/// A driver version, such as 25.0.7 of Mesa.
struct DriverVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    let major: Int
    let minor: Int
    let patch: Int

    init(_ major: Int, _ minor: Int, _ patch: Int = 0) { (self.major, self.minor, self.patch) = (major, minor, patch) }

    /// Parses the first word of a vendor string (`vaQueryVendorString`) that consists of numbers separated by points:
    /// 25.0.7 in "Mesa Gallium driver 25.0.7-2 for AMD Radeon ...", 25.2.3 in "Intel iHD driver ... - 25.2.3 ()"; `nil`
    /// if there is none.
    init?(vendor: String) {
        for word in vendor.split(whereSeparator: { !($0.isNumber || $0 == ".") }) {
            let numbers = word.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
            guard numbers.count > 1, !numbers.contains(nil) else { continue }
            let known = numbers.compactMap(\.self)
            self.init(known[0], known[1], known.count > 2 ? known[2] : 0)
            return
        }
        return nil
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    var description: String { "\(major).\(minor).\(patch)" }
}

/// A range of driver versions.
struct DriverVersions: Hashable, Sendable, CustomStringConvertible {
    /// The first version; `nil` for the driver's first version.
    let first: DriverVersion?
    /// The first version after the range; `nil` if the range is open.
    let end: DriverVersion?

    private init(first: DriverVersion?, end: DriverVersion?) { (self.first, self.end) = (first, end) }

    /// All versions.
    static let all = Self(first: nil, end: nil)
    /// All versions before one.
    static func before(_ end: DriverVersion) -> Self { Self(first: nil, end: end) }
    /// A version and all later ones.
    static func since(_ first: DriverVersion) -> Self { Self(first: first, end: nil) }
    /// A version and all later ones before another.
    static func between(_ range: Range<DriverVersion>) -> Self { Self(first: range.lowerBound, end: range.upperBound) }

    func contains(_ version: DriverVersion) -> Bool {
        first.map { $0 <= version } ?? true && end.map { version < $0 } ?? true
    }

    var description: String { "\(first?.description ?? "")..<\(end?.description ?? "")" }
}
