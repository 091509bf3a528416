// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
public import MediaTypes

/// Makes HEVC encoders with the x265 library, which run on the CPU.
///
/// With the same settings, they produce the same pictures as the `x265` command line. Properties specific to x265:
/// - It logs only to standard error, so its log is disabled; it rejects parameters without a reason.
/// - A running encoder cannot change: x265 3.5 accepts other bitrates and ignores them. A change requires a new
///   encoder.
/// - It counts frames: with a variable frame rate, the nominal rate determines the bits of a frame.
/// - A quantizer is that of the specification for every bit depth, and 0 is not lossless.
/// - The minimum picture size is 16x16 samples.
/// - Regions of interest affect whole blocks of 16x16, and require adaptive quantization, which a constant quantizer
///   disables, and so does the preset `ultrafast` with low latency.
/// - With low latency, a picture is one slice.
/// - With intra refresh, no message marks the start of a wave.
/// - Captions are inserted into its access units afterwards, and its rate control does not count them.
/// - A stream of key frames only has the profile Main Intra, Main 10 Intra, and so on.
/// - 8-bit 4:2:2 has the profile Main 4:2:2 10.
/// - The processor's instructions are selected once per process, by the first encoder of a bit depth. The streams do
///   not depend on them.
/// - It does not support a choice of temporal layers, long-term references and limits on the size of a frame.
/// - With open GOPs, the key-frame interval is that of CRA pictures, which do not count as key frames. Requested key
///   frames are CRA pictures as well, without pictures that are shown before them and decoded after them.
public struct X265EncoderFactory: EncoderFactory {
    /// Makes a factory.
    public init() {}

    /// The identity `x265` for HEVC.
    public var identity: EncoderIdentity { EncoderIdentity(name: "x265", codec: .hevc) }

    /// The name and version of the library, for example `x265 3.5`.
    public static var libraryName: String {
        let version = bitDepths.first.flatMap { X265Library(bitDepth: $0)?.version }
        return version.map { "x265 \($0)" } ?? "x265"
    }

    /// The bit depths that the library was built for, out of those that this package encodes.
    public static var bitDepths: [Int] { [8, 10, 12].filter { X265Library(bitDepth: $0) != nil } }

    /// Creates an encoder with `x265_encoder_open`.
    ///
    /// - Throws: `invalidArgument` for a configuration that is invalid or contradictory, `unsupported` for one that the
    ///   library rejects.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        try X265Encoder(request)
    }
}
