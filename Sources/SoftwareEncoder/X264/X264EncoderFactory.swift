// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX264
public import Logging
public import MediaTypes

/// Makes H.264 encoders of the x264 library, which run on the CPU.
///
/// With the same settings they give the same pictures as the `x264` command line. What is peculiar to x264:
/// - With ten bits a quantizer means that of the H.264 specification, which is 12 less than x264's own.
/// - With eight bits the quantizer 0, or a quality below 1, is lossless coding in the profile High 4:4:4 Predictive.
/// - At a constant quantizer a single frame can have one that differs by about 3; more is refused.
/// - An encoder at work changes a quality, a limit on peaks, and an average rate that is its own limit; for other
///   changes of rate a new encoder is needed.
/// - A quantizer range does not bind a constant quantizer, from which the others are derived.
/// - Regions of interest take whole macroblocks, and adaptive quantization, which the preset ultrafast, the tuning for
///   PSNR and a constant quantizer turn off. The quantizer stays within its range, whatever they add to it.
/// - Without delay it codes as many slices as it has threads.
/// - With intra refresh each wave begins with a recovery point, and scene cuts begin no group.
/// - It has no temporal layers, no long-term references and no limit on the size of a frame.
/// - In open groups the interval of key frames is that of recovery points; IDR pictures come only when asked for.
public struct X264EncoderFactory: EncoderFactory {
    /// Takes what the library logs: its information as `debug`, its report on every frame as `trace`.
    public let logger: Logger

    /// Makes a factory.
    ///
    /// - Parameter logger: Takes what the library logs. Its level is looked at when an encoder is made.
    public init(logger: Logger = Logger(label: "vatoolbox.x264")) {
        self.logger = logger
    }

    /// `x264`, for H.264.
    public var identity: EncoderIdentity { EncoderIdentity(name: "x264", codec: .h264) }

    /// The name and version of the library, for example `x264 core 164`.
    public static var libraryName: String { "x264 core \(X264_BUILD)" }

    /// The bit depths that the library was built for.
    public static var bitDepths: [Int] { [8, 10].filter { x264_shim_has_bit_depth(Int32($0)) != 0 } }

    /// Creates an encoder by `x264_encoder_open`.
    ///
    /// - Throws: `invalidArgument` for a configuration that is not valid or contradicts itself, `unsupported` for one
    ///   that the library refuses, with the library's reason, and `creationFailed` if it gives none.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        try X264Encoder(request, logger: logger)
    }
}
