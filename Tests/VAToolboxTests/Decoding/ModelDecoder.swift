// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import MediaTypes
import Synchronization
import TestSupport

/// What the decoders of a test do wrong, and what they were asked to do.
final class DecoderScript: Sendable {
    enum Call: Sendable, Hashable {
        case create
        case decode(Int64)
        case drain
    }

    enum Fault: Sendable {
        /// The call throws.
        case refuses
        /// The call throws, and the error is permanent.
        case refusesForGood
        /// The call returns, and the decoder reports its failure on another thread.
        case failsLater
        /// The data of the sample is damaged; its picture comes nevertheless.
        case isDamaged
        /// The data of the sample is damaged, and there is no picture.
        case hasNoPicture
        /// The call throws that a deadline has passed.
        case missesDeadline
        /// The decoder works, but a new one would be better.
        case isOutdated
    }

    private struct State {
        var fault: @Sendable (Call, Int) -> Fault?
        var calls: [Call] = []
        var violations: [String] = []
    }

    private let state: Mutex<State>

    /// - Parameter fault: Returns what goes wrong in a call, given the number of calls before it.
    init(_ fault: @escaping @Sendable (Call, Int) -> Fault? = { _, _ in nil }) {
        state = Mutex(State(fault: fault))
    }

    var calls: [Call] { state.withLock { $0.calls } }
    var violations: [String] { state.withLock { $0.violations } }

    func note(_ call: Call) -> Fault? {
        state.withLock { state in
            defer { state.calls.append(call) }
            return state.fault(call, state.calls.count)
        }
    }

    func complain(_ text: String) { state.withLock { $0.violations.append(text) } }
}

struct ModelDecoderFactory: DecoderFactory {
    var script: DecoderScript
    var name = "model"
    /// Whether pictures come on another thread, for which no call but `drain` waits.
    var usesThread = false

    var identity: DecoderIdentity { DecoderIdentity(name: name, codec: .h264) }

    static let error = MediaError(.frameFailed, "the model fails")

    static var permanentError: MediaError {
        var error = error
        error.isPermanent = true
        return error
    }

    func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
        switch script.note(.create) {
        case .refuses: throw Self.error
        case .refusesForGood: throw Self.permanentError
        default: return ModelDecoder(request, script, name: name, usesThread: usesThread)
        }
    }
}

/// Returns pictures as a decoder does: in presentation order, with a delay, and without those that refer to pictures
/// before the random access point where it began.
private final class ModelDecoder: DecoderBackend {
    private static let delay = 5

    let properties: DecoderProperties
    private let request: DecoderRequest
    private let script: DecoderScript
    private var last: DecoderSample?
    private var start: MediaTime?
    private var held: [(time: MediaTime, picture: DecodedPicture)] = []
    /// Whether it has failed, which its caller does not know yet.
    private var hasFailed = false
    private(set) var isOutdated = false
    private let queue: DispatchQueue?

    init(_ request: DecoderRequest, _ script: DecoderScript, name: String, usesThread: Bool) {
        queue = usesThread ? DispatchQueue(label: "model") : nil
        self.request = request
        self.script = script
        properties = DecoderProperties(name: name)
    }

    func decode(_ sample: DecoderSample) throws(MediaError) {
        let fault = script.note(.decode(sample.number))
        if hasFailed { return }
        switch fault {
        case .refuses: throw ModelDecoderFactory.error
        case .refusesForGood: throw ModelDecoderFactory.permanentError
        case .missesDeadline: throw MediaError(.deadlineExceeded, "the model hangs")
        case .failsLater:
            hasFailed = true
            let output = request.output
            return (try? PlainThread.start(name: "fault") { output(.failed(ModelDecoderFactory.error)) }) ?? ()
        case .isDamaged, .hasNoPicture:
            request.output(.damaged(number: sample.number, MediaError(.malformedData, "damaged")))
        case .isOutdated: isOutdated = true
        case nil: break
        }
        let access = sample.sample.randomAccess
        if let last, sample.number != last.number + 1 {
            script.complain("sample \(sample.number) follows sample \(last.number)")
        } else if last == nil, access == .none {
            script.complain("decoding begins at sample \(sample.number), where it cannot")
        }
        if last == nil || access == .closed { start = sample.sample.presentationTime }
        last = sample
        if access == .closed { show(all: true) }
        let time = sample.sample.presentationTime
        if fault != nil, case .hasNoPicture? = fault { return }
        if let start, time < start { return }
        guard let buffer = try? PixelBuffer(PixelBuffer.Description(format: .nv12, width: 16, height: 16)) else {
            return
        }
        var isDamaged = false
        if case .isDamaged? = fault { isDamaged = true }
        held.append((time, DecodedPicture(number: sample.number, buffer: buffer, isDamaged: isDamaged)))
        show(all: false)
    }

    func drain() throws(MediaError) {
        let fault = script.note(.drain)
        if hasFailed { throw ModelDecoderFactory.error }
        switch fault {
        case .refuses, .failsLater: throw ModelDecoderFactory.error
        case .refusesForGood: throw ModelDecoderFactory.permanentError
        default: break
        }
        show(all: true)
        queue?.sync {}
        last = nil
    }

    private func show(all: Bool) {
        held.sort { $0.time < $1.time }
        while held.count > (all ? 0 : Self.delay) {
            let (picture, output) = (held.removeFirst().picture, request.output)
            guard let queue else {
                output(.picture(picture))
                continue
            }
            queue.async { output(.picture(picture)) }
        }
    }
}
