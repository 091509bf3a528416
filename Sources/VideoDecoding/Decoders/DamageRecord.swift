// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The samples that libavcodec has complained about.
///
/// libavcodec logs an error for all damage that it finds, but reports only a part of it otherwise. It conceals H.264
/// errors, and with frame threads the frame's flags are set too late for a picture that is reordered. It ignores errors
/// in HEVC slices, unless it is told to reject the sample (`AV_EF_EXPLODE`): then up to version 7.0, it also loses an
/// intact picture that was due at the same time.
final class DamageRecord: Sendable {
    private struct State {
        /// The samples since the last call of ``takeNew(upTo:)``, in the order of the complaints, each with the first one.
        var new: [(tag: UInt32, message: String)] = []
        var known: Set<UInt32> = []
        /// The known samples in the order of their first complaints; the oldest one is replaced.
        var order: [UInt32] = []
        var oldest = 0
        var isListening = false
        var failure: MediaError?
    }

    /// The number of damaged samples that are remembered, the latest ones.
    private static let limit = 1024

    private let state = Mutex(State())

    /// Returns the tag of a sample in libavcodec's messages.
    static func tag(_ number: Int64) -> UInt32 { UInt32(truncatingIfNeeded: number) }

    /// Registers messages from now on: those before the first sample are about parameter sets.
    func listen() { state.withLock { $0.isListening = true } }

    /// What libavcodec logs as an error although no picture is affected: a reference that is to be given up does not exist,
    /// as after a start at a random access point of an open GOP. A picture that needs it has messages of its own.
    private static let harmless = ["mmco: unref short failure"]

    /// Registers a message about a sample.
    func note(_ tag: UInt32, _ message: String) {
        if Self.harmless.contains(where: message.hasPrefix) { return }
        state.withLock { state in
            guard state.isListening else { return }
            guard state.known.insert(tag).inserted else { return }
            state.new.append((tag, message))
            if state.order.count < Self.limit {
                state.order.append(tag)
            } else {
                state.known.remove(state.order[state.oldest])
                state.order[state.oldest] = tag
                state.oldest = (state.oldest + 1) % Self.limit
            }
        }
    }

    /// Registers an error of the decoder itself.
    func fail(_ error: MediaError) { state.withLock { $0.failure = $0.failure ?? error } }

    /// Throws the error of the decoder itself, if there is one.
    func checkFailure() throws(MediaError) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Returns whether a sample is damaged.
    func contains(_ number: Int64) -> Bool { state.withLock { $0.known.contains(Self.tag(number)) } }

    /// Returns the damaged samples since the last call.
    ///
    /// - Parameter latest: The number of the latest sample.
    func takeNew(upTo latest: Int64) -> [(number: Int64, error: MediaError)] {
        let new = state.withLock { state in
            defer { state.new = [] }
            return state.new
        }
        return new.map { tag, message in
            let distance = Int32(truncatingIfNeeded: Int64(Self.tag(latest)) - Int64(tag))
            return (latest - Int64(distance), MediaError(.malformedData, "the sample is damaged: \(message)"))
        }
    }
}
