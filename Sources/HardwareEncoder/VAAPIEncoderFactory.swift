// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import Logging
public import MediaTypes

/// Creates GPU encoders that a VA-API driver runs.
///
/// A driver is foreign code: it may crash, abort or hang. Encoders of this factory run in the process that creates
/// them.
public struct VAAPIEncoderFactory: EncoderFactory {
    /// The path of the render node, for example `/dev/dri/renderD128`.
    public let device: String
    /// The codec of the encoders.
    public let codec: VideoCodec
    /// Receives the messages of libva and the driver.
    public let logger: Logger

    /// Creates a factory.
    public init(device: String, codec: VideoCodec = .h264, logger: Logger = Logger(label: "vatoolbox.vaapi")) {
        self.device = device
        self.codec = codec
        self.logger = logger
    }

    /// The identity, for example `vaapi-h264` on `/dev/dri/renderD128`.
    public var identity: EncoderIdentity {
        EncoderIdentity(name: "vaapi-\(codec.rawValue)", codec: codec, device: device)
    }

    /// Creates the factory for an identity; `nil` if the identity is not one of a GPU encoder of this factory.
    public init?(_ identity: EncoderIdentity, logger: Logger = Logger(label: "vatoolbox.vaapi")) {
        guard let device = identity.device else { return nil }
        self.init(device: device, codec: identity.codec, logger: logger)
        guard self.identity == identity else { return nil }
    }

    /// Opens the render node and creates an encoder.
    ///
    /// - Throws: `unavailable` if the device or its driver cannot be used, `unsupported` or `invalidArgument` if the
    ///   driver does not support the configuration, `creationFailed` with the call that the driver refused.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        switch codec {
        case .h264: try VAAPIEncoder<H264Stream>(request, device: device, logger: logger)
        case .hevc: try VAAPIEncoder<HEVCStream>(request, device: device, logger: logger)
        }
    }
}
