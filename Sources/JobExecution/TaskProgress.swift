// SPDX-License-Identifier: GPL-2.0-or-later

internal import Foundation

/// How far a process says it is: one line of `--progress` (docs/command.md).
///
/// The process may be taken over by what it reads, so nothing here is more than its claim. Values are finite and not
/// negative.
package struct TaskProgress: Sendable, Hashable {
    /// The present work, for example `measuring` or `encoding`.
    package var phase: String?
    /// The position on the timeline of the output, in seconds.
    package var time: Double?
    /// The expected duration of the output, in seconds.
    package var expectedDuration: Double?
    /// The pictures that were read.
    package var framesIn: Int?
    /// The pictures that are expected.
    package var expectedFrames: Int?
    /// The pictures that were written.
    package var framesOut: Int?
    /// The bytes that were encoded.
    package var bytes: Int?
    /// The bytes that were written to files, in all passes.
    package var written: Int?
    /// The render node of the encoder.
    package var device: String?
    /// The seconds for which a live stream has waited for an input that is away.
    package var waited: Double?
    /// The seconds since the process began.
    package var elapsed: Double?

    /// Creates a progress.
    package init(
        phase: String? = nil,
        time: Double? = nil,
        expectedDuration: Double? = nil,
        framesIn: Int? = nil,
        expectedFrames: Int? = nil,
        framesOut: Int? = nil,
        bytes: Int? = nil,
        written: Int? = nil,
        device: String? = nil,
        waited: Double? = nil,
        elapsed: Double? = nil
    ) {
        self.phase = phase
        self.time = time
        self.expectedDuration = expectedDuration
        self.framesIn = framesIn
        self.expectedFrames = expectedFrames
        self.framesOut = framesOut
        self.bytes = bytes
        self.written = written
        self.device = device
        self.waited = waited
        self.elapsed = elapsed
    }

    /// Reads a line; `nil` if it is not an object with such values. Unknown keys are ignored.
    package init?(line: [UInt8]) {
        guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(line)) else { return nil }
        self.init(
            phase: fields.phase.map { LogLines.shown(String($0.prefix(64))) },
            time: fields.time,
            expectedDuration: fields.expectedDuration,
            framesIn: fields.framesIn ?? fields.pictures ?? fields.packets,
            expectedFrames: fields.expectedFrames,
            framesOut: fields.framesOut,
            bytes: fields.bytes,
            written: fields.written,
            device: fields.device.map { LogLines.shown(String($0.prefix(256))) },
            waited: fields.waited,
            elapsed: fields.elapsed
        )
        let numbers = [time, expectedDuration, waited, elapsed].compactMap(\.self)
        let counts = [framesIn, expectedFrames, framesOut, bytes, written].compactMap(\.self)
        guard numbers.allSatisfy({ $0.isFinite && $0 >= 0 }), counts.allSatisfy({ $0 >= 0 }) else { return nil }
    }

    /// Returns whether anything but the clock has changed.
    package func hasAdvanced(since earlier: TaskProgress?) -> Bool {
        guard var earlier else { return true }
        earlier.elapsed = elapsed
        return self != earlier
    }

    private struct Fields: Decodable {
        var phase: String?
        var time: Double?
        var expectedDuration: Double?
        var framesIn: Int?
        var pictures: Int?
        var packets: Int?
        var expectedFrames: Int?
        var framesOut: Int?
        var bytes: Int?
        var written: Int?
        var device: String?
        var waited: Double?
        var elapsed: Double?
    }
}
