// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

/// Makes encoders that give back a small coded frame at once, so that nothing but the way of a frame takes time.
struct NullFactory: EncoderFactory {
    var identity: EncoderIdentity { EncoderIdentity(name: "null", codec: .h264) }

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend { NullEncoder(request) }
}

/// Reads one byte of the picture and gives back a kilobyte.
final class NullEncoder: EncoderBackend {
    private static let byteCount = 1024

    let properties: EncoderProperties
    private let request: EncoderRequest
    private var isFirst = true

    init(_ request: EncoderRequest) {
        self.request = request
        properties = EncoderProperties(
            name: "null",
            profile: "none",
            level: "none",
            reorderDepth: 0,
            maximumDelay: 0,
            pixelFormats: [.nv12],
            supportedProperties: [],
            formatDescription: FormatDescription(
                codec: .h264,
                width: request.configuration.width,
                height: request.configuration.height,
                parameterSets: [[0x67]]
            )
        )
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
