// SPDX-License-Identifier: GPL-2.0-or-later

import Benchmark
import HelperIPC
import MediaTypes
import SoftwareEncoder
import VAToolbox

/// The way of a frame through a session: with an encoder that does nothing, and with a small one here and in a helper, whose
/// difference is what isolation costs.
func addSessions() {
    let x264 = X264EncoderFactory()
    add("session", "an encoder that does nothing", NullFactory())
    add("session", "x264", x264)
    // `swift build -c release --product vatoolbox-helper` puts it beside the program of the benchmarks.
    do {
        _ = try HelperLocation.find()
    } catch {
        print("isolation is not measured: \(error)")
        return
    }
    add("isolation", "x264 in a helper", RemoteEncoderFactory(x264.identity, pool: .standard))
}

private func add(_ kind: String, _ words: String, _ factory: any EncoderFactory) {
    let selection = EncoderSelection(candidates: [.init(factory: factory, reason: "it is measured")])
    Benchmark("\(kind): create and finish, with \(words)") { _ in
        try await CountedSession(width: 64, height: 64, selection).finish(expecting: 0)
    }
    Benchmark("\(kind): the way of 100 frames, with \(words)") { benchmark in
        let counted = try await CountedSession(width: 64, height: 64, selection)
        benchmark.startMeasurement()
        try await counted.encode(100)
        try await counted.session.flush()
        benchmark.stopMeasurement()
        try await counted.finish(expecting: 100)
    }
}
