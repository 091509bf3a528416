// SPDX-License-Identifier: GPL-2.0-or-later

/// Everything that can happen to a session.
enum SessionMove: Hashable, CustomStringConvertible {
    // Calls of the user.
    case encode(isForced: Bool)
    /// Not later than the frame before.
    case encodeTooEarly
    case flush, finish, update, invalidUpdate, refresh, cancel
    /// The system was suspended and has resumed.
    case resume
    /// The nth call that has not been answered is cancelled.
    case cancelCall(Int)
    /// A call is cancelled that has been answered.
    case cancelAnsweredCall
    case consumer(isSlow: Bool)

    // The encoder finishes what it is told to do.
    case create
    /// It has taken the frame that it was given.
    case take
    case updateDone, updateNeedsNewEncoder, updateRefused
    case drain

    // What comes out of the encoder.
    case code
    /// A frame that it leaves out on purpose.
    case skip
    case bad(BadOutput)

    // The encoder fails.
    case fail(isPermanent: Bool)
    /// It reorders more than the first one did.
    case createTooDeep
    /// It says that all is out, and keeps frames.
    case drainTooEarly

    /// An encoder that is closed says something.
    case late(LateEvent)
    /// Time passes, less than until the deadline of an encoder that was just given work.
    case wait
    case deadline

    enum BadOutput: CaseIterable {
        case empty, twice, unknown
        /// The first frame of an encoder is no key frame.
        case noKey
        /// A key frame before a frame that is shown before it.
        case hastyKey
        /// A frame that is decoded earlier than the encoder said it would be.
        case tooEarly
    }

    enum LateEvent: CaseIterable {
        case created, frameDone, coded, updated, updateRefused, drained, failed
    }

    /// Whether nothing else than the end of the encoder may follow.
    var isFailure: Bool {
        switch self {
        case .bad(let output): output != .tooEarly
        case .fail, .createTooDeep, .drainTooEarly, .deadline: true
        default: false
        }
    }

    var description: String {
        switch self {
        case .encode(let isForced): isForced ? "encode (forced key frame)" : "encode"
        case .encodeTooEarly: "encode (too early)"
        case .flush: "flush"
        case .finish: "finish"
        case .update: "update"
        case .invalidUpdate: "update (invalid)"
        case .refresh: "refresh"
        case .cancel: "cancel"
        case .resume: "resume"
        case .cancelCall(let index): "cancel open call \(index)"
        case .cancelAnsweredCall: "cancel answered call"
        case .consumer(let isSlow): isSlow ? "consumer stops" : "consumer goes on"
        case .create: "created"
        case .take: "frame taken"
        case .updateDone: "updated"
        case .updateNeedsNewEncoder: "update needs a new encoder"
        case .updateRefused: "update refused"
        case .drain: "drained"
        case .code: "frame coded"
        case .skip: "frame left out"
        case .bad(let output): "bad output (\(output))"
        case .fail(let isPermanent): isPermanent ? "fails for good" : "fails"
        case .createTooDeep: "created, reorders too much"
        case .drainTooEarly: "drained, frames kept"
        case .late(let event): "closed encoder: \(event)"
        case .wait: "time passes"
        case .deadline: "deadline"
        }
    }
}
