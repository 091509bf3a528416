// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
internal import HardwareDisplay
public import Logging
public import MediaTypes
package import VAAPI
internal import VideoDecoding

/// Creates decoders that run on a GPU: libavcodec parses the stream, and a VA-API driver decodes the slices.
///
/// A driver is foreign code: it may crash, abort or hang. Decoders of this factory run in the process that creates
/// them.
///
/// **Streams.** 8-bit 4:2:0 of H.264, and 8- and 10-bit 4:2:0 of HEVC, as far as the driver supports the profile and the
/// size. All others are refused; nothing is decoded on the CPU instead.
///
/// **Pictures.** They are copied from surfaces into memory, as NV12 or P010, unless
/// ``MediaTypes/DecoderRequest/devicePictureLimit`` asks for pictures that stay in their surfaces.
public struct VAAPIDecoderFactory: DecoderFactory {
    /// The path of the render node, for example `/dev/dri/renderD128`.
    public let device: String
    /// The codec of the decoders.
    public let codec: VideoCodec
    /// Receives the messages of libva, the driver and libavcodec.
    public let logger: Logger
    /// The displays that its decoders share with others; `nil` if each has its own.
    private let displays: SharedDisplays?

    /// Creates a factory.
    public init(device: String, codec: VideoCodec, logger: Logger = Logger(label: "vatoolbox.vaapi")) {
        self.init(device: device, codec: codec, logger: logger, sharing: nil)
    }

    private init(device: String, codec: VideoCodec, logger: Logger, sharing displays: SharedDisplays?) {
        self.device = device
        self.codec = codec
        self.logger = logger
        self.displays = displays
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

    /// Creates the factory for an identity, as ``init(_:logger:)``, whose decoders use displays that others use as well.
    package init?(_ identity: DecoderIdentity, sharing displays: SharedDisplays) {
        guard let device = identity.device else { return nil }
        let logger = Logger(label: "vatoolbox.vaapi")
        self.init(device: device, codec: identity.codec, logger: logger, sharing: displays)
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
        let display = try Display(path: device, sharing: displays, logger: logger)
        let platform = try VAAPIPlatform(
            display,
            of: device,
            devicePictures: request.devicePictureLimit,
            logger: logger
        )
        return try LibraryDecoder(request, on: platform, logger: logger)
    }
}
