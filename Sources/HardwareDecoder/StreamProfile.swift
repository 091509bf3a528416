// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import MediaTypes
internal import VAAPI
internal import VideoDecoding

/// The properties of a stream on which a driver's support depends.
struct StreamProfile: Sendable, Hashable {
    let codec: VideoCodec
    /// The profile in the SPS.
    let profileIdc: Int
    let chromaFormat: ChromaFormat
    let bitDepth: Int
    let width: Int
    let height: Int

    /// Reads the first sequence parameter set.
    ///
    /// - Throws: `malformedData` if there is none or if it cannot be parsed.
    init(_ format: FormatDescription) throws(MediaError) {
        guard let unit = format.sequenceParameterSets.first else {
            throw MediaError(.malformedData, "the format has no sequence parameter set")
        }
        codec = format.codec
        do throws(BitstreamError) {
            switch format.codec {
            case .h264:
                let set = try H264SequenceParameterSet(nalUnit: unit)
                profileIdc = Int(set.profileIdc)
                chromaFormat = set.chromaFormatIdc
                bitDepth = max(set.lumaBitDepth, set.chromaBitDepth)
                (width, height) = (set.codedSize.width, set.codedSize.height)
            case .hevc:
                let set = try HEVCSequenceParameterSet(nalUnit: unit)
                profileIdc = Int(set.profileTierLevel.general.profileIdc)
                chromaFormat = set.chromaFormatIdc
                bitDepth = max(set.lumaBitDepth, set.chromaBitDepth)
                (width, height) = (set.codedSize.width, set.codedSize.height)
            }
        } catch {
            throw MediaError(.malformedData, "the sequence parameter set cannot be parsed: \(error)")
        }
    }

    /// Whether it is H.264 Baseline, which no driver lists. In practice, such streams have none of the tools that
    /// Constrained Baseline lacks.
    var isPlainBaseline: Bool { codec == .h264 && profileIdc == 66 }

    /// The VA-API profiles that decode it; empty if this package does not support any.
    private var profiles: [Profile] {
        guard chromaFormat == .yuv420 else { return [] }
        let list: [VAProfile] =
            switch (codec, bitDepth, profileIdc) {
            case (.h264, 8, 66): [VAProfileH264ConstrainedBaseline, VAProfileH264Main, VAProfileH264High]
            case (.h264, 8, 77): [VAProfileH264Main, VAProfileH264High]
            case (.h264, 8, 100): [VAProfileH264High]
            case (.hevc, 8, _): [VAProfileHEVCMain, VAProfileHEVCMain10]
            case (.hevc, 10, _): [VAProfileHEVCMain10]
            default: []
            }
        return list.map { Profile(rawValue: $0.rawValue) }
    }

    /// Checks whether a driver decodes the profile.
    ///
    /// - Throws: `unsupported` if it does not.
    func check(_ driver: DriverDescription) throws(MediaError) {
        let decoded = driver.profiles.filter { $0.entrypoints.contains(.decode) }.map(\.profile)
        guard !profiles.contains(where: decoded.contains) else { return }
        if profiles.isEmpty {
            throw MediaError(
                .unsupported,
                "this version decodes no \(chromaFormat.name) of \(bitDepth) bits in \(codec == .h264 ? "H.264" : "HEVC") on GPUs",
                given: "\(self)",
                allowed: "H.264 Baseline, Main and High, HEVC Main and Main 10, all 4:2:0",
                cause: .formatMissing
            )
        }
        throw MediaError(
            .unsupported,
            "the driver (\(driver.vendor)) decodes no \(name)",
            given: "\(self)",
            allowed: decoded.isEmpty ? "nothing" : decoded.map { "\($0)" }.joined(separator: ", "),
            cause: .driverWithoutCodec
        )
    }

    /// The name of the profile, for example `HEVC Main 10`.
    private var name: String {
        switch codec {
        case .h264: "H.264 \(profileIdc == 66 ? "Baseline" : profileIdc == 77 ? "Main" : "High")"
        case .hevc: bitDepth == 8 ? "HEVC Main" : "HEVC Main 10"
        }
    }
}

extension StreamProfile: CustomStringConvertible {
    /// For example `h264 profile 100, 4:2:0, 8 bits, 1920x1088`.
    var description: String {
        "\(codec.rawValue) profile \(profileIdc), \(chromaFormat), \(bitDepth) bits, \(width)x\(height)"
    }
}

extension Entrypoint {
    /// Decoding of slices (`VAEntrypointVLD`).
    static let decode = Entrypoint(rawValue: VAEntrypointVLD.rawValue)
}

/// Values of `VAStatus`.
enum DriverStatus {
    static let decodingError = Int(VA_STATUS_ERROR_DECODING_ERROR)
}

extension VAError.Status {
    /// Whether the driver found the data to be damaged.
    var isDamage: Bool { Int(rawValue) == DriverStatus.decodingError }
}
