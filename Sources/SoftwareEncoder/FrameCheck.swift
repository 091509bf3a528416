// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension EncoderFrame {
    /// Rejects frames that a library does not support.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the encoder.
    ///   - library: The name of the library for messages.
    ///   - formats: The supported pixel formats.
    ///   - quantizers: The supported quantizers of a single frame.
    /// - Throws: `invalidArgument`.
    func check(
        _ configuration: EncoderConfiguration,
        library: String,
        formats: [PixelFormat],
        quantizers: ClosedRange<Int>
    ) throws(MediaError) {
        guard formats.contains(buffer.format) else {
            throw MediaError(
                .invalidArgument,
                "\(library) does not support this pixel format with \(configuration.bitDepth) bits",
                given: buffer.format.rawValue,
                allowed: formats.map(\.rawValue).joined(separator: ", ")
            )
        }
        guard buffer.width == configuration.width, buffer.height == configuration.height else {
            throw MediaError(
                .invalidArgument,
                "the picture's size differs from the video's",
                given: "\(buffer.width)x\(buffer.height)",
                allowed: "\(configuration.width)x\(configuration.height)"
            )
        }
        if let quantizer = options.quantizer, !quantizers.contains(quantizer) {
            throw MediaError(
                .invalidArgument,
                "quantizer is out of range",
                given: "\(quantizer)",
                allowed: "\(quantizers.lowerBound)...\(quantizers.upperBound)"
            )
        }
    }
}
