// SPDX-License-Identifier: GPL-2.0-or-later

import Benchmark
import BitstreamSyntax
import EncoderIPC
import MediaTypes
import SoftwareEncoder
import VAToolbox

/// The way of a frame through a session: with an encoder that does nothing, and with a small one here and in a helper,
/// whose difference is what isolation costs.
func addSessions() {
    Benchmark("session: create and finish, with an encoder that does nothing") { _ in
        try await run(NullFactory(), frames: 0)
    }
    Benchmark("session: 100 frames, with an encoder that does nothing") { _ in
        try await run(NullFactory(), frames: 100)
    }
    Benchmark("isolation: 100 frames of 64x64, x264 in this process") { _ in
        try await run(X264EncoderFactory(), frames: 100)
    }
    // Its program is built by `swift build -c release --product vatoolbox-helper`; VATOOLBOX_HELPER may name it.
    guard (try? HelperLocation.find()) != nil else {
        print("no vatoolbox-helper was found: isolation is measured in this process only")
        return
    }
    Benchmark("isolation: 100 frames of 64x64, x264 in a helper") { _ in
        try await run(RemoteEncoderFactory(X264EncoderFactory().identity, pool: .standard), frames: 100)
    }
}

private func run(_ factory: any EncoderFactory, frames: Int) async throws {
    var configuration = EncoderConfiguration(width: 64, height: 64)
    configuration.codec = .h264
    configuration.isLowLatency = true
    configuration.software.preset = .ultrafast
    configuration.software.threads = 1
    let session = try await CompressionSession(
        configuration: configuration,
        selection: EncoderSelection(candidates: [.init(factory: factory, reason: "it is measured")])
    )
    let consumer = Task { [samples = session.samples] in
        var count = 0
        for try await _ in samples { count += 1 }
        return count
    }
    for number in 0..<frames {
        let buffer = try session.pixelBufferPool.make()
        try await session.encode(buffer, presentationTime: MediaTime(value: Int64(number), timescale: 30))
    }
    try await session.finish()
    guard try await consumer.value == frames else { throw MediaError(.invalidState, "frames were lost") }
}

/// Makes encoders that give back a coded frame of one byte at once.
private struct NullFactory: EncoderFactory {
    var identity: EncoderIdentity { EncoderIdentity(name: "null", codec: .h264) }

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend { NullEncoder(request) }
}

private final class NullEncoder: EncoderBackend {
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
        let data = CodedData(capacity: 1) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0x65)
            return 1
        }
        let coded = CodedFrame(number: frame.number, data: data, isKeyFrame: isFirst, isReference: true)
        isFirst = false
        request.output(.coded(coded))
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome { .done() }

    func drain() throws(MediaError) {}
}
