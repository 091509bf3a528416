// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

extension SessionMachine {
    /// What happens to a session.
    enum Input {
        case start(WaiterID)
        case encode(EncoderFrame, token: (any Sendable)?, WaiterID)
        case flush(WaiterID)
        case finish(WaiterID)
        case update(EncoderUpdate, WaiterID)
        case refresh(RefreshReason)
        case cancel
        case cancelWaiter(WaiterID)
        case consumer(isSlow: Bool)
        /// There are samples that nobody can take any more.
        case samplesAbandoned
        case instance(InstanceID, InstanceEvent)
        case clock
    }

    /// What happens to an encoder.
    enum InstanceEvent: Sendable {
        case created(EncoderProperties)
        /// An encoder has taken the frame, copied its picture so many times, and converted it or had it converted before.
        /// One event, for each wakes a thread.
        case frameDone(Int64, copies: Int = 0, isConverted: Bool = false)
        /// So many pictures more were copied because of the memory that they lay in.
        case picturesCopied(Int)
        /// Something is done differently from here on.
        case adjusted(Adjustment)
        case output(EncoderOutput)
        case updated(EncoderUpdateOutcome)
        case updateRefused(MediaError)
        case drained
        case failed(MediaError)
    }

    /// What has to be done, in this order.
    enum Action {
        case create(InstanceID, Creation)
        case submit(InstanceID, EncoderFrame)
        case update(InstanceID, EncoderConfiguration)
        case drain(InstanceID)
        case close(InstanceID, isHung: Bool)
        case emit([SampleBuffer])
        case resume(WaiterID, Result<FrameDisposition, MediaError>)
        case report(SessionEvent)
        /// Tells whoever selected a candidate what became of it.
        case tell(candidate: Int, EncoderSelection.EncoderOutcome)
        case endSamples(SamplesEnd)
    }

    /// An encoder to be made.
    struct Creation {
        var candidate: Int
        var configuration: EncoderConfiguration
        /// What the session's decode times allow; `nil` while they allow anything.
        var maximumReorderDepth: Int?
        /// How long to wait before.
        var pause: Duration
    }

    enum Phase {
        /// There is no encoder: not yet, or for a moment between two.
        case idle
        /// An encoder is being made; frames that were accepted before wait in the window.
        case creating(InstanceID)
        case running(InstanceID)
        /// The encoder finishes what it has; nothing is accepted meanwhile.
        case draining(InstanceID)
        case finished
        case failed(MediaError)
    }

    struct WaitingFrame {
        var frame: EncoderFrame
        var token: (any Sendable)?
        /// The suspended call; `nil` in real-time mode, where calls return at once.
        var waiter: WaiterID?
    }

    struct Flush {
        var waiter: WaiterID
        /// The number of the first frame that it does not cover.
        var end: Int64
    }

    /// What one encoder has been given and has returned.
    struct InstanceWork {
        /// Frames that it has been given and has not taken: a call that has not returned, or for an encoder that takes frames
        /// later, an answer that is to come.
        var framesAtInstance = 0
        /// Whether a frame has found no room since half of them were left.
        var isFull = false
        /// Frames that it has taken, and frames that came out.
        var framesDone = 0
        var framesCoded = 0
        var hasKeyFrame = false
        /// Whether samples of it have left.
        var hasProduced = false
        /// What applies to its frames; `nil` until it is created.
        var format: FormatDescription?
        var maximumDelay = Int.max

        /// Whether it keeps more frames than it said it would.
        var isOverdue: Bool { framesDone - framesCoded > maximumDelay }
    }
}

/// How the samples of a session end.
enum SamplesEnd {
    /// After those that are queued.
    case finished
    /// With an error, after those that are queued.
    case failed(MediaError)
    /// With an error, at once: those that are queued are discarded.
    case cancelled(MediaError)
}
