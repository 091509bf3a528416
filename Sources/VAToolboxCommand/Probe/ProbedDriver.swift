// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import EncoderIPC
import MediaTypes
import VAAPI

/// What a driver has said of itself and of how it encodes.
struct ProbedDriver {
    /// Who it is, and what it lists.
    var description: DriverDescription
    /// How it encodes what it lists for encoding, in its order.
    var encoders: [Encoder]

    /// One way in which the driver encodes a profile.
    struct Encoder {
        var profile: Profile
        var entrypoint: Entrypoint
        var answer: Answer
    }

    /// What came of the questions about an encoder.
    enum Answer: Hashable {
        /// The driver has answered all of them.
        case capabilities(EncodeCapabilities)
        /// It refused one: what is known nevertheless, and why it is not all.
        case refused(EncodeCapabilities, reason: String)
        /// It failed before it was asked, or while it was.
        case missing
    }

    /// Takes over what a driver said in a helper process, without characters that a terminal would obey.
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

    /// What is known of the encoder; `nil` if nothing is.
    var capabilities: EncodeCapabilities? {
        switch self {
        case .capabilities(let capabilities), .refused(let capabilities, _): capabilities
        case .missing: nil
        }
    }

    /// Why not everything is known; `nil` if everything is.
    var shortcoming: String? {
        switch self {
        case .capabilities: nil
        case .refused(_, let reason): reason
        case .missing: "not queried: the driver had failed"
        }
    }
}

extension EncodeCapabilities {
    /// What a driver said in another process.
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

// MARK: - What is alike

extension ProbedDriver {
    /// Whether it lists a way to encode H.264 that this version knows.
    var encodesH264: Bool { Trial.listed(by: self).contains { $0.codec == .h264 } }

    /// What it lists for encoding, in its order.
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
    /// Profiles of which the same is to be said, and that.
    struct Group<Said: Hashable> {
        var profiles: [Profile]
        var said: Said
    }

    /// Profiles with the same entrypoints of which the same is to be said, in the driver's order.
    ///
    /// - Parameter say: What there is to say of an encoder, beside its entrypoint.
    func grouped<Said: Hashable>(_ say: (Encoder) -> Said) -> [Group<[Line<Said>]>] {
        Self.merged(
            profiles.map { profile in
                let encoders = encoders.filter { $0.profile == profile.profile }
                let lines = encoders.map { Line(entrypoint: $0.entrypoint, said: say($0)) }
                return Group(profiles: [profile.profile], said: lines)
            }
        )
    }

    /// What is said of an entrypoint.
    struct Line<Said: Hashable>: Hashable {
        var entrypoint: Entrypoint
        var said: Said
    }

    /// The answers, each once, with all the profiles that have it; entrypoints apart.
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
    /// The answer as one of any profile, so that equal ones can be told.
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
