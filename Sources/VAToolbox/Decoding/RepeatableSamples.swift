// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
import MediaTypes
import Synchronization

/// The samples of a session whose frames are kept on a GPU: when a helper process ends, its surfaces are lost, and the
/// frames that the consumer still has are decoded again on the CPU, when their samples are needed.
///
/// H.264 and HEVC define every decoded sample, so these frames equal the lost ones. Frames that could not be decoded again
/// must not stay on a GPU: see ``recovery(of:)``.
struct RepeatableSamples {
    private let mostBytes: Int
    private let decoders: Decoders
    /// The groups of samples some of which have no picture yet, and the one before if the first of them is open.
    private var groups: [SampleGroup] = []

    /// - Parameters:
    ///   - mostBytes: The largest size of the samples from one random access point to the next. The frames of all further
    ///     samples cannot be decoded again.
    ///   - decoders: Makes what decodes them again.
    init(mostBytes: Int, decoders: @escaping Decoders) {
        self.mostBytes = mostBytes
        self.decoders = decoders
    }

    /// Makes decoders of a codec on the CPU.
    typealias Decoders = @Sendable (VideoCodec) -> any DecoderFactory

    /// Adds a sample that is submitted for the first time.
    ///
    /// - Parameter oldest: The number of the oldest sample that has no picture yet.
    mutating func add(_ number: Int64, _ sample: SampleBuffer, oldest: Int64) {
        switch sample.randomAccess {
        case .closed: groups.append(SampleGroup(from: number, isOpen: false, decoders))
        case .open: groups.append(SampleGroup(from: number, isOpen: true, decoders))
        case .none, .gradual: break
        }
        groups.last?.add(number, sample, mostBytes: mostBytes)
        guard let first = groups.lastIndex(where: { $0.first <= oldest }) else { return }
        groups.removeFirst(groups[first].isOpen ? max(first - 1, 0) : first)
    }

    /// Returns what decodes the picture of a sample again. The samples are kept as long as it is.
    ///
    /// - Throws: `unavailable` with the reason why the picture could not be decoded again.
    func recovery(of number: Int64) throws(MediaError) -> RemoteSurface.Recovery {
        guard let index = groups.lastIndex(where: { $0.first <= number }) else {
            throw Self.obstacle("it follows no IDR picture and no open random access point", number)
        }
        let group = groups[index]
        guard let wish = SampleGroup.Wish(number, group) else {
            throw Self.obstacle("more than \(mostBytes) bytes follow the last random access point", number)
        }
        // Leading pictures refer to the group before. All pictures of a group that are wished for are decoded together.
        let before = group.isOpen && index > 0 && groups[index - 1].isWhole ? groups[index - 1] : nil
        if wish.isLeading, before == nil {
            throw Self.obstacle("it refers to pictures before an open random access point", number)
        }
        return { [before] (description) throws(MediaError) in
            try wish.group.picture(wish.number, after: before, as: description)
        }
    }

    private static func obstacle(_ reason: String, _ number: Int64) -> MediaError {
        MediaError(
            .unavailable,
            "a frame could not be decoded again if the helper process of its GPU ended: \(reason)",
            given: "sample \(number)"
        )
    }
}

/// The samples from one random access point to the next.
final class SampleGroup: Sendable {
    /// A picture that the consumer has.
    final class Wish: Sendable {
        let number: Int64
        let group: SampleGroup
        /// Whether the picture is presented before an open random access point that its sample follows.
        let isLeading: Bool

        /// - Returns: `nil` if the group does not have the sample.
        init?(_ number: Int64, _ group: SampleGroup) {
            guard let isLeading = group.state.withLock({ $0.wish(for: number, isOpen: group.isOpen) }) else {
                return nil
            }
            self.number = number
            self.group = group
            self.isLeading = isLeading
        }

        deinit { group.state.withLock { $0.forget(number) } }
    }

    private struct State {
        /// The samples up to the first one that would have exceeded the limit; empty when none of them is needed any more.
        var samples: [DecoderSample] = []
        var byteCount = 0
        /// Whether there are all of them.
        var isWhole = true
        /// The pictures that may be asked for.
        var wishes: Set<Int64> = []
        /// Those that were decoded again, or the reasons why they cannot be.
        var recovered: [Int64: Result<PixelBuffer, MediaError>] = [:]

        /// Adds a wish.
        ///
        /// - Returns: Whether the picture leads an open random access point; `nil` if there is no such sample.
        mutating func wish(for number: Int64, isOpen: Bool) -> Bool? {
            guard let first = samples.first, let known = samples.last(where: { $0.number == number }) else {
                return nil
            }
            wishes.insert(number)
            let time = known.sample.presentationTime
            return isOpen && (!time.isValid || time < first.sample.presentationTime)
        }

        mutating func forget(_ number: Int64) {
            wishes.remove(number)
            recovered[number] = nil
            // Nothing that comes later could be decoded from a part of the group.
            if !isWhole, wishes.isEmpty { samples = [] }
        }
    }

    /// The number of its first sample.
    let first: Int64
    /// Whether it starts with an open random access point.
    let isOpen: Bool
    private let decoders: RepeatableSamples.Decoders
    private let state = Mutex(State())
    /// Held while the group is decoded again, so that this happens once for all who want pictures of it.
    private let recovering = Mutex(())

    init(from first: Int64, isOpen: Bool, _ decoders: @escaping RepeatableSamples.Decoders) {
        self.first = first
        self.isOpen = isOpen
        self.decoders = decoders
    }

    /// Whether no sample was too much.
    var isWhole: Bool { state.withLock { $0.isWhole } }

    func add(_ number: Int64, _ sample: SampleBuffer, mostBytes: Int) {
        state.withLock { state in
            guard state.isWhole else { return }
            state.byteCount += sample.data.count
            guard state.byteCount <= mostBytes else {
                state.isWhole = false
                if state.wishes.isEmpty { state.samples = [] }
                return
            }
            state.samples.append(DecoderSample(number: number, sample: sample))
        }
    }

    /// Returns a picture in memory, decoded again on the CPU with all others that are wished for.
    ///
    /// - Throws: `unavailable` if the samples have no such picture; the error of the decoder.
    fileprivate func picture(
        _ number: Int64,
        after before: SampleGroup?,
        as description: PixelBuffer.Description
    ) throws(MediaError) -> PixelBuffer {
        try recovering.withLock { (_) throws(MediaError) in
            if let known = state.withLock({ $0.recovered.removeValue(forKey: number) }) { return try known.get() }
            let earlier = before?.state.withLock { $0.samples } ?? []
            // Without the lock while it is decoded: the session goes on.
            let (samples, wishes) = state.withLock { ($0.samples, $0.wishes) }
            recover(wishes, from: earlier + samples, as: description.format)
            guard let picture = state.withLock({ $0.recovered.removeValue(forKey: number) }) else {
                throw Self.lost(number)
            }
            return try picture.get()
        }
    }

    /// Decodes pictures again, and notes for each of them what came of it.
    private func recover(_ wishes: Set<Int64>, from samples: [DecoderSample], as format: PixelFormat) {
        var results: [Int64: Result<PixelBuffer, MediaError>] = [:]
        do throws(MediaError) {
            let pictures = try decode(samples, for: wishes)
            for picture in pictures { results[picture.number] = .success(try picture.buffer.converted(to: format)) }
        } catch {
            for number in wishes where results[number] == nil { results[number] = .failure(error) }
        }
        for number in wishes where results[number] == nil { results[number] = .failure(Self.lost(number)) }
        let found = results
        state.withLock { state in
            for (number, result) in found where state.wishes.contains(number) { state.recovered[number] = result }
        }
    }

    /// Decodes samples until the wanted pictures are there. All others are released at once: a group can have thousands.
    private func decode(
        _ samples: [DecoderSample],
        for wishes: Set<Int64>
    ) throws(MediaError) -> [DecodedPicture] {
        guard let format = samples.first?.sample.formatDescription else { return [] }
        let pictures = Mutex<[DecodedPicture]>([])
        let request = DecoderRequest(formatDescription: format) { output in
            guard case .picture(let picture) = output, wishes.contains(picture.number) else { return }
            pictures.withLock { $0.append(picture) }
        }
        let decoder = try decoders(format.codec).makeDecoder(request)
        for sample in samples {
            try decoder.decode(sample)
            if pictures.withLock({ $0.count }) == wishes.count { return pictures.withLock { $0 } }
        }
        try decoder.drain()
        return pictures.withLock { $0 }
    }

    private static func lost(_ number: Int64) -> MediaError {
        MediaError(
            .unavailable,
            "a frame was lost with the GPU of its decoder: it could not be decoded again",
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
