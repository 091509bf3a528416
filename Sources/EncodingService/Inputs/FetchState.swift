// SPDX-License-Identifier: GPL-2.0-or-later

internal import ServiceAPI

/// Why an input could not be fetched, or a result could not be delivered.
struct TransferFailure: Error, Sendable, Hashable, CustomStringConvertible {
    var code: FailureCode
    var message: String
    /// Whether the server may answer otherwise if it is asked for the rest at once.
    var isInterruption = false
    /// Whether another attempt may succeed.
    var isRetriable = false

    /// The connection broke, or the server has a problem of its own.
    static func interruption(_ message: String) -> TransferFailure {
        TransferFailure(code: .fetchFailed, message: message, isInterruption: true, isRetriable: true)
    }

    var description: String { message }
}

/// How much of a file is fetched, and what an answer of its server means for the rest. A pure value.
struct FetchState: Sendable, Hashable {
    /// The largest file, in bytes.
    let limit: Int
    /// Bytes that are fetched.
    private(set) var offset = 0
    /// Bytes of the whole file, if the server has told.
    private(set) var size: Int?
    /// What identifies the version of the file: a strong entity tag, or else the time of its last change.
    private(set) var validator: String?

    init(limit: Int) { self.limit = limit }

    /// An answer of the server.
    struct Answer: Sendable, Hashable {
        var status: Int
        /// With names in lower case.
        var fields: [String: String] = [:]
    }

    /// What follows from an answer.
    enum Step: Sendable, Hashable {
        /// The body is the file from `offset` on.
        case read
        /// The body is the whole file; what was fetched before is another version.
        case readAnew
        /// The file is elsewhere.
        case redirect(String)
        /// There is no such range: ask again for the whole file.
        case startOver
    }

    /// The fields of the next request. If there is no validator, the file is fetched anew.
    var requestFields: [(name: String, value: String)] {
        guard offset > 0, let validator else { return [] }
        return [("range", "bytes=\(offset)-"), ("if-range", validator)]
    }

    /// - Throws: A failure for any status that is of no use.
    mutating func begin(_ answer: Answer) throws(TransferFailure) -> Step {
        if let coding = answer.fields["content-encoding"], coding.lowercased() != "identity" {
            throw TransferFailure(code: .fetchFailed, message: "the server sends the file compressed with \(coding)")
        }
        let length = answer.fields["content-length"].flatMap { Int($0) }
        switch answer.status {
        case 200:
            let hadBegun = offset > 0
            offset = 0
            size = length
            let tag = answer.fields["etag"].flatMap { $0.hasPrefix("\"") ? $0 : nil }
            validator = tag ?? answer.fields["last-modified"]
            try checkSize()
            return hadBegun ? .readAnew : .read
        case 206 where offset > 0 && validator != nil:
            guard let range = ContentRange(answer.fields["content-range"] ?? ""), range.first == offset,
                size == nil || range.size == nil || size == range.size
            else {
                throw TransferFailure(
                    code: .fetchFailed,
                    message: "the server has answered with another range than the one asked for",
                    isRetriable: true
                )
            }
            size = size ?? range.size
            try checkSize()
            return .read
        case 301, 302, 303, 307, 308:
            guard let location = answer.fields["location"] else {
                throw TransferFailure(code: .fetchFailed, message: "the server redirects (\(answer.status)) to nowhere")
            }
            return .redirect(location)
        case 416 where offset > 0:
            (offset, size, validator) = (0, nil, nil)
            return .startOver
        default:
            let isTransient = answer.status == 429 || (500...599).contains(answer.status)
            throw TransferFailure(
                code: .fetchFailed,
                message: "the server has answered with status \(answer.status)",
                isInterruption: isTransient,
                isRetriable: isTransient
            )
        }
    }

    /// Counts bytes of the body.
    mutating func add(_ count: Int) throws(TransferFailure) {
        offset += count
        guard offset <= size ?? .max else {
            throw TransferFailure(code: .fetchFailed, message: "the server has sent more than it has announced")
        }
        try checkSize()
    }

    /// The body has ended.
    func end() throws(TransferFailure) {
        if let size, offset < size { throw .interruption("the file ends after \(offset) of \(size) bytes") }
        if offset == 0 { throw TransferFailure(code: .fetchFailed, message: "the file is empty", isRetriable: true) }
    }

    private func checkSize() throws(TransferFailure) {
        guard max(offset, size ?? 0) > limit else { return }
        let told = size.map { "has \($0) bytes" } ?? "has more than \(limit) bytes"
        throw TransferFailure(code: .inputTooLarge, message: "the input \(told) (allowed: at most \(limit))")
    }

    /// The value of `Content-Range`: `bytes 5-9/10`.
    private struct ContentRange {
        var first: Int
        var size: Int?

        init?(_ text: String) {
            let parts = text.split(separator: " ")
            guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
            let numbers = parts[1].split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "/" }
            guard numbers.count == 3, let first = Int(numbers[0]), first >= 0 else { return nil }
            self.first = first
            size = Int(numbers[2])
        }
    }
}

/// Files that only name others.
enum Playlist {
    /// How much of a file's beginning is looked at, in bytes.
    static let lookedAt = 4096

    /// What kind of playlist begins with some bytes; `nil` if none does.
    static func kind(ofFileBeginningWith bytes: some Sequence<UInt8>) -> String? {
        var start = Array(bytes.prefix(lookedAt))[...]
        if start.starts(with: [0xEF, 0xBB, 0xBF]) { start = start.dropFirst(3) }
        start = start.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        if start.starts(with: "#EXTM3U".utf8) { return "HLS" }
        if start.starts(with: "ffconcat".utf8) { return "ffconcat" }
        // Demuxers search these in any case and anywhere in text, which a zero ends.
        let text = start.prefix { $0 != 0 }.map { isUpper($0) ? $0 | 0x20 : $0 }
        if text.contains("<mpd".utf8) { return "DASH" }
        return text.contains("<smoothstreamingmedia".utf8) ? "Smooth Streaming" : nil
    }

    private static func isUpper(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
}

/// The first bytes of a file that is fetched in parts, by which a playlist is refused before it is complete.
struct FileBeginning: Sendable, Hashable {
    private var bytes: [UInt8] = []

    /// Adds bytes of the file. Those at its start begin another version.
    ///
    /// - Throws: `TransferFailure` as soon as there are enough bytes to look at, and they begin a playlist.
    mutating func add(_ more: some Collection<UInt8>, at offset: Int) throws(TransferFailure) {
        guard offset <= bytes.count, offset < Playlist.lookedAt else { return }
        bytes.removeSubrange(offset...)
        bytes += more.prefix(Playlist.lookedAt - offset)
        if bytes.count == Playlist.lookedAt { try end() }
    }

    /// The file is complete.
    ///
    /// - Throws: `TransferFailure` if it is a playlist.
    func end() throws(TransferFailure) {
        guard let kind = Playlist.kind(ofFileBeginningWith: bytes) else { return }
        throw TransferFailure(
            code: .playlistInput,
            message: "the input is a playlist (\(kind)), which names further files"
        )
    }
}
