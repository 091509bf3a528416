// SPDX-License-Identifier: GPL-2.0-or-later

internal import CVideo4Linux
internal import Glibc
internal import Logging
internal import MediaTypes

/// An open camera that captures. Used by one thread.
final class CameraStream {
    let device: V4L2Camera.Device
    let mode: V4L2Camera.Mode
    let picture: NegotiatedPicture
    let controls: V4L2Controls
    let queue: CameraQueue
    private(set) var timing = CameraTiming()

    private let node: VideoNode
    private let stop: StopSignal
    private let logger: Logger?

    /// Opens a camera and begins to capture.
    ///
    /// - Throws: The errors of ``V4L2Camera/init(_:in:logger:stop:)``.
    init(
        _ request: V4L2Camera.Request,
        in folder: String,
        logger: Logger?,
        stop: StopSignal
    ) throws(MediaError) {
        (self.stop, self.logger) = (stop, logger)
        let survey = CameraSurvey(folder: folder)
        let (node, device) = try survey.open(request.camera)
        let type = try survey.captureType(of: node)
        (self.node, self.device) = (node, device)
        var mode = try V4L2Camera.mode(for: request, of: device)
        picture = try node.negotiate(mode, type: type)
        let rate = try node.setRate(mode.frameRate ?? request.frameRate, type: type)
        try Self.check(rate, picture, mode, request)
        (mode.width, mode.height, mode.frameRate) = (picture.width, picture.height, rate ?? mode.frameRate)
        self.mode = mode
        controls = V4L2Controls(node)
        for setting in request.settings { try controls.set(setting.name, to: setting.value) }
        queue = try CameraQueue(node, type: type, exports: picture.layout != nil)
        try picture.check(queue.lengths, path: node.path)
        try queue.stream(true)
        logger?.info(
            "camera opened",
            metadata: [
                "camera": "\(device.name)", "path": "\(node.path)", "format": "\(mode.code)",
                "size": "\(mode.width)x\(mode.height)", "rate": "\(mode.frameRate?.description ?? "unknown")",
                "reason": "\(mode.reason)", "memory": queue.isExported ? "DMA-BUF" : "mapped",
            ]
        )
    }

    deinit { close() }

    private func close() {
        controls.close()
        queue.close()
    }

    private static func check(
        _ rate: Rational?,
        _ picture: NegotiatedPicture,
        _ mode: V4L2Camera.Mode,
        _ request: V4L2Camera.Request
    ) throws(MediaError) {
        if let size = request.size, picture.width < size.width || picture.height < size.height {
            throw MediaError(
                .unsupported,
                "the camera has set a smaller size than it offers",
                given: "\(size)",
                allowed: "\(picture.width)x\(picture.height)"
            )
        }
        if let wanted = request.frameRate, let rate, rate.doubleValue < wanted.doubleValue * 0.99 {
            throw MediaError(
                .unsupported,
                "the camera has set a lower frame rate at \(mode.width)x\(mode.height)",
                given: "\(wanted) fps",
                allowed: "\(rate) fps"
            )
        }
    }

    // MARK: - Pictures

    /// The stream for readers.
    var stream: PictureStream {
        PictureStream(
            width: picture.width,
            height: picture.height,
            frameRate: mode.frameRate,
            format: mode.code.description
        )
    }

    /// Waits for the next buffer that the driver has filled without an error. Others are counted.
    func take() throws(MediaError) -> TakenBuffer {
        while true {
            guard let buffer = try next() else { continue }
            let isError = buffer.contents.flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0
            let isEmpty = buffer.contents.filled.allSatisfy { $0.byteCount <= $0.offset }
            let isWhole = picture.layout?.isComplete(buffer.contents.filled) ?? true
            if !isError, !isEmpty, isWhole { return buffer }
            skip(buffer, isError ? "the driver has marked it" : "it is incomplete")
        }
    }

    /// Waits once; `nil` if there is no buffer yet.
    private func next() throws(MediaError) -> TakenBuffer? {
        queue.forgetReturns()
        let counts = queue.counts
        if counts.queued == 0 {
            try node.checkPresence()
            guard counts.taken > 0 else {
                throw MediaError(.inputOutput, "the camera takes no buffers any more", given: node.path)
            }
            try queue.waitForReturn(stop)
            return nil
        }
        let events = try stop.wait(for: [(node.descriptor, Int16(POLLIN))], until: nil)
        if let buffer = try queue.take() { return buffer }
        let failed = Int16(POLLERR) | Int16(POLLHUP) | Int16(POLLNVAL)
        if events.contains(where: { $0 & failed != 0 }) {
            try node.checkPresence()
            throw MediaError(.inputOutput, "the driver of the camera reports an error", given: node.path, call: "poll")
        }
        return nil
    }

    /// Counts a picture that cannot be used.
    func skip(_ buffer: TakenBuffer, _ reason: String) {
        timing.skip()
        logger?.debug("picture skipped", metadata: ["sequence": "\(buffer.contents.sequence)", "reason": "\(reason)"])
    }

    /// Returns the time of a picture that is used, and how many were lost before it.
    func times(of buffer: TakenBuffer) -> (time: MediaTime, lostBefore: Int) {
        let contents = buffer.contents
        let time = timing.time(contents.time, flags: contents.flags, arrival: MonotonicClock.now.value)
        return (MediaTime(value: time, timescale: 1_000_000_000), timing.lost(before: contents.sequence))
    }
}
