// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX264
public import Logging
public import MediaTypes

/// Makes H.264 encoders with the x264 library, which run on the CPU.
///
/// With the same settings, they produce the same pictures as the `x264` command line. Properties specific to x264:
/// - With 10 bits, a quantizer is that of the H.264 specification, which is 12 less than x264's own.
/// - With 8 bits, the quantizer 0, or a quality below 1, is lossless coding in the High 4:4:4 Predictive profile.
/// - At a constant quantizer, the quantizer of a single frame can differ by about 3; a larger difference is rejected.
/// - A running encoder can change a quality, a peak limit, and an average bitrate that is its own limit; other bitrate
///   changes require a new encoder.
/// - A quantizer range does not apply to a constant quantizer, from which the others are derived.
/// - Regions of interest affect whole macroblocks, and require adaptive quantization, which the preset `ultrafast`, the
///   tuning `psnr` and a constant quantizer disable. The quantizer stays within its range, whatever the offsets are.
/// - With low latency, it codes as many slices as it has threads.
/// - With intra refresh, each wave begins with a recovery point, and scene cuts start no group.
/// - It does not support temporal layers, long-term references and limits on the size of a frame.
/// - With open GOPs, the key-frame interval is that of recovery points; IDR pictures occur only on request.
public struct X264EncoderFactory: EncoderFactory {
    /// Receives the library's messages: its information as `debug`, its report on every frame as `trace`.
    public let logger: Logger

    /// Makes a factory.
    ///
    /// - Parameter logger: Receives the library's messages. Its level is read when an encoder is made.
    public init(logger: Logger = Logger(label: "vatoolbox.x264")) {
        self.logger = logger
    }

    /// The identity `x264` for H.264.
    public var identity: EncoderIdentity { EncoderIdentity(name: "x264", codec: .h264) }

    /// The name and version of the library, for example `x264 core 164`.
    public static var libraryName: String { "x264 core \(X264_BUILD)" }

    /// The bit depths that the library was built for.
    public static var bitDepths: [Int] { [8, 10].filter { x264_shim_has_bit_depth(Int32($0)) != 0 } }

    /// Creates an encoder with `x264_encoder_open`.
    ///
    /// - Throws: `invalidArgument` for a configuration that is invalid or contradictory, `unsupported` with the
    ///   library's reason for one that the library rejects, and `creationFailed` if it reports no reason.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        try X264Encoder(request, logger: logger)
    }
}
