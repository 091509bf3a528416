// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// What one scripted encoder does, from its creation to its end.
package struct InstanceScript: Sendable {
    package enum Creation: String, Sendable { case succeed, fail, failPermanently, hang }

    package enum Step: String, Sendable {
        case normal
        case fail, failPermanently
        /// `encode` returns, and the failure comes as output.
        case failLater
        /// `encode` does not return before it is released; then it goes on as if nothing had happened.
        case hang
        /// From this frame on nothing comes out any more.
        case fallSilent
        /// The frame never comes out; those after it do.
        case passOver
        /// The frame comes out without data.
        case empty
        /// The frame is left out on purpose.
        case leaveOut
        case duplicate, unknownNumber
        /// A key frame comes out marked as another frame.
        case notKey
        /// The frame becomes a key frame that comes out before those that are shown before it.
        case hastyKey
    }

    package enum Drain: String, Sendable {
        case normal, fail, hang
        /// It returns, but keeps its frames.
        case keepFrames
    }

    package enum Update: String, Sendable { case inPlace, onlyByNewEncoder, refuse, fail, hang }

    package var creation = Creation.succeed
    /// By number of the call of `encode`, from 0.
    package var steps: [Int: Step] = [:]
    package var drain = Drain.normal
    package var update = Update.inPlace
    /// What it says that it honours differently after an update.
    package var updateAdjustments: [Adjustment] = []
    /// How it reorders: 0 not, 1 P before one B, 2 a pyramid of three B.
    package var reorderDepth = 0
    /// What it says about that.
    package var claimedReorderDepth: Int?
    /// Coded frames that it holds back.
    package var lookahead = 0
    package var keyFrameInterval: Int?
    package var formatID: UInt8 = 0
    package var bytesPerFrame = CodedPayload.size
    /// Whether outputs come from a thread of its own, after `encode` has returned.
    package var hasCollector = false
    package var isFailureFinal = false
    package var supportedProperties: Set<EncoderOption> = [.frameQuantizer, .forceKeyFrame]

    package init() {}

    package var groupSize: Int { [1, 2, 4][reorderDepth] }
}

/// What a scripted encoder writes as coded data, so that tests see who coded what.
package struct CodedPayload: Equatable {
    package static let size = 24

    package var instance: Int
    package var number: Int64
    package var bitRate: Int

    package func data(byteCount: Int) -> CodedData {
        CodedData(capacity: max(byteCount, Self.size)) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            for (index, value) in [Int64(instance), number, Int64(bitRate)].enumerated() {
                memory.storeBytes(of: value, toByteOffset: index * 8, as: Int64.self)
            }
            return memory.count
        }
    }

    package init(instance: Int, number: Int64, bitRate: Int) {
        self.instance = instance
        self.number = number
        self.bitRate = bitRate
    }

    package init?(_ sample: SampleBuffer) {
        guard sample.data.count >= Self.size else { return nil }
        let values = sample.data.withUnsafeBytes { bytes in
            (0..<3).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self) }
        }
        self.init(instance: Int(values[0]), number: values[1], bitRate: Int(values[2]))
    }
}
