// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

extension SessionMachine {
    /// An input of the machine.
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
        /// Samples are queued that nobody can consume any more.
        case samplesAbandoned
        case instance(InstanceID, InstanceEvent)
        case clock
    }

    /// An event of an encoder.
    enum InstanceEvent: Sendable {
        case created(EncoderProperties)
        /// The encoder has accepted the frame. The event includes the number of copies of its picture, and whether the
        /// encoder converted it. It is a single event because each event wakes a thread.
        case frameDone(Int64, copies: Int = 0, isConverted: Bool = false)
        /// The picture of a frame cannot be read. The encoder was not given the frame.
        case frameLost(Int64, MediaError)
        /// The number of additional copies that the memory type of the pictures required.
        case picturesCopied(Int)
        /// The CPU has converted the picture of a frame.
        case pictureConverted
        /// A setting differs from here on.
        case adjusted(Adjustment)
        case output(EncoderOutput)
        case updated(EncoderUpdateOutcome)
        case updateRefused(MediaError)
        case drained
        case failed(MediaError)
    }

    /// An action to perform, in order.
    enum Action {
        case create(InstanceID, Creation)
        case submit(InstanceID, EncoderFrame)
        case update(InstanceID, EncoderConfiguration)
        case drain(InstanceID)
        case close(InstanceID, isHung: Bool)
        case emit([SampleBuffer])
        case resume(WaiterID, Result<FrameDisposition, MediaError>)
        case report(SessionEvent)
        /// Reports an outcome to the candidate.
        case tell(candidate: Int, CandidateOutcome)
        case endSamples(SamplesEnd)
    }

    /// An encoder to create.
    struct Creation {
        var candidate: Int
        var configuration: EncoderConfiguration
        /// The maximum that the session's decode times allow; `nil` if they allow any.
        var maximumReorderDepth: Int?
        /// The pause before the creation.
        var pause: Duration
    }

    enum Phase {
        /// No encoder exists, either not yet or briefly between two encoders.
        case idle
        /// An encoder is being created; accepted frames wait in the window.
        case creating(InstanceID)
        case running(InstanceID)
        /// The encoder is finishing its frames; no frames are accepted meanwhile.
        case draining(InstanceID)
        case finished
        case failed(MediaError)
    }

    struct WaitingFrame {
        var frame: EncoderFrame
        var token: (any Sendable)?
        /// The suspended call; `nil` in real-time mode, where calls return immediately.
        var waiter: WaiterID?
    }

    struct Flush {
        var waiter: WaiterID
        /// The number of the first frame that the flush does not cover.
        var end: Int64
    }

    /// The frames that one encoder has received and returned.
    struct InstanceWork {
        /// The number of frames that were sent to the encoder and not yet accepted by it, because its call has not
        /// returned or its answer is pending.
        var framesAtInstance = 0
        /// Whether a frame has found no room, and the queue has not yet shrunk to half since.
        var isFull = false
        /// The number of accepted frames, and the number of returned frames.
        var framesDone = 0
        var framesCoded = 0
        var hasKeyFrame = false
        /// Whether samples of this encoder were delivered.
        var hasProduced = false
        /// The format of its frames; `nil` until it is created.
        var format: FormatDescription?
        var maximumDelay = Int.max

        /// Whether it holds back more frames than it declared.
        var isOverdue: Bool { framesDone - framesCoded > maximumDelay }
    }
}
