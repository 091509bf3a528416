// SPDX-License-Identifier: GPL-2.0-or-later

import Crypto
import MediaIO
import MediaTypes
import VAToolbox

/// What the chunks of an encode depend on: the coded pictures of the input and their times, the settings, the chunk boundaries, and the
/// version of this package.
///
/// The encoder is not part of it, because it is known only afterwards; each record names its own.
struct ChunkKey: Sendable, Hashable {
    /// The digest of everything.
    let text: String

    init(_ request: TranscodeRequest, _ plan: ChunkPlan, _ configuration: EncoderConfiguration) {
        var hash = SHA256()
        func add(_ text: String) { hash.update(data: Array(text.utf8) + [0]) }
        add(LibraryVersion.current)
        var source = request.source
        // What does not change the pictures.
        (source.limits, source.threads) = (InputLimits(), 0)
        add(Self.contents(of: source))
        add(Self.contents(of: configuration))
        add(Self.contents(of: request.video.regionsOfInterest))
        add("\(request.first.isVerified) \(request.first.leastPSNR ?? 0)")
        // A copy of the input on another machine is the same input.
        for frame in plan.index.frames {
            add("\(frame.presentationTime) \(frame.byteCount) \(frame.digest)")
        }
        add("\(plan.chunks)")
        text = ChunkRecord.hex(hash.finalize())
    }

    /// The stored properties of a value with everything in them. A description could leave some out.
    private static func contents(of value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        if mirror.children.isEmpty { return "\(value)" }
        // The case of an enumeration is the label of its only child.
        let parts = mirror.children.map { "\($0.label ?? ""):\(contents(of: $0.value))" }
        return "(" + (mirror.displayStyle == .set ? parts.sorted() : parts).joined(separator: ",") + ")"
    }
}
