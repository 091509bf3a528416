// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// Decoded pictures on a GPU that cannot be encoded where they are: the GPU copies them, until an encoder fails.
@Suite(.timeLimit(.minutes(60))) struct DeviceCopyTests {
    private final class Surface: DeviceSurface {
        let device = "/dev/dri/renderD128"
        var isReadable: Bool { true }
        func copy(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer { try PixelBuffer(picture) }
    }

    /// Encoders of which the first fails at its third frame.
    private struct Factory: EncoderFactory {
        let identity = EncoderIdentity(name: "copying", codec: .h264)
        let requests: Requests

        func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
            let attempt = requests.add(request.copiesOnDevice)
            var script = InstanceScript()
            if attempt == 0 { script.steps = [2: .fail] }
            return try ScriptedEncoder.make(attempt, attempt: attempt, script, request, Witness())
        }
    }

    private struct Witness: EncoderWitness {
        func note(_ call: ScriptedCall) {}
        func born() {}
        func died() {}
        func hang() {}
    }

    /// Whether each encoder may have its device copy pictures.
    private final class Requests: Sendable {
        let copies = Mutex<[Bool]>([])
        func add(_ copiesOnDevice: Bool) -> Int {
            copies.withLock { copies in
                copies.append(copiesOnDevice)
                return copies.count - 1
            }
        }
    }

    @Test(arguments: [(true, [true, false]), (false, [true, true])])
    func theyAreLeftToTheCPUAfterAFailure(isOnDevice: Bool, expected: [Bool]) async throws {
        let requests = Requests()
        let shape = Shape(reorderDepth: 0, isVariable: false)
        let session = try await CompressionSession(
            configuration: shape.configuration,
            options: .init(),
            selection: EncoderSelection(candidates: [.init(factory: Factory(requests: requests), reason: "a test")])
        )
        let consumer = Task { [samples = session.samples] in await Consumed(samples) }
        let description = PixelBuffer.Description(format: .nv12, width: 16, height: 16)
        for index in 0..<6 {
            let picture = try isOnDevice ? PixelBuffer(description, surface: Surface()) : PixelBuffer(description)
            try await session.encode(picture, presentationTime: shape.time(index).presentation, token: index)
        }
        try await session.finish()
        #expect(await consumer.value.samples.count == 6)
        #expect(requests.copies.withLock { $0 } == expected)
    }
}
