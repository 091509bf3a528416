// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import Logging
public import MediaTypes

/// Makes encoders of a GPU, which its VA-API driver runs.
///
/// A driver is foreign code: it may crash, abort or hang. Encoders of this factory work in the process that makes them.
public struct VAAPIEncoderFactory: EncoderFactory {
    /// The path of the render node, for example `/dev/dri/renderD128`.
    public let device: String
    /// What it encodes to.
    public let codec: VideoCodec
    /// Takes what libva and the driver say.
    public let logger: Logger

    /// Makes a factory.
    public init(device: String, codec: VideoCodec = .h264, logger: Logger = Logger(label: "vatoolbox.vaapi")) {
        self.device = device
        self.codec = codec
        self.logger = logger
    }

    /// For example `vaapi-h264` on `/dev/dri/renderD128`.
    public var identity: EncoderIdentity {
        EncoderIdentity(name: "vaapi-\(codec.rawValue)", codec: codec, device: device)
    }

    /// The factory of the encoder that an identity names; `nil` if it names none of these.
    public init?(_ identity: EncoderIdentity, logger: Logger = Logger(label: "vatoolbox.vaapi")) {
        guard let device = identity.device else { return nil }
        self.init(device: device, codec: identity.codec, logger: logger)
        guard self.identity == identity else { return nil }
    }

    /// Opens the render node and creates an encoder.
    ///
    /// - Throws: `unavailable` if the device or its driver cannot be used, `unsupported` or `invalidArgument` for what the
    ///   driver does not encode, `creationFailed` with the call that the driver refused.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        switch codec {
        case .h264: try VAAPIEncoder<H264Stream>(request, device: device, logger: logger)
        case .hevc: try VAAPIEncoder<HEVCStream>(request, device: device, logger: logger)
        }
    }
}
