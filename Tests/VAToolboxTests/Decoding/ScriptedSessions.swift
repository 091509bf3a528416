// SPDX-License-Identifier: GPL-2.0-or-later

import TestSupport

@testable import VAToolbox

extension DecompressionSession {
    /// Makes a session whose decoders follow scripts.
    static func scripted(
        _ scripts: [DecoderScript] = [DecoderScript()],
        _ options: DecompressionOptions = .init(),
        usesThread: Bool = false
    ) async throws -> DecompressionSession {
        let candidates = scripts.enumerated().map { index, script in
            let factory = ModelDecoderFactory(script: script, name: "model \(index)", usesThread: usesThread)
            return DecoderCandidate(factory: factory, reason: "a test")
        }
        return try await DecompressionSession(
            formatDescription: ModelStream.format,
            options: options,
            candidates: candidates
        )
    }
}
