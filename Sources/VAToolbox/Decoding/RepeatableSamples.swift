// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import EncoderIPC
import Logging
import MediaTypes
import Synchronization
import VideoDecoding

/// The samples of a session whose frames are kept on a GPU: when a helper process ends, its surfaces are lost, and the
/// frames that the consumer still has are decoded again on the CPU, when their samples are needed.
///
/// H.264 and HEVC define every decoded sample, so these frames equal the lost ones. Film grain is an exception: libavcodec
/// adds it on the CPU, GPUs do not. Frames before the first IDR or open random access point, and those of a group that is
/// too large to keep, are lost with their helper.
struct RepeatableSamples {
    private let mostBytes: Int
    private let logger: Logger?
    /// The groups of samples some of which have no picture yet, and the one before if the first of them is open.
    private var groups: [SampleGroup] = []

    /// - Parameters:
    ///   - mostBytes: The largest size of the samples from one random access point to the next. The frames of a larger
    ///     group are lost with their helper.
    ///   - logger: Receives libavcodec's messages.
    init(mostBytes: Int, logger: Logger?) {
        self.mostBytes = mostBytes
        self.logger = logger
    }

    /// Adds a sample that is submitted for the first time.
    ///
    /// - Parameter oldest: The number of the oldest sample that has no picture yet.
    mutating func add(_ number: Int64, _ sample: SampleBuffer, oldest: Int64) {
        switch sample.randomAccess {
        case .closed: groups.append(SampleGroup(from: number, isOpen: false, logger))
        case .open: groups.append(SampleGroup(from: number, isOpen: true, logger))
        case .none, .gradual: break
        }
        groups.last?.add(number, sample, mostBytes: mostBytes)
        guard let first = groups.lastIndex(where: { $0.first <= oldest }) else { return }
        groups.removeFirst(groups[first].isOpen ? max(first - 1, 0) : first)
    }

    /// Lets a picture that is on a GPU come back from its sample. The samples are kept as long as such a picture.
    func protect(_ picture: DecodedPicture) {
        guard case .deviceSurface(let surface as RemoteSurface) = picture.buffer.storage,
            let recovery = recovery(of: picture.number)
        else { return }
        surface.recover(by: recovery)
    }

    /// Returns what decodes the picture of a sample again.
    func recovery(of number: Int64) -> RemoteSurface.Recovery? {
        guard let index = groups.lastIndex(where: { $0.first <= number }) else { return nil }
        let group = groups[index]
        // Pictures that are presented before an open start refer to the group before.
        let before = group.isOpen && index > 0 ? groups[index - 1] : nil
        let wish = SampleGroup.Wish(number, group)
        return { (description) throws(MediaError) in
            try wish.group.picture(wish.number, after: before, as: description)
        }
    }
}

/// The samples from one random access point to the next.
final class SampleGroup: Sendable {
    /// A picture that the consumer has.
    final class Wish: Sendable {
        let number: Int64
        let group: SampleGroup

        init(_ number: Int64, _ group: SampleGroup) {
            self.number = number
            self.group = group
            group.state.withLock { _ = $0.wishes.insert(number) }
        }

        deinit {
            group.state.withLock { state in
                state.wishes.remove(number)
                state.recovered[number] = nil
            }
        }
    }

    private struct State {
        /// `nil` if they are too large.
        var samples: [DecoderSample]? = []
        var byteCount = 0
        /// The pictures that may be asked for.
        var wishes: Set<Int64> = []
        /// Those that were decoded again.
        var recovered: [Int64: PixelBuffer] = [:]
    }

    /// The number of its first sample.
    let first: Int64
    /// Whether it starts with an open random access point.
    let isOpen: Bool
    private let logger: Logger?
    private let state = Mutex(State())

    init(from first: Int64, isOpen: Bool, _ logger: Logger?) {
        self.first = first
        self.isOpen = isOpen
        self.logger = logger
    }

    func add(_ number: Int64, _ sample: SampleBuffer, mostBytes: Int) {
        state.withLock { state in
            state.byteCount += sample.data.count
            if state.byteCount > mostBytes { state.samples = nil }
            state.samples?.append(DecoderSample(number: number, sample: sample))
        }
    }

    /// Returns a picture in memory, decoded again on the CPU with all others that are wished for.
    ///
    /// - Throws: `unavailable` if the samples were too large to be kept, or have no such picture; the error of the
    ///   decoder.
    fileprivate func picture(
        _ number: Int64,
        after before: SampleGroup?,
        as description: PixelBuffer.Description
    ) throws(MediaError) -> PixelBuffer {
        let earlier = before?.state.withLock { $0.samples } ?? []
        return try state.withLock { (state) throws(MediaError) in
            if let known = state.recovered.removeValue(forKey: number) { return known }
            guard let samples = state.samples, let start = (earlier + samples).first else {
                throw Self.lost("its samples take too much memory", number)
            }
            let wishes = state.wishes.union([number])
            let pictures = try decode(earlier + samples, from: start.sample.formatDescription, for: wishes)
            for picture in pictures {
                state.recovered[picture.number] = try picture.buffer.converted(to: description.format)
            }
            guard let picture = state.recovered.removeValue(forKey: number) else {
                throw Self.lost("it could not be decoded again", number)
            }
            return picture
        }
    }

    /// Decodes samples until the wanted pictures are there. All others are released at once: a group can have thousands.
    private func decode(
        _ samples: [DecoderSample],
        from format: FormatDescription,
        for wishes: Set<Int64>
    ) throws(MediaError) -> [DecodedPicture] {
        let pictures = Mutex<[DecodedPicture]>([])
        let request = DecoderRequest(formatDescription: format) { output in
            guard case .picture(let picture) = output, wishes.contains(picture.number) else { return }
            pictures.withLock { $0.append(picture) }
        }
        let decoder = try SoftwareDecoderFactory(codec: format.codec, logger: logger).makeDecoder(request)
        for sample in samples {
            try decoder.decode(sample)
            if pictures.withLock({ $0.count }) == wishes.count { return pictures.withLock { $0 } }
        }
        try decoder.drain()
        return pictures.withLock { $0 }
    }

    private static func lost(_ reason: String, _ number: Int64) -> MediaError {
        MediaError(
            .unavailable,
            "a frame was lost with the GPU of its decoder: \(reason)",
            given: "sample \(number)",
            isPermanent: true
        )
    }
}

extension PixelBuffer {
    /// Returns the picture in another pixel format of the same chroma format and bit depth.
    fileprivate func converted(to format: PixelFormat) throws(MediaError) -> PixelBuffer {
        guard format != self.format else { return self }
        var wanted = pictureDescription
        wanted.format = format
        let copy = try PixelBuffer(wanted)
        let (width, height) = (width, height)
        try copy.withPlanes { (target) throws(MediaError) in
            let target = PictureComponents(format.arrangement, width: width, height: height, planes: target)
            try withPlanes { (planes) throws(MediaError) in
                PictureComponents(self.format.arrangement, width: width, height: height, planes: planes).write(
                    to: target
                )
            }
        }
        return copy
    }
}
