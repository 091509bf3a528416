// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
import MediaTypes
import Synchronization
import VideoDecoding

/// The samples of a session, and the way of their frames from the decoder to the consumer. Safe to use on any thread.
///
/// What a decoder returns goes to the consumer at once, on the thread on which the decoder returns it, even while the
/// session's thread is inside a call of that decoder. A decoder in a helper process has memory for a few pictures only: a
/// call that returns more of them ends because the consumer, or the session itself, releases the first ones meanwhile.
final class FrameDelivery: Sendable {
    /// What is known about the samples and their decoder.
    struct State {
        var window: DecodingWindow
        var attempts: DecoderAttempts
        /// The samples of frames on a GPU; `nil` if all frames are in memory.
        var repeatable: RepeatableSamples?
        /// Whether it was reported that a frame does not stay on a GPU.
        fileprivate var hasReportedCopies = false
        var statistics = DecompressionStatistics()
        /// The decoder whose output counts; that of all others is ignored.
        fileprivate var decoder: Int?
        /// Called with its first picture.
        fileprivate var onFirstPicture: (@Sendable () -> Void)?
        /// Whether this decoder has failed. Pictures that it returns afterwards would come too early.
        fileprivate var hasFailed = false
        /// The failure that this decoder has reported, until the session's thread takes it.
        fileprivate var failure: MediaError?
        /// Whether the session's thread will look for a failure anyway.
        fileprivate var isAttended = false
    }

    private let state: Mutex<State>
    private let queue: SampleQueue<DecodedFrame>
    /// Called under the lock, so that events come in the order of the frames.
    private let report: @Sendable (DecompressionEvent) -> Void

    init(
        options: DecompressionOptions,
        queue: SampleQueue<DecodedFrame>,
        report: @escaping @Sendable (DecompressionEvent) -> Void
    ) {
        state = Mutex(
            State(
                window: DecodingWindow(mostBytes: options.replayByteLimit),
                attempts: DecoderAttempts(creations: options.creationAttempts, failures: options.consecutiveFailures),
                repeatable: options.devicePictureLimit > 0
                    ? RepeatableSamples(mostBytes: options.replayByteLimit) { [logger = options.logger] codec in
                        SoftwareDecoderFactory(codec: codec, logger: logger)
                    } : nil
            )
        )
        self.queue = queue
        self.report = report
    }

    /// The counters of the session.
    var statistics: DecompressionStatistics { state.withLock { $0.statistics } }

    /// Reads or changes the state. No decoder may be called or released meanwhile.
    func update<Result: Sendable>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

    // MARK: - Decoders

    /// Begins to take the output of a decoder, and ignores that of the decoder before.
    ///
    /// - Parameter onFirstPicture: Called under the lock; must not block.
    func begin(_ decoder: Int, onFirstPicture: @escaping @Sendable () -> Void = {}) {
        state.withLock { state in
            (state.decoder, state.failure, state.isAttended) = (decoder, nil, false)
            state.hasFailed = false
            state.onFirstPicture = onFirstPicture
        }
    }

    /// Ignores all further output.
    func end() { state.withLock { state in (state.decoder, state.failure, state.isAttended) = (nil, nil, false) } }

    /// Announces that the session's thread will call ``leave()``.
    ///
    /// - Returns: The failure that the decoder has already reported.
    func enter() -> MediaError? {
        state.withLock { state in
            state.isAttended = true
            return state.failure.take()
        }
    }

    /// Returns the failure that the decoder has reported. From now on, the session's thread is told of one.
    func leave() -> MediaError? {
        state.withLock { state in
            state.isAttended = false
            return state.failure.take()
        }
    }

    /// Handles the output of a decoder. A picture that could not be decoded again if its GPU were lost is copied to memory
    /// first, on the thread of the decoder.
    ///
    /// - Returns: Whether the session's thread has to be told that the decoder has failed.
    func receive(_ output: DecoderOutput, from decoder: Int) -> Bool {
        // A picture that is not passed on is released by the caller, which is after the lock.
        let endangered = state.withLock { state -> Endangered? in
            guard case .picture(let picture) = output, state.decoder == decoder, !state.hasFailed else { return nil }
            return state.endangered(picture)
        }
        var output = output
        if let endangered {
            do throws(MediaError) { output = .picture(try endangered.copy()) } catch { output = .failed(error) }
        }
        return state.withLock { state in
            guard state.decoder == decoder else { return false }
            if let endangered { report(endangered, &state) }
            switch output {
            case .picture(let picture): if !state.hasFailed { take(picture, &state) }
            case .damaged(let number, let error): noteDamage(number, error, &state)
            case .failed(let error):
                state.hasFailed = true
                state.failure = state.failure ?? error
                return !state.isAttended
            }
            return false
        }
    }

    private func report(_ endangered: Endangered, _ state: inout State) {
        guard !state.hasReportedCopies else { return }
        state.hasReportedCopies = true
        report(.copiedFromDevice(presentationTime: endangered.presentationTime, endangered.reason))
    }

    private func take(_ picture: DecodedPicture, _ state: inout State) {
        let result = state.window.returned(picture.number, isDamaged: picture.isDamaged)
        noteMissing(result.missing, &state)
        guard let entry = result.entry else { return }
        if result.wasMissing { state.statistics.samplesWithoutFrame -= 1 }
        state.attempts.returnedFrame()
        state.onFirstPicture.take()?()
        guard entry.isShown else {
            state.statistics.hiddenFrames += 1
            return
        }
        state.statistics.returnedFrames += 1
        if result.isDamaged { state.statistics.damagedFrames += 1 }
        let frame = DecodedFrame(
            buffer: picture.buffer,
            presentationTime: entry.presentationTime,
            duration: entry.duration,
            isKeyFrame: entry.isKeyFrame,
            isDamaged: result.isDamaged,
            token: entry.token
        )
        queue.append([frame])
    }

    private func noteDamage(_ number: Int64, _ error: MediaError, _ state: inout State) {
        state.window.noteDamage(from: number)
        // After decoding again, it is reported again.
        guard let entry = state.window.entry(number), !entry.isReturned, entry.isShown else { return }
        state.statistics.damagedSamples += 1
        report(.damaged(presentationTime: entry.presentationTime, error))
    }

    private func noteMissing(_ entries: [DecodingWindow.Entry], _ state: inout State) {
        for entry in entries {
            state.statistics.samplesWithoutFrame += 1
            report(.withoutFrame(presentationTime: entry.presentationTime))
        }
    }

    // MARK: - Samples

    /// Records that the decoder has returned everything, and reports the samples without a frame.
    func settleAll() { state.withLock { state in noteMissing(state.window.settleAll(), &state) } }

    /// Leaves what cannot be decoded again, and reports it.
    ///
    /// - Returns: The number of the sample at which decoding begins; `nil` if there is none yet.
    func restart() -> Int64? {
        state.withLock { state in
            let start = state.window.restart
            for entry in state.window.begin(at: start) {
                state.statistics.lostFrames += 1
                report(.lost(presentationTime: entry.presentationTime))
            }
            return start
        }
    }
}

/// A picture on a GPU that is lost with its helper, because it could not be decoded again.
private struct Endangered {
    var picture: DecodedPicture
    var surface: any DeviceSurface
    var presentationTime: MediaTime
    var reason: MediaError

    /// Returns the picture in memory.
    ///
    /// - Throws: The error of the device: its decoder has failed.
    func copy() throws(MediaError) -> DecodedPicture {
        let description = picture.buffer.pictureDescription
        var copy = picture
        copy.buffer =
            if let surface = surface as? RemoteSurface {
                try surface.fetch(description)
            } else {
                try surface.copy(description)
            }
        return copy
    }
}

extension FrameDelivery.State {
    /// Lets a picture that is on a GPU and will be passed on come back from its sample.
    ///
    /// - Returns: The picture, if it could not be decoded again.
    fileprivate func endangered(_ picture: DecodedPicture) -> Endangered? {
        guard case .deviceSurface(let surface) = picture.buffer.storage, let repeatable,
            let entry = window.entry(picture.number), entry.isShown, !entry.isReturned
        else { return nil }
        do throws(MediaError) {
            let recovery = try repeatable.recovery(of: picture.number)
            (surface as? RemoteSurface)?.recover(by: recovery)
            return nil
        } catch {
            return Endangered(
                picture: picture,
                surface: surface,
                presentationTime: entry.presentationTime,
                reason: error
            )
        }
    }
}
