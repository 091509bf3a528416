// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
internal import CFFmpeg
public import Logging
public import MediaTypes

/// Creates decoders that run on the CPU, with libavcodec.
///
/// **Pictures.** They have the size, colour description, pixel aspect ratio, HDR metadata and captions of the stream.
/// Their samples stay in libavcodec's memory, except that 10-bit 4:2:0 is copied into P010, monochrome into 4:2:0, and
/// 8-bit red, green and blue into BGRA.
///
/// **Threads.** Several samples are decoded at a time, so that pictures come later by as many samples. With low latency,
/// only the slices of one sample are decoded at a time.
///
/// **Film grain.** The pictures are those of the decoding process, as on a GPU: without the film grain that an SEI message
/// may suggest. `ffmpeg` adds it by default, and not with `-export_side_data film_grain`.
///
/// **Damage.** Damaged parts are concealed. Damage is reported as far as libavcodec notices it.
public struct SoftwareDecoderFactory: DecoderFactory {
    /// The codec of the decoders.
    public let codec: VideoCodec
    /// Receives libavcodec's messages; `nil` leaves them to `MediaLog.logger`.
    public let logger: Logger?

    /// Creates a factory.
    public init(codec: VideoCodec, logger: Logger? = nil) {
        self.codec = codec
        self.logger = logger
    }

    /// The identity: `libavcodec`.
    public var identity: DecoderIdentity { DecoderIdentity(name: "libavcodec", codec: codec) }

    /// Creates a decoder.
    ///
    /// - Throws: `invalidArgument` for another codec; `unsupported` if libavcodec has no decoder or refuses the format;
    ///   `malformedData` if the parameter sets cannot be parsed; `outOfMemory`.
    public func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
        try request.check(codec)
        return try LibraryDecoder(request, on: ProcessorPlatform(request), logger: logger)
    }
}

/// The CPU.
private final class ProcessorPlatform: DecodingPlatform {
    private let isLowLatency: Bool
    private let threadCount: Int
    private let pictures = FramePictures()

    init(_ request: DecoderRequest) {
        isLowLatency = request.isLowLatency
        threadCount = request.threadCount
    }

    var name: String { libraryName }
    var copiedPictures: Int { pictures.copies }

    func prepare(_ context: UnsafeMutableRawPointer, for format: FormatDescription) {
        let context = context.assumingMemoryBound(to: AVCodecContext.self)
        context.pointee.thread_count = Int32(clamping: max(threadCount, 0))
        context.pointee.thread_type = isLowLatency ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE
    }

    func picture(of frame: FrameReference, _ properties: FrameProperties) throws(MediaError) -> PixelBuffer {
        try pictures.picture(of: frame, properties)
    }

    func failure(_ status: Int32) -> MediaError? { nil }
}

/// The name and version of the library, for example `libavcodec 59.37.100`.
package var libraryName: String {
    let version = avcodec_version()
    return "libavcodec \(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF)"
}
