// SPDX-License-Identifier: GPL-2.0-or-later

/// Everything that a value stores, however deep, by path: what `==` leaves out, or takes for the same, is there too.
struct StoredProperties: Equatable {
    private(set) var leaves: [String: String] = [:]

    init(_ value: Any) { collect(value, "") }

    private mutating func collect(_ value: Any, _ path: String) {
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .set: leaves[path] = mirror.children.map { "\($0.value)" }.sorted().description
        case .collection:
            leaves[path] = "\(mirror.children.count)"
            for (index, child) in mirror.children.enumerated() { collect(child.value, "\(path)[\(index)]") }
        case .enum:
            // A case's name is its label, or the description of a case without values.
            leaves[path] = mirror.children.first?.label ?? "\(value)"
            for child in mirror.children { collect(child.value, "\(path).\(child.label ?? "")") }
        case .optional:
            leaves[path] = mirror.children.isEmpty ? "nil" : "some"
            for child in mirror.children { collect(child.value, path + "?") }
        case nil: leaves[path] = (value as? Double).map { "\($0.bitPattern)" } ?? "\(value)".debugDescription
        default:
            for (index, child) in mirror.children.enumerated() {
                collect(child.value, "\(path).\(child.label ?? "\(index)")")
            }
        }
    }
}
