// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import Logging
public import MediaTypes
internal import VideoDecoding

/// Creates decoders that run on a GPU: libavcodec parses the stream, and a VA-API driver decodes the slices.
///
/// A driver is foreign code: it may crash, abort or hang. Decoders of this factory run in the process that creates
/// them.
///
/// **Streams.** 8-bit 4:2:0 of H.264, and 8- and 10-bit 4:2:0 of HEVC, as far as the driver supports the profile and the
/// size. All others are refused; nothing is decoded on the CPU instead.
///
/// **Pictures.** They are copied from surfaces into memory, as NV12 or P010.
public struct VAAPIDecoderFactory: DecoderFactory {
    /// The path of the render node, for example `/dev/dri/renderD128`.
    public let device: String
    /// The codec of the decoders.
    public let codec: VideoCodec
    /// Receives the messages of libva, the driver and libavcodec.
    public let logger: Logger

    /// Creates a factory.
    public init(device: String, codec: VideoCodec, logger: Logger = Logger(label: "vatoolbox.vaapi")) {
        self.device = device
        self.codec = codec
        self.logger = logger
    }

    /// The identity, for example `vaapi-h264` on `/dev/dri/renderD128`.
    public var identity: DecoderIdentity {
        DecoderIdentity(name: "vaapi-\(codec.rawValue)", codec: codec, device: device)
    }

    /// Creates the factory for an identity; `nil` if the identity is not one of a GPU decoder of this factory.
    public init?(_ identity: DecoderIdentity, logger: Logger = Logger(label: "vatoolbox.vaapi")) {
        guard let device = identity.device else { return nil }
        self.init(device: device, codec: identity.codec, logger: logger)
        guard self.identity == identity else { return nil }
    }

    /// Opens the render node and creates a decoder. The driver creates its context with the first sample, and can still
    /// refuse the stream then.
    ///
    /// - Throws: `unavailable` if the device or its driver cannot be used; `unsupported` if the driver does not decode
    ///   the profile, bit depth or chroma format; `invalidArgument` for another codec; `malformedData` if the parameter
    ///   sets cannot be parsed; `creationFailed` with the call that the driver refused.
    public func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
        try request.check(codec)
        let platform = try VAAPIPlatform(device: device, logger: logger)
        return try LibraryDecoder(request, on: platform, logger: logger)
    }
}
