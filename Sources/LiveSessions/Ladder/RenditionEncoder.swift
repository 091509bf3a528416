// SPDX-License-Identifier: GPL-2.0-or-later

internal import AssetWriting
internal import MediaTypes
internal import Streaming
internal import Synchronization
internal import VAToolbox

/// Encodes the pictures of one rendition, in a task of its own, so that none waits for another.
final class RenditionEncoder: Sendable {
    private struct Picture: Sendable {
        var buffer: PixelBuffer
        var time: MediaTime
    }

    private struct State {
        var line = PictureLine<Picture>()
        var isEnded = false
        /// The pump, while it waits for a picture.
        var pump: CheckedContinuation<Void, Never>?
        /// The callers, while they wait for room.
        var callers: [CheckedContinuation<Void, Never>] = []
        var latest: MediaTime?
    }

    let writer: AssetWriter
    let video: VideoInput
    /// The width of the pictures.
    let width: Int
    private let state = Mutex(State())

    init(writer: AssetWriter, video: VideoInput, width: Int) {
        (self.writer, self.video, self.width) = (writer, video, width)
    }

    /// The number of pictures that were dropped.
    var dropped: Int { state.withLock { $0.line.dropped } }

    /// Takes a picture. One that is not later than the last one, as after a change of inputs, is left out.
    ///
    /// - Parameter isPatient: Whether it waits for the encoder, so that no picture is dropped.
    func append(_ buffer: PixelBuffer, at time: MediaTime, isKeyFrame: Bool, isPatient: Bool) async {
        if isPatient { await waitForRoom() }
        let pump = state.withLock { state in
            if !state.isEnded, state.latest.map({ time > $0 }) ?? true {
                state.latest = time
                state.line.add(Picture(buffer: buffer, time: time), isKeyFrame: isKeyFrame)
            }
            return state.pump.take()
        }
        pump?.resume()
    }

    /// Takes no more pictures.
    func end() {
        let waiting = state.withLock { state in
            state.isEnded = true
            defer { (state.pump, state.callers) = (nil, []) }
            return state.callers + (state.pump.map { [$0] } ?? [])
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Passes pictures to the encoder until the end.
    ///
    /// - Throws: The error of the encoder, or of what takes its samples.
    func run() async throws(MediaError) {
        defer { end() }
        while let (picture, isKeyFrame) = await next() {
            try await video.append(
                picture.buffer,
                at: picture.time,
                options: FrameOptions(forceKeyFrame: isKeyFrame),
                token: isKeyFrame ? CommonKeyFrame() : nil
            )
        }
    }

    private func next() async -> (Picture, isKeyFrame: Bool)? {
        while true {
            let (picture, isEnded, callers) = state.withLock { state in
                let picture = state.line.next()
                defer { state.callers = [] }
                return (picture, state.isEnded, state.callers)
            }
            for caller in callers { caller.resume() }
            if let picture { return (picture.element, picture.isKeyFrame) }
            if isEnded { return nil }
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.line.isEmpty, !state.isEnded else { return true }
                    state.pump = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        }
    }

    private func waitForRoom() async {
        while !state.withLock({ $0.line.hasRoom || $0.isEnded }) {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard !state.line.hasRoom, !state.isEnded else { return true }
                    state.callers.append(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        }
    }
}
