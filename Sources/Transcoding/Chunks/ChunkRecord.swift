// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Crypto
import MediaTypes
import VAToolbox

/// What is known of a finished chunk, as it is stored beside the chunk.
struct ChunkRecord: Sendable, Hashable {
    /// What has encoded it.
    struct Encoder: Sendable, Hashable {
        var identity: EncoderIdentity
        /// The name and version for display.
        var name: String
        var profile: String
        var level: String
        var isInHelper: Bool
        var reason: String
    }

    /// A coded picture, in decoding order.
    struct Sample: Sendable, Hashable {
        /// Its place among the pictures of the chunk in the order in which they are shown.
        var rank: Int
        var byteCount: Int
    }

    /// How near the pictures are to the input.
    struct PSNR: Sendable, Hashable {
        var lowest: Double
        var mean: Double
        var pictureCount: Int
    }

    /// The key of the encode; see ``ChunkKey``.
    var key: String
    /// The name of the file of the chunk.
    var file: String
    var encoder: Encoder
    /// The digest of the file of the chunk.
    var digest: String
    /// The digest of the parameter sets.
    var parameterSets: String
    var samples: [Sample]
    /// The settings that differ from the request.
    var adjustments: [Adjustment] = []
    /// The number of pictures that were compared with the input; 0 without a verification.
    var comparedPictureCount = 0
    var psnr: PSNR?

    /// The maximum number of pictures that are decoded before a picture and shown after it.
    var reorderDepth: Int { samples.indices.reduce(0) { max($0, $1 - samples[$1].rank) } }

    static func digest(_ bytes: some Sequence<UInt8>) -> String { hex(SHA256.hash(data: Array(bytes))) }

    static func hex(_ digest: SHA256.Digest) -> String {
        digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}

// MARK: - Text

extension ChunkRecord {
    private static let heading = "vatoolbox chunk 1"
    private static let ending = "end"

    /// The record as lines of a name and a value.
    var text: String {
        var lines = [
            Self.heading,
            "key \(key)",
            "file \(file)",
            "encoder \(Self.line(encoder.identity.name))",
            "codec \(encoder.identity.codec.rawValue)",
            "device \(Self.line(encoder.identity.device ?? ""))",
            "version \(Self.line(encoder.name))",
            "profile \(Self.line(encoder.profile))",
            "level \(Self.line(encoder.level))",
            "helper \(encoder.isInHelper)",
            "reason \(Self.line(encoder.reason))",
            "digest \(digest)",
            "parameters \(parameterSets)",
            "compared \(comparedPictureCount)",
        ]
        if let psnr { lines.append("psnr \(psnr.lowest) \(psnr.mean) \(psnr.pictureCount)") }
        lines += adjustments.map { adjustment in
            let parts = [adjustment.property, adjustment.requested, adjustment.used, adjustment.reason]
            return "adjustment " + parts.map { Self.line($0).replacing("\t", with: " ") }.joined(separator: "\t")
        }
        lines += samples.map { "sample \($0.rank) \($0.byteCount)" }
        return (lines + [Self.ending]).joined(separator: "\n") + "\n"
    }

    /// Reads a record; `nil` if the text is not a whole one.
    init?(text: String) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        guard lines.popFirst() == Self.heading[...], lines.popLast() == "", lines.popLast() == Self.ending[...] else {
            return nil
        }
        var values: [Substring: Substring] = [:]
        samples = []
        for line in lines {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            if parts[0] == "sample" {
                let numbers = parts[1].split(separator: " ").compactMap { Int($0) }
                guard numbers.count == 2, numbers.allSatisfy({ $0 >= 0 }) else { return nil }
                samples.append(Sample(rank: numbers[0], byteCount: numbers[1]))
            } else if parts[0] == "adjustment" {
                let texts = parts[1].split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
                guard texts.count == 4 else { return nil }
                adjustments.append(
                    Adjustment(property: texts[0], requested: texts[1], used: texts[2], reason: texts[3])
                )
            } else {
                values[parts[0]] = parts[1]
            }
        }
        // Each picture has one place.
        guard Set(samples.map(\.rank)) == Set(samples.indices), !samples.isEmpty,
            let key = values["key"], let file = values["file"], !file.contains("/"),
            let name = values["encoder"], let codec = values["codec"].flatMap({ VideoCodec(rawValue: String($0)) }),
            let device = values["device"], let version = values["version"], let profile = values["profile"],
            let level = values["level"], let isInHelper = values["helper"].flatMap({ Bool(String($0)) }),
            let reason = values["reason"], let digest = values["digest"], let sets = values["parameters"],
            let compared = values["compared"].flatMap({ Int($0) })
        else { return nil }
        encoder = Encoder(
            identity: EncoderIdentity(
                name: String(name),
                codec: codec,
                device: device.isEmpty ? nil : String(device)
            ),
            name: String(version),
            profile: String(profile),
            level: String(level),
            isInHelper: isInHelper,
            reason: String(reason)
        )
        (self.key, self.file) = (String(key), String(file))
        (self.digest, parameterSets) = (String(digest), String(sets))
        comparedPictureCount = compared
        guard let ratios = values["psnr"] else { return }
        let numbers = ratios.split(separator: " ").compactMap { Double($0) }
        guard numbers.count == 3, let count = Int(exactly: numbers[2]) else { return nil }
        psnr = PSNR(lowest: numbers[0], mean: numbers[1], pictureCount: count)
    }

    private static func line(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }
}
