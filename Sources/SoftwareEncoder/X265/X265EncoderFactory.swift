// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
public import MediaTypes

/// Makes HEVC encoders of the x265 library, which run on the CPU.
///
/// With the same settings they give the same pictures as the `x265` command line. What is peculiar to x265:
/// - It logs to standard error only, so it is told to log nothing; what it refuses it refuses without a reason.
/// - An encoder at work changes nothing: x265 3.5 takes other rates and ignores them. A change needs a new encoder.
/// - It counts frames: with a variable frame rate the nominal rate decides what a frame may cost.
/// - A quantizer is that of the specification for every bit depth, and 0 is not lossless.
/// - A picture has at least 16x16 samples.
/// - Regions of interest take whole blocks of 16x16, and adaptive quantization, which a constant quantizer turns off, and
///   the preset ultrafast without delay.
/// - Without delay a picture is one slice.
/// - With intra refresh no message tells where a wave begins.
/// - Captions are put into its access units afterwards, and its rate control does not count them.
/// - A stream of key frames only is of the profiles Main Intra, Main 10 Intra and their like.
/// - 4:2:2 of 8 bits is of the profile Main 4:2:2 10.
/// - The processor's instructions are chosen once in a process, by the first encoder of a bit depth. The streams do not
///   depend on them.
/// - It has no temporal layers of its own choice, no long-term references and no limit on the size of a frame.
/// - In open groups the interval of key frames is that of CRA pictures, which do not count as key frames. Those that are
///   asked for are CRA pictures as well, without any that are shown before them and decoded after them.
public struct X265EncoderFactory: EncoderFactory {
    /// Makes a factory.
    public init() {}

    /// `x265`, for HEVC.
    public var identity: EncoderIdentity { EncoderIdentity(name: "x265", codec: .hevc) }

    /// The name and version of the library, for example `x265 3.5`.
    public static var libraryName: String {
        let version = bitDepths.first.flatMap { X265Library(bitDepth: $0)?.version }
        return version.map { "x265 \($0)" } ?? "x265"
    }

    /// The bit depths, of those that this package encodes, that the library was built for.
    public static var bitDepths: [Int] { [8, 10, 12].filter { X265Library(bitDepth: $0) != nil } }

    /// Creates an encoder by `x265_encoder_open`.
    ///
    /// - Throws: `invalidArgument` for a configuration that is not valid or contradicts itself, `unsupported` for one
    ///   that the library refuses.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        try X265Encoder(request)
    }
}
