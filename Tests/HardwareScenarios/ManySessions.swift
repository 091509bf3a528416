// SPDX-License-Identifier: GPL-2.0-or-later

import EncoderIPC
import MediaTypes
import VAToolbox

/// Sessions that are finished, cancelled and dropped in turn.
struct ManySessions {
    private let options: ScenarioOptions

    init(_ options: ScenarioOptions) { self.options = options }

    func run() async throws {
        if options.pause > 0 { pause(0) }
        var done = 0
        while done < options.sessions {
            let count = min(options.together, options.sessions - done)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in done..<done + count { group.addTask { try await play(number) } }
                try await group.waitForAll()
            }
            let before = done
            done += count
            if options.pause > 0, done / options.pause > before / options.pause { pause(done) }
        }
        say("end", ["sessions": done])
    }

    private func play(_ number: Int) async throws {
        let session = try await CompressionSession(configuration: options.configuration, options: options.session)
        let consumer = Task { [samples = session.samples] in
            var count = 0
            for try await _ in samples { count += 1 }
            return count
        }
        for index in 0..<options.frames {
            let time = MediaTime(value: Int64(index), timescale: 25)
            try await session.encode(Pictures.make(index, session.pixelBufferPool), presentationTime: time)
        }
        switch number / options.together % 3 {
        case 0:
            try await session.finish()
            let count = try await consumer.value
            guard count == options.frames else { throw Wrong("\(count) of \(options.frames) frames came out") }
        case 1: session.cancel()
        default: break
        }
    }
}
