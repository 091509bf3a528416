// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
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
            let numbers = done..<min(done + options.together, options.sessions)
            try await play(numbers)
            let before = done
            done = numbers.upperBound
            if options.pause > 0, done / options.pause > before / options.pause { pause(done) }
        }
        say("end", ["sessions": done])
    }

    /// None of them is left afterwards.
    private func play(_ numbers: Range<Int>) async throws {
        let opened = try await Self.together(numbers) { try await OpenSession(options, number: $0) }
        if options.meets { pause(numbers.upperBound, open: opened.count) }
        _ = try await Self.together(opened) { try await $0.end() }
    }

    /// What comes of all of them, which go on at once.
    private static func together<Input: Sendable, Output: Sendable>(
        _ inputs: some Sequence<Input>,
        _ work: @escaping @Sendable (Input) async throws -> Output
    ) async throws -> [Output] {
        try await withThrowingTaskGroup(of: Output.self) { group in
            for input in inputs { group.addTask { try await work(input) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// A session that has taken the first half of its frames.
private struct OpenSession: Sendable {
    private let options: ScenarioOptions
    private let number: Int
    private let session: CompressionSession
    /// Counts what comes out.
    private let consumer: Task<Int, any Error>

    init(_ options: ScenarioOptions, number: Int) async throws {
        (self.options, self.number) = (options, number)
        session = try await CompressionSession(configuration: options.configuration, options: options.session)
        consumer = Task { [samples = session.samples] in
            var count = 0
            for try await _ in samples { count += 1 }
            return count
        }
        try await encode(0..<options.frames / 2)
    }

    /// Takes the other half, and is finished, cancelled or dropped.
    func end() async throws {
        try await encode(options.frames / 2..<options.frames)
        switch number / options.together % 3 {
        case 0:
            try await session.finish()
            let count = try await consumer.value
            guard count == options.frames else { throw Wrong("\(count) of \(options.frames) frames came out") }
        case 1: session.cancel()
        default: break
        }
    }

    private func encode(_ frames: Range<Int>) async throws {
        for index in frames {
            let time = MediaTime(value: Int64(index), timescale: 25)
            try await session.encode(Pictures.make(index, session.pixelBufferPool), presentationTime: time)
        }
    }
}
