// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import HelperIPC
import MediaTypes
import VAToolbox

/// How long it takes to get an encoder, here and in a helper: one that is started for it, or a spare one.
struct StartTrial {
    private let options: MeterOptions

    private struct Pair: Encodable {
        /// Microseconds.
        var inProcess: Double
        var process: Double
    }

    init(_ options: MeterOptions) { self.options = options }

    /// Prints a line of JSON for each pair.
    func run() throws {
        let pool = try options.makePool()
        let here = options.factory(.inProcess, pool)
        let there = options.factory(.process, pool)
        _ = (try time(here), try time(there))
        for index in 0..<options.pairs {
            awaitQuiet()
            var times: [Double] = []
            for factory in index % 2 == 0 ? [here, there] : [there, here] { times.append(try time(factory)) }
            if index % 2 != 0 { times.reverse() }
            let pair = Pair(inProcess: times[0], process: times[1])
            say(String(decoding: try JSONEncoder().encode(pair), as: UTF8.self))
        }
    }

    /// Waits until helpers that were closed are gone and a spare one has done what it does at its start.
    private func awaitQuiet() {
        let wanted = options.spare > 0 ? 1 : 0
        var last: [Double?] = []
        while true {
            let helpers = ProcessState.children
            let times = helpers.map { Clocks.processorTime(of: $0) }
            if helpers.count == wanted, times == last { return }
            last = times
            usleep(50_000)
        }
    }

    private func time(_ factory: any EncoderFactory) throws -> Double {
        var configuration = EncoderConfiguration(width: options.width, height: options.height)
        configuration.codec = .h264
        configuration.software.preset = .ultrafast
        let request = EncoderRequest(configuration: configuration) { _ in }
        let start = Clocks.now
        let encoder = try factory.makeEncoder(request)
        let end = Clocks.now
        withExtendedLifetime(encoder) {}
        return end - start
    }
}
