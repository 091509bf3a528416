// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import ServiceAPI

/// Outputs by name. A change makes a new version; the ones before stay, since jobs may name them.
actor PresetStore {
    private let folder: String
    private var presets: [String: [Preset]] = [:]

    /// Reads the presets.
    init(folder: String) throws {
        self.folder = folder
        for file in try Files.names(in: folder) where file.hasSuffix(".json") {
            guard let bytes = try Files.read("\(folder)/\(file)") else { continue }
            // One that cannot be read must not be taken for none: a change would begin again with version 1.
            let value = try JSONValue(parsing: bytes)
            let versions = value.elements.compactMap { try? Preset.decode(json: $0, mode: .response) }
            if let name = versions.first?.name { presets[name] = versions }
        }
    }

    /// The last version of each, by name.
    func list() -> [Preset] { presets.keys.sorted().compactMap { presets[$0]?.last } }

    /// Returns a preset; the last version if none is named.
    ///
    /// - Throws: `APIError` `not-found`.
    func find(_ name: String, version: Int? = nil, field: String = "name") throws -> Preset {
        let versions = presets[name] ?? []
        guard let preset = version.map({ number in versions.first { $0.version == number } }) ?? versions.last else {
            throw APIError(
                .notFound,
                "There is no such preset",
                field: field,
                value: .string(version.map { "\(name)@\($0)" } ?? name),
                allowed: presets.isEmpty
                    ? "none: the service has no presets" : presets.keys.sorted().joined(separator: ", ")
            )
        }
        return preset
    }

    /// Makes a preset, or a new version of it. What equals the last version makes none.
    ///
    /// - Parameter name: A name that the API allows: it is that of a file, too.
    func set(_ name: String, _ request: PresetRequest) throws -> Preset {
        let versions = presets[name] ?? []
        if let last = versions.last, last.content == request { return last }
        let preset = Preset {
            $0.name = name
            $0.version = (versions.last?.version ?? 0) + 1
            $0.content = request
            $0.createdAt = Timestamp(seconds: Clock.now)
        }
        let all = versions + [preset]
        try Files.replace("\(folder)/\(name).json", with: JSONValue.array(all.map(\.json)).bytes)
        presets[name] = all
        return preset
    }

    /// Deletes a preset with all versions. Jobs that were submitted have its outputs.
    func delete(_ name: String) throws {
        _ = try find(name)
        try Files.remove("\(folder)/\(name).json")
        presets[name] = nil
    }

    /// Puts the outputs of the preset into a request that names one, in front of its own.
    func resolve(_ request: JobRequest) throws -> JobRequest {
        guard let reference = request.preset else { return request }
        let parts = reference.split(separator: "@", maxSplits: 1).map(String.init)
        let preset = try find(parts[0], version: parts.count == 2 ? Int(parts[1]) : nil, field: "/preset")
        var resolved = request
        resolved.preset = "\(preset.name)@\(preset.version)"
        resolved.outputs = preset.content.outputs + request.outputs
        try JobRequest.checkNames(of: resolved.outputs)
        return resolved
    }
}
