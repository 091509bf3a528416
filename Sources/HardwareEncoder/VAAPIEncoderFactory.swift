// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
internal import HardwareDisplay
public import Logging
public import MediaTypes
package import VAAPI

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
    /// The displays that its encoders share with others; `nil` if each has its own.
    private let displays: SharedDisplays?

    /// Creates a factory.
    public init(device: String, codec: VideoCodec = .h264, logger: Logger = Logger(label: "vatoolbox.vaapi")) {
        self.init(device: device, codec: codec, logger: logger, sharing: nil)
    }

    private init(device: String, codec: VideoCodec, logger: Logger, sharing displays: SharedDisplays?) {
        self.device = device
        self.codec = codec
        self.logger = logger
        self.displays = displays
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

    /// Creates the factory for an identity, as ``init(_:logger:)``, whose encoders use displays that others use as well.
    package init?(_ identity: EncoderIdentity, sharing displays: SharedDisplays) {
        guard let device = identity.device else { return nil }
        let logger = Logger(label: "vatoolbox.vaapi")
        self.init(device: device, codec: identity.codec, logger: logger, sharing: displays)
        guard self.identity == identity else { return nil }
    }

    /// Opens the render node and creates an encoder.
    ///
    /// - Throws: `unavailable` if the device or its driver cannot be used, `unsupported` or `invalidArgument` if the
    ///   driver does not support the configuration, `creationFailed` with the call that the driver refused.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        let display = try Display(path: device, sharing: displays, logger: logger)
        switch codec {
        case .h264: return try VAAPIEncoder<H264Stream>(request, on: display, of: device, logger: logger)
        case .hevc: return try VAAPIEncoder<HEVCStream>(request, on: display, of: device, logger: logger)
        }
    }
}
