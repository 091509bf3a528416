// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import PixelConversion

// MARK: - Invalid frames

extension SessionMachine {
    func refusal(of frame: EncoderFrame) -> MediaError? {
        refusal(of: frame.presentationTime) ?? refusal(of: frame.options) ?? refusal(of: frame.buffer)
    }

    private func refusal(of time: MediaTime) -> MediaError? {
        guard time.isValid, assembler?.canBegin(at: time) != false else {
            return MediaError(.invalidArgument, "the presentation time is out of range", given: "\(time)")
        }
        guard let last = waiting.last?.frame.presentationTime ?? lastAcceptedTime, time <= last else { return nil }
        return MediaError(
            .invalidArgument,
            "presentation times must increase",
            given: "\(time)",
            allowed: "above \(last)"
        )
    }

    private func refusal(of options: FrameOptions) -> MediaError? {
        refusal(ofQuantizer: options.quantizer) ?? refusal(ofLongTermReference: options.longTermReference)
            ?? refusal(ofReportedTimes: options) ?? refusalByTheEncoder(of: options)
    }

    private func refusal(ofQuantizer quantizer: Int?) -> MediaError? {
        let allowed = configuration.quantizerRange ?? EncoderConfiguration.allowedQuantizers
        guard let quantizer, !allowed.contains(quantizer) else { return nil }
        return MediaError(.invalidArgument, "quantizer is out of range", given: "\(quantizer)", allowed: "\(allowed)")
    }

    private func refusal(ofLongTermReference index: Int?) -> MediaError? {
        let count = configuration.longTermReferences
        guard let index, !(0..<count).contains(index) else { return nil }
        return MediaError(
            .invalidArgument,
            "index of a long-term reference is out of range",
            given: "\(index)",
            allowed: count > 0 ? "0...\(count - 1)" : "none, because the configuration has no long-term references"
        )
    }

    private func refusal(ofReportedTimes options: FrameOptions) -> MediaError? {
        let times = [options.lostFrames?.lowerBound, options.lostFrames?.upperBound, options.decodedFrame]
        guard let time = times.compactMap(\.self).first(where: { !$0.isValid }) else { return nil }
        return MediaError(
            .invalidArgument,
            "the presentation time in a report of a lost or decoded frame is out of range",
            given: "\(time)",
            allowed: "valid times"
        )
    }

    private func refusal(of buffer: PixelBuffer) -> MediaError? {
        guard buffer.isMapped else {
            return MediaError(
                .unsupported,
                "the encoder needs pictures in memory that the CPU can access",
                given: buffer.storage.name,
                allowed: "owned, caller-owned or shared memory, a file, or a linear DMA-BUF"
            )
        }
        let formats = encoder?.properties.pixelFormats ?? []
        guard let target = FrameAdapter.target(for: buffer.format, configuration(adopting: buffer), formats)
        else { return nil }
        return PixelConverter.refusal(of: buffer.pictureDescription, for: target)
    }
}

// MARK: - Unsupported frame options

/// An option of a single frame that not every encoder supports.
private struct FrameWish: Sendable {
    let option: EncoderOption
    /// The name of the option in the message that the encoder does not support it.
    let name: String
    /// Returns the requested value; `nil` if the option is not set.
    let value: @Sendable (FrameOptions) -> String?
    let remove: @Sendable (inout FrameOptions) -> Void

    static let all = [
        FrameWish(
            option: .frameQuantizer,
            name: "quantizers per frame",
            value: { options in options.quantizer.map { "\($0)" } },
            remove: { $0.quantizer = nil }
        ),
        FrameWish(
            option: .longTermReferences,
            name: "long-term references",
            value: { options in options.longTermReference.map { "\($0)" } },
            remove: { $0.longTermReference = nil }
        ),
        FrameWish(
            option: .lossReports,
            name: "reports of lost or decoded frames",
            value: { options in
                options.lostFrames.map { "lost \($0)" } ?? options.decodedFrame.map { "decoded \($0)" }
            },
            remove: { options in
                options.lostFrames = nil
                options.decodedFrame = nil
            }
        ),
    ]
}

extension SessionMachine {
    private func isHonoured(_ option: EncoderOption) -> Bool {
        encoder?.properties.supportedProperties.contains(option) == true
    }

    private func refusalByTheEncoder(of options: FrameOptions) -> MediaError? {
        for wish in FrameWish.all where !isHonoured(wish.option) {
            guard let given = wish.value(options) else { continue }
            return MediaError(.unsupported, "the encoder does not support \(wish.name)", given: given, allowed: "none")
        }
        return nil
    }

    /// Removes options that the encoder does not support from a frame that was accepted for another encoder, and
    /// reports each once.
    mutating func dropWishes(_ options: inout FrameOptions) {
        for wish in FrameWish.all where !isHonoured(wish.option) && wish.value(options) != nil {
            wish.remove(&options)
            reportMissing(wish.option, wish.name, of: "frames")
        }
    }
}
