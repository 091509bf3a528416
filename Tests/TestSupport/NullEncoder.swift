// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
package import MediaTypes

extension EncoderProperties {
    /// An encoder of H.264 that takes NV12, reorders nothing, and honours no option.
    ///
    /// - Parameters:
    ///   - name: What it is called.
    ///   - configuration: What it was asked for, of which it has the size.
    package static func bare(
        _ name: String,
        _ configuration: EncoderConfiguration,
        isFailureFinal: Bool = false
    ) -> EncoderProperties {
        EncoderProperties(
            name: name,
            profile: "none",
            level: "none",
            reorderDepth: 0,
            maximumDelay: 0,
            isFailureFinal: isFailureFinal,
            pixelFormats: [.nv12],
            supportedProperties: [],
            formatDescription: FormatDescription(
                codec: .h264,
                width: configuration.width,
                height: configuration.height,
                parameterSets: [[0x67]]
            )
        )
    }
}

/// Makes encoders that give back a small coded frame at once, so that nothing but the way of a frame takes time.
package struct NullFactory: EncoderFactory {
    package init() {}

    package var identity: EncoderIdentity { EncoderIdentity(name: "null", codec: .h264) }

    package func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        NullEncoder(request)
    }
}

/// Reads one byte of the picture and gives back a kilobyte.
private final class NullEncoder: EncoderBackend {
    private static let byteCount = 1024

    let properties: EncoderProperties
    private let request: EncoderRequest
    private var isFirst = true

    init(_ request: EncoderRequest) {
        self.request = request
        properties = .bare("null", request.configuration)
    }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        let first = try frame.buffer.withPlanes { planes in planes[0].baseAddress.load(as: UInt8.self) }
        let data = CodedData(capacity: Self.byteCount) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: first)
            return Self.byteCount
        }
        let coded = CodedFrame(number: frame.number, data: data, isKeyFrame: isFirst, isReference: true)
        isFirst = false
        request.output(.coded(coded))
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome { .done() }

    func drain() throws(MediaError) {}
}
