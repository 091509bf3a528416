// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
import MediaTypes
import VAAPI
import VAToolbox

/// The description of a driver with its capabilities.
struct ProbedDriver {
    /// The description of the driver, with its profiles and entrypoints.
    var description: DriverDescription
    /// The encoders that it lists, in its order.
    var encoders: [Encoder]
    /// The decoders of H.264 and HEVC that it lists, in its order.
    var decoders: [Decoder]

    /// A decoder of the driver: a profile.
    struct Decoder: Hashable {
        var profile: Profile
        /// The largest picture, as far as the driver states it.
        var maximumWidth, maximumHeight: Int?
        /// The reason why the size is unknown; `nil` if the driver answered.
        var shortcoming: String?
    }

    /// An encoder of the driver: a profile with an entrypoint.
    struct Encoder {
        var profile: Profile
        var entrypoint: Entrypoint
        var answer: Answer
    }

    /// The result of querying an encoder.
    enum Answer: Hashable {
        /// The driver answered all queries.
        case capabilities(EncodeCapabilities)
        /// The driver refused a query: the capabilities known so far, and the reason.
        case refused(EncodeCapabilities, reason: String)
        /// The driver failed before or during the query.
        case missing
    }

    /// Takes the report of a helper process and removes terminal control characters.
    init(_ report: DriverReport, _ told: [DriverReport.Encoder]) {
        description = DriverDescription(
            version: APIVersion(major: report.majorVersion, minor: report.minorVersion),
            vendor: Readable.oneLine(report.vendor),
            file: report.file.map(Readable.oneLine),
            profiles: report.profiles.map { profile in
                ProfileDescription(
                    profile: Profile(rawValue: profile.number),
                    entrypoints: profile.entrypoints.map { Entrypoint(rawValue: $0.number) }
                )
            }
        )
        decoders = description.decoders.map { listed in
            let told = told.first {
                $0.profile == listed.profile.rawValue && $0.entrypoint == listed.entrypoint.rawValue
            }
            let answer = told.map(Answer.init) ?? .missing
            return Decoder(
                profile: listed.profile,
                maximumWidth: answer.capabilities?.maximumWidth,
                maximumHeight: answer.capabilities?.maximumHeight,
                shortcoming: answer.shortcoming
            )
        }
        encoders = description.encoders.map { listed in
            let told = told.first {
                $0.profile == listed.profile.rawValue && $0.entrypoint == listed.entrypoint.rawValue
            }
            let answer = told.map(Answer.init) ?? .missing
            return Encoder(profile: listed.profile, entrypoint: listed.entrypoint, answer: answer)
        }
    }
}

extension ProbedDriver.Answer {
    fileprivate init(_ encoder: DriverReport.Encoder) {
        let capabilities = EncodeCapabilities(encoder)
        self =
            switch encoder.refusal {
            case let error?: .refused(capabilities, reason: DriverTrouble.text(error))
            case nil: .capabilities(capabilities)
            }
    }

    /// The known capabilities of the encoder; `nil` if there are none.
    var capabilities: EncodeCapabilities? {
        switch self {
        case .capabilities(let capabilities), .refused(let capabilities, _): capabilities
        case .missing: nil
        }
    }

    /// The reason why the capabilities are incomplete; `nil` if they are complete.
    var shortcoming: String? {
        switch self {
        case .capabilities: nil
        case .refused(_, let reason): reason
        case .missing: "not queried: the driver had failed"
        }
    }
}

extension ProbedDriver {
    /// The streams that its decoders should decode.
    var knownStreams: [KnownStream] {
        let names = Set(decoders.map { "\($0.profile)" })
        return KnownStream.all.filter { stream in
            switch (stream.codec, stream.name) {
            case (.h264, "main"): names.contains("H264Main") || names.contains("H264High")
            case (.h264, _): names.contains("H264High")
            case (.hevc, "main"): names.contains("HEVCMain") || names.contains("HEVCMain10")
            case (.hevc, _): names.contains("HEVCMain10")
            }
        }
    }
}

extension ProbedDriver.Decoder {
    var codec: VideoCodec { "\(profile)".hasPrefix("H264") ? .h264 : .hevc }

    /// The bit depth: that in the name of the profile, otherwise 8.
    var bitDepth: Int {
        let name = "\(profile)"
        if name == "H264High10" { return 10 }
        return name.contains("12") ? 12 : name.contains("10") ? 10 : name.contains("16") ? 16 : 8
    }

    /// The largest picture, such as `4096x2304`; `nil` if the driver does not state it.
    var largestSize: String? {
        guard maximumWidth != nil || maximumHeight != nil else { return nil }
        return [maximumWidth, maximumHeight].map { $0.map(String.init) ?? "any" }.joined(separator: "x")
    }
}

extension EncodeCapabilities {
    /// Converts the capabilities that a driver reported in another process.
    init(_ encoder: DriverReport.Encoder) {
        self.init(
            profile: Profile(rawValue: encoder.profile),
            entrypoint: Entrypoint(rawValue: encoder.entrypoint),
            attributes: encoder.attributes.map {
                ConfigAttributeValue(ConfigAttribute(rawValue: $0.number), $0.value)
            },
            surfaces: SurfaceCapabilities(
                attributes: encoder.surfaces.map {
                    SurfaceAttributeValue(type: $0.number, flags: $0.flags, value: $0.value)
                }
            )
        )
    }

    /// Whether pictures may refer to later ones.
    var hasBFrames: Bool {
        guard let references, references.list1 > 0 else { return false }
        return predictionDirections?.contains(.future) ?? true
    }
}

// MARK: - Groups

extension ProbedDriver {
    /// Whether it lists an H.264 encoder that this version supports.
    var encodesH264: Bool { Trial.listed(by: self).contains { $0.codec == .h264 } }

    /// The profiles that it lists for encoding, in its order.
    var profiles: [(profile: Profile, entrypoints: [Entrypoint])] {
        var profiles: [(profile: Profile, entrypoints: [Entrypoint])] = []
        for encoder in encoders {
            if let index = profiles.firstIndex(where: { $0.profile == encoder.profile }) {
                profiles[index].entrypoints.append(encoder.entrypoint)
            } else {
                profiles.append((encoder.profile, [encoder.entrypoint]))
            }
        }
        return profiles
    }
}

extension ProbedDriver {
    /// Profiles with the same description, and that description.
    struct Group<Said: Hashable> {
        var profiles: [Profile]
        var said: Said
    }

    /// Groups profiles with the same entrypoints and descriptions, in the driver's order.
    ///
    /// - Parameter say: Returns the description of an encoder, apart from its entrypoint.
    func grouped<Said: Hashable>(_ say: (Encoder) -> Said) -> [Group<[Line<Said>]>] {
        Self.merged(
            profiles.map { profile in
                let encoders = encoders.filter { $0.profile == profile.profile }
                let lines = encoders.map { Line(entrypoint: $0.entrypoint, said: say($0)) }
                return Group(profiles: [profile.profile], said: lines)
            }
        )
    }

    /// The description of an entrypoint.
    struct Line<Said: Hashable>: Hashable {
        var entrypoint: Entrypoint
        var said: Said
    }

    /// The answers without duplicates, each with all profiles that have it, separately for each entrypoint.
    var answers: [(entrypoint: Entrypoint, group: Group<Answer>)] {
        let groups = encoders.map { encoder in
            Group(
                profiles: [encoder.profile],
                said: Line(entrypoint: encoder.entrypoint, said: encoder.answer.withoutProfile)
            )
        }
        return Self.merged(groups).map { group in
            (group.said.entrypoint, Group(profiles: group.profiles, said: group.said.said))
        }
    }

    private static func merged<Said>(_ groups: [Group<Said>]) -> [Group<Said>] {
        var merged: [Group<Said>] = []
        for group in groups {
            if let index = merged.firstIndex(where: { $0.said == group.said }) {
                merged[index].profiles += group.profiles
            } else {
                merged.append(group)
            }
        }
        return merged
    }
}

extension ProbedDriver.Answer {
    /// The answer independent of the profile, for comparisons.
    fileprivate var withoutProfile: ProbedDriver.Answer {
        func anonymous(_ capabilities: EncodeCapabilities) -> EncodeCapabilities {
            EncodeCapabilities(
                profile: Profile(rawValue: -1),
                entrypoint: capabilities.entrypoint,
                attributes: capabilities.attributes,
                surfaces: capabilities.surfaces
            )
        }
        return switch self {
        case .capabilities(let capabilities): .capabilities(anonymous(capabilities))
        case .refused(let capabilities, let reason): .refused(anonymous(capabilities), reason: reason)
        case .missing: .missing
        }
    }
}
