// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Capture
import CommandLineSupport
import LiveSessions
import MediaTypes
import Synchronization
import VAToolbox

/// How far a recording is.
struct RecordProgress: RunProgress {
    let status: LiveStatus
    let levels: SoundLevels

    var hasBegun: Bool { status.encodedPictures > 0 || status.duration > .zero }

    func line(elapsed: Double, width: Int) -> String {
        var parts = [phase, Readable.clock(status.duration.seconds)]
        if let active = status.inputs.first(where: \.isActive), let pictures = active.contents?.pictures {
            parts.append("\(pictures.width)x\(pictures.height)")
        }
        if status.encodedPictures > 0 {
            parts.append(Readable.count(status.encodedPictures, "frame"))
            if status.duration > .zero {
                let rate = Double(status.encodedPictures) / status.duration.seconds
                parts.append("\(Readable.number(rate, places: 1)) fps")
            }
        }
        if let losses = status.lossText { parts.append(losses) }
        if let bar = LevelBar.text(levels.take(for: .line)) { parts.append(bar) }
        for input in status.inputs {
            let gone = input.error == nil ? input.missing.keys.sorted() : [input.name]
            parts += gone.map { "\($0) is gone" }
        }
        return String(parts.joined(separator: "  ").prefix(max(width, 0)))
    }

    private var phase: String {
        switch status.phase {
        case .starting: "waiting for the devices"
        case .running: "recording"
        case .paused: "paused"
        case .finishing: "finishing"
        }
    }

    var members: JSON.KeyValuePairs {
        [
            "phase": .string(status.phase.rawValue), "time": .number(status.duration.seconds),
            "frames": .integer(status.encodedPictures), "lost": status.lossDocument,
            "copied": status.copyDocument, "converted": status.conversionDocument,
            "levels": .array(
                levels.take(for: .document).map { $0.isFinite ? .number(($0 * 10).rounded() / 10) : .null }
            ),
            "inputs": .array(status.inputs.map(\.document)),
            "encoder": status.encoder.map(\.identity.document) ?? .null,
        ]
    }
}

extension LiveStatus {
    /// Why the session has ended early; `nil` if it was stopped.
    var failureText: String? { failure.map { "it ended early, with what there was until then: \($0.readable)" } }

    /// The pictures that are lost, with their reasons; `nil` if there are none.
    var lossText: String? {
        let device = inputs.reduce(0) { $0 + $1.lostByDevice }
        let reader = inputs.reduce(0) { $0 + $1.lostByReader }
        let reasons = [(device, "device"), (reader, "reader"), (lostByEncoder, "encoder")].filter { $0.0 > 0 }
        if reasons.isEmpty { return nil }
        return "lost " + reasons.map { "\($0.0) (\($0.1))" }.joined(separator: ", ")
    }

    /// The pictures that are lost, by their reasons.
    var lossDocument: JSON {
        .object([
            "device": .integer(inputs.reduce(0) { $0 + $1.lostByDevice }),
            "reader": .integer(inputs.reduce(0) { $0 + $1.lostByReader }),
            "encoder": .integer(lostByEncoder),
        ])
    }

    /// The copies of whole pictures by the CPU, by their places.
    var copyDocument: JSON {
        .object([
            "device": .integer(inputs.reduce(0) { $0 + $1.copied }),
            "encoder": .integer(copiedPictures),
        ])
    }

    /// The pictures whose size, format or colour was converted, by who has done it.
    var conversionDocument: JSON {
        .object(["gpu": .integer(convertedByEncoder), "cpu": .integer(convertedByCPU)])
    }
}

extension LiveStatus {
    /// The replacements of the encoder as text; `nil` if there were none.
    var switchText: String? {
        let repeated = switches.reduce(0) { $0 + $1.repeatedFrames }
        return switches.isEmpty ? nil : "\(switches.count), \(Readable.count(repeated, "frame")) encoded again"
    }

    /// The replacements of the encoder, for programs.
    var switchDocument: JSON { .array(switches.map(\.document)) }
}

extension LiveStatus.Input {
    /// The devices of a mix that are gone, with the reasons; `nil` if all are there.
    private var missingText: String? {
        if missing.isEmpty { return nil }
        return missing.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.readable)" }.joined(separator: "; ")
    }

    /// What is told when the input, or a device of a mix, is gone.
    var lossText: String {
        let (what, reason) = missing.min { $0.key < $1.key }.map { ($0.key, $0.value) } ?? (name, error)
        return "\(what) is gone, and waited for: \(reason?.readable ?? "it is back already")"
    }

    /// The state of the input, for programs.
    var document: JSON {
        .object([
            "name": .string(name),
            "active": .bool(isActive),
            "width": JSON(contents?.pictures?.width),
            "height": JSON(contents?.pictures?.height),
            "format": JSON(contents?.pictures?.format),
            "sound": JSON(contents?.sound?.description),
            "memory": contents?.pictures == nil || pictures == 0 ? .null : .string(isDMABuf ? "dma-buf" : "ordinary"),
            "pictures": .integer(pictures),
            "lostByDevice": .integer(lostByDevice),
            "lostByReader": .integer(lostByReader),
            "losses": .integer(losses),
            "error": JSON(error?.readable ?? missingText),
        ])
    }
}

/// The loudest samples for each of two displays, since its own last look.
final class SoundLevels: Sendable {
    /// A display of levels.
    enum Display: CaseIterable {
        /// The line for people.
        case line
        /// The document for programs.
        case document
    }

    private let takeNew: @Sendable () -> [Double]
    private let pending = Mutex<[Display: [Double]]>([:])

    /// - Parameter takeNew: Returns the level of each channel since its last call, in dBFS.
    init(_ takeNew: @escaping @Sendable () -> [Double]) { self.takeNew = takeNew }

    /// Returns the level of each channel since the last call for this display, in dBFS; empty without sound.
    func take(for display: Display) -> [Double] {
        pending.withLock { pending in
            let new = takeNew()
            for display in Display.allCases { pending[display] = Self.louder(pending[display] ?? [], new) }
            return pending.removeValue(forKey: display) ?? []
        }
    }

    private static func louder(_ earlier: [Double], _ new: [Double]) -> [Double] {
        if new.isEmpty { return earlier }
        return earlier.count == new.count ? zip(earlier, new).map { max($0, $1) } : new
    }
}

/// The level of sound as a bar of characters.
enum LevelBar {
    private static let length = 12
    /// The level of an empty bar, in dBFS.
    private static let lowest = -60.0

    /// The loudest channel, such as `[########----] -12 dB`; `nil` without sound.
    static func text(_ levels: [Double]) -> String? {
        guard let level = levels.max() else { return nil }
        let share = level.isFinite ? min(max(1 - level / lowest, 0), 1) : 0
        let count = Int((share * Double(length)).rounded())
        let bar = String(repeating: "#", count: count) + String(repeating: "-", count: length - count)
        return "[\(bar)] " + (level.isFinite ? "\(Readable.number(level, places: 0)) dB" : "silent")
    }
}
