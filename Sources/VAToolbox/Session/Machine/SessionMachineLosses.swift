// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

// MARK: - Losses

extension SessionMachine {
    /// The colour properties of a picture that are never converted.
    struct Colorimetry: Equatable, CustomStringConvertible {
        var primaries: ColorDescription.Primaries
        var transfer: ColorDescription.Transfer

        /// Unspecified properties come from `fallback`.
        init(_ color: ColorDescription, else fallback: ColorDescription = .unspecified) {
            primaries = color.primaries == .unspecified ? fallback.primaries : color.primaries
            transfer = color.transfer == .unspecified ? fallback.transfer : color.transfer
        }

        var description: String { "primaries \(primaries.rawValue), transfer \(transfer.rawValue)" }
    }

    /// Reports picture properties that the stream does not carry.
    mutating func reportLosses(of buffer: PixelBuffer) {
        reportColor(buffer.color)
        let attachments = buffer.attachments
        if !attachments.captions.isEmpty { reportMissing(.captions, "captions") }
        if !attachments.regionsOfInterest.isEmpty { reportMissing(.regionsOfInterest, "regions of interest") }
    }

    private mutating func reportColor(_ color: ColorDescription) {
        let streamColor = configuration.color ?? .unspecified
        let stream = Colorimetry(streamColor)
        let picture = Colorimetry(color, else: streamColor)
        defer { lastColorimetry = picture }
        guard picture != lastColorimetry ?? stream, picture != stream else { return }
        let adjustment = Adjustment(
            property: "color",
            requested: "\(picture)",
            used: "\(stream)",
            reason: "a stream has one colour description; primaries and transfer characteristics are not converted"
        )
        actions.append(.report(.adjusted(adjustment)))
    }

    /// Reports once that the encoder does not support an option.
    ///
    /// - Parameter source: The source of the request.
    mutating func reportMissing(_ option: EncoderOption, _ property: String, of source: String = "pictures") {
        guard let encoder, !encoder.properties.supportedProperties.contains(option),
            reportedLosses.insert(option).inserted
        else { return }
        let adjustment = Adjustment(
            property: property,
            requested: "those of the \(source)",
            used: "none",
            reason: "\(encoder.identity) does not support them"
        )
        actions.append(.report(.adjusted(adjustment)))
    }
}
