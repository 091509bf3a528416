// SPDX-License-Identifier: GPL-2.0-or-later

/// A new version of a preset.
public struct PresetRequest: APIObject {
    /// What it is for.
    public var description = ""
    /// The outputs of jobs that name it.
    public var outputs: [Output] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A new version of a preset"
    package static let fields: Fields<Self> = [
        .defaulted("description", \.description, in: .line(0...1000), "What it is for"),
        .required("outputs", \.outputs, in: .list(1...32), "The outputs of jobs that name it"),
    ]

    package func validate() throws(APIError) {
        try JobRequest.checkNames(of: outputs)
    }
}

/// Stored outputs, which jobs name instead of listing them.
public struct Preset: APIObject {
    /// Name.
    public var name = ""
    /// Version, from 1 on.
    public var version = 0
    package var content = PresetRequest()
    /// When this version was made.
    public var createdAt = Timestamp()

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Stored outputs, which jobs name instead of listing them"
    package static let fields: Fields<Self> = .joined(
        [
            .required("name", \.name, in: .text(1...64, .name), "Name"),
            .required("version", \.version, in: .range(1...999_999_999), "Version, from 1 on"),
        ],
        PresetRequest.fields.inlined(at: \.content),
        [.required("createdAt", \.createdAt, "When this version was made")]
    )
}

/// Presets.
public struct PresetList: APIObject {
    /// The latest version of each preset, by name.
    public var presets: [Preset] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Presets"
    package static let fields: Fields<Self> = [
        .required("presets", \.presets, "The latest version of each preset, by name")
    ]
}
