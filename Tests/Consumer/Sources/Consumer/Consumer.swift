// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// A program of someone who depends on VAToolbox. Fails when what it computes is not what it should be.
@main struct Consumer {
    static func main() throws {
        let frame = MediaTime(value: 1001, timescale: 30_000)
        let second = frame * 30
        print("30 frames of \(frame) s last \(second) s, \(second.converted(to: 90_000)) s on MPEG's clock")
        guard second.converted(to: 90_000) == MediaTime(value: 90_090, timescale: 90_000) else { throw Failure() }
    }

    struct Failure: Error {}
}
