// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport
internal import MediaTypes
internal import Synchronization

@testable internal import HelperIPC

/// Pictures for every run.
struct Pictures {
    let owned: PixelBufferPool
    let shared: PixelBufferPool

    init() {
        do {
            let picture = PixelBuffer.Description(format: .nv12, width: Seeds.width, height: Seeds.height)
            owned = try PixelBufferPool(picture, memory: .owned)
            shared = try PixelBufferPool(picture, memory: .shared)
        } catch {
            fatalError("no pictures can be made: \(error)")
        }
    }
}

/// A session's part: creates an encoder, and then does step after step, whatever became of the one before.
struct Client {
    private let manners: Manners
    private let steps: [UInt8]
    private let pictures: Pictures

    init(_ manners: Manners, _ steps: [UInt8], _ pictures: Pictures) {
        self.manners = manners
        self.steps = steps
        self.pictures = pictures
    }

    /// Asks a driver.
    func inspect(control: Int32) {
        var options = RemoteDriver.Options()
        options.deadline = .milliseconds(20)
        let control = Descriptor(owning: control)
        let inspection = RemoteDriver.inspect(path: "/dev/dri/renderD128", options: options) {
            (log) throws(MediaError) in
            try HelperHost.adopt(try Descriptor.duplicate(control.number), log: log)
        }
        switch inspection {
        case .reported(let report, _, _): precondition(report.profiles.count <= WireLimits.profiles)
        case .failed(let failure): precondition(failure.log.count <= InspectionNotes.lineCount)
        }
    }

    /// Encodes.
    func encode(control: Int32, connection: Int32) {
        let outputs = Outputs()
        let lines = Mutex(0)
        do {
            let connection = Descriptor(owning: connection)
            let host = try HelperHost.adopt(Descriptor(owning: control)) { line in
                precondition(line.text.utf8.count <= 4096)
                lines.withLock { $0 += 1 }
            }
            defer { host.close() }
            var deadlines = RemoteEncoderFactory.Deadlines()
            (deadlines.creation, deadlines.call) = (.milliseconds(20), .milliseconds(20))
            if manners.contains(.awaitsGreeting) { try host.awaitGreeting(within: .milliseconds(20)) }
            guard host.reserve(limit: 1) else { return }
            let request = EncoderRequest(configuration: Seeds.configuration) { outputs.take($0) }
            let encoder = try RemoteEncoder(Seeds.identity, request, deadlines) { (handlers) throws(MediaError) in
                try EncoderLink.start(try Descriptor.duplicate(connection.number), host: host, handlers: handlers)
            }
            check(encoder.properties)
            for (index, step) in steps.enumerated() { take(step, Int64(index), encoder, outputs) }
            precondition(host.limitations.count <= Greeting.mostLimitations)
        } catch {
            _ = "\(error)"
        }
        outputs.close()
    }

    private func check(_ properties: EncoderProperties) {
        let format = properties.formatDescription
        precondition((0...16).contains(properties.reorderDepth) && (0...1000).contains(properties.maximumDelay))
        precondition(format.width == Seeds.width && format.height == Seeds.height && format.codec == .h264)
        precondition(!properties.pixelFormats.isEmpty && !properties.isFailureFinal)
        _ = try? format.decoderConfigurationRecord()
    }

    private func take(_ step: UInt8, _ number: Int64, _ encoder: RemoteEncoder, _ outputs: Outputs) {
        do throws(MediaError) {
            switch step & 7 {
            case 0...4:
                let pool = manners.contains(.ownsPictures) || step & 8 != 0 ? pictures.owned : pictures.shared
                outputs.expect(number)
                let time = MediaTime(value: number, timescale: 30)
                try encoder.encode(EncoderFrame(number: number, buffer: try pool.make(), presentationTime: time))
            case 5:
                if case .done(let adjustments) = try encoder.update(Seeds.configuration) {
                    precondition(adjustments.count <= WireLimits.adjustments)
                }
            default:
                try encoder.drain()
                precondition(outputs.isComplete, "all frames are said to be out, and are not")
            }
        } catch {
            _ = error.description
        }
    }
}

/// Takes what comes out, and holds it against what went in.
private final class Outputs: Sendable {
    private struct State {
        var outstanding: Set<Int64> = []
        var isClosed = false
    }

    private let state = Mutex(State())

    func expect(_ number: Int64) { state.withLock { _ = $0.outstanding.insert(number) } }

    var isComplete: Bool { state.withLock { $0.outstanding.isEmpty } }

    /// The encoder was released.
    func close() { state.withLock { $0.isClosed = true } }

    func take(_ output: EncoderOutput) {
        switch output {
        case .failed(let error): _ = error.description
        case .coded(let frame):
            state.withLock { state in
                precondition(state.outstanding.remove(frame.number) != nil, "a frame that nobody is waiting for")
            }
            frame.data.withUnsafeBytes { data in
                if let base = data.baseAddress { touch(base, data.count) }
            }
            if let format = frame.formatDescription { _ = try? format.decoderConfigurationRecord() }
        }
    }
}
