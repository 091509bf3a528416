// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The delivery directives of a request for a media playlist: rfc8216bis 6.2.5.
///
/// It is a value: a server asks for the ``answer(at:waited:)`` when the request arrives, and again whenever the
/// playlist changes, until it is not ``Answer/wait(number:part:atMost:)``.
public struct BlockingRequest: Sendable, Hashable {
    /// The media sequence number that the playlist must have reached (`_HLS_msn`).
    public private(set) var number: Int?
    /// The index of the part that the playlist must have reached (`_HLS_part`).
    public private(set) var part: Int?
    /// What the response may leave out (`_HLS_skip`).
    public private(set) var skip: LiveMediaPlaylist.DeltaUpdate?
    /// What is wrong with the directives; `nil` if nothing is.
    public private(set) var problem: MediaError?

    /// What a server does with a request.
    public enum Answer: Sendable, Hashable {
        /// It sends the playlist: a delta update if that is not `nil`.
        case send(LiveMediaPlaylist.DeltaUpdate?)
        /// It waits until the playlist has this part, or this whole segment if `part` is `nil`, for no longer than the
        /// given time.
        case wait(number: Int, part: Int?, atMost: MediaTime)
        /// It sends the status 400.
        case badRequest(MediaError)
        /// It sends the status 503.
        case unavailable(MediaError)
    }

    /// Parses the query of a URL, without the question mark. Parameters that are no directives are ignored.
    public init(query: some StringProtocol) {
        var seen: Set<Substring> = []
        for field in Substring(query).split(separator: "&") {
            let pair = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = pair.first, ["_HLS_msn", "_HLS_part", "_HLS_skip"].contains(name) else { continue }
            if !seen.insert(name).inserted { refuse("a delivery directive is there twice", field) }
            let value = pair.count > 1 ? pair[1] : ""
            switch name {
            case "_HLS_msn": number = integer(value, field)
            case "_HLS_part": part = integer(value, field)
            default: readSkip(value, field)
            }
        }
        if part != nil, number == nil, problem == nil {
            problem = MediaError(.invalidArgument, "_HLS_part needs _HLS_msn")
        }
    }

    private mutating func refuse(_ message: String, _ field: Substring, allowed: String? = nil) {
        guard problem == nil else { return }
        problem = MediaError(.invalidArgument, message, given: String(field.prefix(100)), allowed: allowed)
    }

    private mutating func integer(_ value: Substring, _ field: Substring) -> Int? {
        let isPlain = !value.isEmpty && value.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isPlain, value.utf8.count <= 18, let number = Int(value) else {
            refuse("a delivery directive has no valid number", field, allowed: "up to 18 digits")
            return nil
        }
        return number
    }

    private mutating func readSkip(_ value: Substring, _ field: Substring) {
        switch value {
        case "YES": skip = .segments
        case "v2": skip = .segmentsAndDateRanges
        default: refuse("a delivery directive is unknown", field, allowed: "YES, v2")
        }
    }
}

// MARK: - Decision

extension BlockingRequest {
    /// Decides what the server does: rfc8216bis 6.2.5.1, 6.2.5.2.
    ///
    /// - Parameters:
    ///   - edge: The present end of the playlist.
    ///   - waited: How long the request has waited.
    public func answer(at edge: LiveMediaPlaylist.Edge, waited: MediaTime = .zero) -> Answer {
        // A complete playlist ignores all directives.
        if edge.isEnded { return .send(nil) }
        if let problem { return .badRequest(problem) }
        let delta = edge.options.offersDeltaUpdates ? skip : nil
        guard edge.options.offersBlockingReload, let number else { return .send(delta) }
        let (wantedNumber, wantedPart) = target(number, edge)
        if edge.has(wantedNumber, wantedPart) { return .send(delta) }
        if let error = refusal(wantedNumber, wantedPart, edge) { return .badRequest(error) }
        let limit = edge.options.target * 3
        guard waited < limit else {
            return .unavailable(
                MediaError(.deadlineExceeded, "the playlist did not grow for three target durations", given: directives)
            )
        }
        return .wait(number: wantedNumber, part: wantedPart, atMost: limit - waited)
    }

    /// What the request waits for. A part beyond the last one of a complete segment is the first one of the next.
    private func target(_ number: Int, _ edge: LiveMediaPlaylist.Edge) -> (number: Int, part: Int?) {
        guard let part, edge.options.partTarget != nil else { return (number, nil) }
        return number == edge.lastNumber && part >= edge.lastPartCount ? (number + 1, 0) : (number, part)
    }

    private func refusal(_ number: Int, _ part: Int?, _ edge: LiveMediaPlaylist.Edge) -> MediaError? {
        guard number <= edge.lastNumber + 2 else {
            return MediaError(
                .invalidArgument,
                "the request is too far ahead",
                given: directives,
                allowed: "_HLS_msn up to \(edge.lastNumber + 2)"
            )
        }
        guard let part, let partTarget = edge.options.partTarget else { return nil }
        // The parts that are missing at least, up to the one that is wanted.
        let ahead = number == edge.lastNumber + 1 ? part - edge.openPartCount + 1 : part + 1
        // The Advance Part Limit is three parts, or as many as make up three seconds if that is more.
        let isTooFar = ahead > 3 && (partTarget * Int64(ahead) > MediaTime(value: 3, timescale: 1))
        guard isTooFar else { return nil }
        return MediaError(
            .invalidArgument,
            "the request is too far ahead",
            given: directives,
            allowed: "three parts, or parts of three seconds, after the last one"
        )
    }

    private var directives: String {
        let msn = number.map { "_HLS_msn=\($0)" } ?? ""
        return part.map { "\(msn)&_HLS_part=\($0)" } ?? msn
    }
}

extension LiveMediaPlaylist.Edge {
    /// Whether the playlist has a part, or a whole segment.
    func has(_ number: Int, _ part: Int?) -> Bool {
        if number <= lastNumber { return true }
        guard let part else { return false }
        return number == lastNumber + 1 && part < openPartCount
    }
}
