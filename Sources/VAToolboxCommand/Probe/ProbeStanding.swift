// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CommandLineSupport
import MediaTypes
import VAToolbox

/// The information about a device apart from its driver, for people.
extension TextPage {
    mutating func add(_ standing: DeviceStanding?) {
        guard let standing else { return }
        if let verdict = standing.verdict { entry("encode", verdict.text, indentation: 4) }
        for (index, text) in standing.decodingTexts.enumerated() {
            entry(index == 0 ? "decode" : "", text, indentation: 4)
        }
        if let text = standing.breaker.text { entry("breaker", text, indentation: 4) }
        for (codec, breaker) in standing.decodingBreakers {
            if let text = breaker.text { entry("breaker", "decoding \(codec.rawValue): \(text)", indentation: 4) }
        }
        if !standing.sessions.isEmpty {
            let rate = standing.sessions.reduce(0) { $0 + $1.sampleRate } / 1e6
            let text =
                "\(Readable.count(standing.sessions.count, "session")), \(Readable.number(rate, places: 0)) Mpixel/s"
            entry("in use", text, indentation: 4)
        }
        let failed = standing.proofs.count { !$0.isPassed }
        let others = standing.proofs.count - failed
        if !standing.proofs.isEmpty {
            entry("known", "\(others) passed, \(failed) failed, of all tests", indentation: 4)
        }
    }
}

extension DeviceStanding {
    /// The results of test decodes: first those that passed, in one line, then each of the others.
    fileprivate var decodingTexts: [String] {
        var passed: [String] = []
        var others: [String] = []
        var isFresh = false
        for entry in decoding {
            switch entry.verdict {
            case .tried(let proof, let fresh) where proof.isPassed:
                passed.append("\(entry.stream)")
                isFresh = isFresh || fresh
            case .tried(let proof, _):
                let stage = proof.stage.map { " at \($0)" } ?? ""
                let reason = Readable.shortened(Readable.oneLine(proof.reason))
                others.append("\(entry.stream) fails\(stage): \(reason)")
            case .untried(let error):
                others.append("\(entry.stream) not tried: \(Readable.shortened(Readable.oneLine(error.readable)))")
            }
        }
        let works =
            passed.isEmpty ? [] : ["works: \(passed.joined(separator: ", ")), \(isFresh ? "tried now" : "known")"]
        return works + others
    }
}

extension DeviceStanding.Decoding {
    var document: JSON {
        guard case .object(var members) = verdict.document else { return .null }
        members.members.insert(.init(key: "codec", value: .string(stream.codec.rawValue)), at: 0)
        members.members.insert(.init(key: "stream", value: .string(stream.name)), at: 1)
        return .object(members)
    }
}

extension DeviceStanding.Verdict {
    fileprivate var text: String {
        switch self {
        case .tried(let proof, let isFresh):
            let what = proof.isPassed ? (proof.isDecoded ? "works" : "works, not decoded") : "fails"
            let stage = proof.stage.map { " at \($0)" } ?? ""
            let reason = proof.isPassed ? "" : ": \(Readable.shortened(Readable.oneLine(proof.reason)))"
            return "\(what)\(stage), \(proof.configuration), \(isFresh ? "tried now" : "known")\(reason)"
        case .untried(let error): return "not tried: \(Readable.shortened(Readable.oneLine(error.readable)))"
        }
    }

    var document: JSON {
        switch self {
        case .tried(let proof, let isFresh):
            guard case .object(var members) = proof.document else { return .null }
            members.members.append(.init(key: "fresh", value: .bool(isFresh)))
            return .object(members)
        case .untried(let error):
            return .object([
                "status": .string("untried"), "code": .string(error.code.rawValue),
                "cause": JSON(error.cause?.rawValue), "reason": .string(Readable.oneLine(error.readable)),
            ])
        }
    }
}

extension ProofRecord {
    var document: JSON {
        .object([
            "status": .string(isPassed ? "passed" : "failed"), "decoded": .bool(isDecoded),
            "failedStage": JSON(stage), "reason": isPassed ? .null : .string(Readable.oneLine(reason)),
            "configuration": .string(configuration), "driver": .string(driver), "time": .number(time),
            "until": .number(end),
        ])
    }
}

extension DeviceStanding.Breaker {
    fileprivate var text: String? {
        let last = reason.isEmpty ? "" : "; last failure: \(Readable.shortened(Readable.oneLine(reason)))"
        switch state {
        case .closed(let failures):
            return failures == 0 ? nil : "\(Readable.count(failures, "failure")) lately\(last)"
        case .open(let seconds): return "suspended for another \(Int(seconds.rounded(.up))) s\(last)"
        case .halfOpen(let isTried): return (isTried ? "is being tried again" : "may be tried again") + last
        }
    }

    var document: JSON {
        let (name, failures, remaining): (String, Int, Double?) =
            switch state {
            case .closed(let failures): ("closed", failures, nil)
            case .open(let seconds): ("open", 0, seconds)
            case .halfOpen: ("half-open", 0, nil)
            }
        let isTried = if case .halfOpen(true) = state { true } else { false }
        return .object([
            "state": .string(name), "failures": .integer(failures), "openings": .integer(openings),
            "remaining": JSON(remaining), "tried": .bool(isTried), "reason": reason.isEmpty ? .null : .string(reason),
        ])
    }
}

extension DeviceStanding.Session {
    var document: JSON {
        .object([
            "process": .integer(process), "task": .string(isDecoding ? "decode" : "encode"), "codec": .string(codec),
            "pixelRate": .number(sampleRate),
        ])
    }
}

extension DeviceStanding {
    /// The reason why the device cannot be used at present, if it was tested; `nil` if it can be used.
    var refutation: String? {
        switch verdict {
        case .tried(let proof, _) where !proof.isPassed: "test encode \(verdict?.text ?? "")"
        case .untried(let error): Readable.shortened(Readable.oneLine(error.readable))
        case .tried, nil: nil
        }
    }
}
