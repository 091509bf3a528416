// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import TestCard
import VAToolbox

/// Encodes pictures as they come from a camera, over a line whose capacity changes: `LiveSource OUTPUT.h264`.
///
/// The camera paints 25 pictures per second. Every second or two, the line reports its capacity.
@main struct LiveSource {
    static func main() async throws {
        let path = CommandLine.arguments.dropFirst().first ?? "live.h264"

        var configuration = EncoderConfiguration(width: 640, height: 360)
        configuration.codec = .h264
        configuration.frameRate = 25
        configuration.rateControl = .averageBitRate(2_000_000, peak: .limit(2_000_000, window: 0.5))
        configuration.keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 2, timescale: 1))
        configuration.isLowLatency = true

        var options = SessionOptions()
        options.realTime = RealTimeMode(drop: .oldest, maximumWaiting: 3)
        let session = try await CompressionSession(configuration: configuration, options: options)
        print("\(session.encoder.identity), because: \(session.encoder.reason)")

        let sending = Task { [samples = session.samples] in
            let line = try Line(path: path)
            for try await sample in samples where !sample.isDropped {
                let unit = try sample.annexB(withParameterSets: sample.isKeyFrame)
                try line.send(unit)
            }
            return line.sent
        }
        let reporting = Task { [events = session.events] in
            for await event in events {
                switch event {
                case .frameDropped(let time, _): print("dropped the frame of \(time.seconds) s")
                case .frameLost(let time, _, let error): print("lost the frame of \(time.seconds) s: \(error)")
                case .encoderSwitched(let change): print("\(change.to) takes over from \(change.from)")
                case .adjusted(let adjustment): print("not as asked: \(adjustment)")
                case .encoderCreated, .encoderFailed: break
                }
            }
        }

        for number in 0..<150 {
            let buffer = try session.pixelBufferPool.make()
            try paintTestCard(number, into: buffer)
            try await session.encode(buffer, presentationTime: MediaTime(value: Int64(number), timescale: 25))
            if let rate = Line.capacity(afterFrame: number) {
                try await session.update(EncoderUpdate(bitRate: rate))
                print("\(rate) bit/s from frame \(number + 1) on")
            }
            try await Task.sleep(for: .milliseconds(40))
        }
        try await session.finish()
        let sent = try await sending.value
        await reporting.value
        let statistics = await session.statistics
        print("\(statistics.acceptedFrames) accepted, \(statistics.droppedFrames) dropped, \(sent) sent")
    }
}

/// What stands for a network connection: a file.
private final class Line {
    private let file: FileHandle
    private(set) var sent = 0

    init(path: String) throws {
        let url = URL(fileURLWithPath: path)
        try Data().write(to: url)
        file = try FileHandle(forWritingTo: url)
    }

    func send(_ unit: CodedData) throws {
        try unit.withUnsafeBytes { bytes in try file.write(contentsOf: Data(bytes)) }
        sent += 1
    }

    /// What the line carries from there on, in bits per second; `nil` for no change.
    static func capacity(afterFrame number: Int) -> Int? {
        switch number {
        case 49: 500_000
        case 99: 1_500_000
        default: nil
        }
    }
}
