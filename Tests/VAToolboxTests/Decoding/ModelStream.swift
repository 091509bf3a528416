// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport

/// Samples of H.264 that have the NAL units of a stream, and nothing in them to decode.
struct ModelStream {
    static let format = FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [[0x67], [0x68]])

    /// The samples, in decoding order.
    private(set) var samples: [SampleBuffer] = []
    private var nextShown: Int64 = 0

    /// The presentation times of all pictures, in order.
    var times: [MediaTime] { samples.map(\.presentationTime).sorted() }

    /// The presentation times in the order in which they come if everything that was submitted comes at a flush.
    func times(flushingAfter flushes: Set<Int>) -> [MediaTime] {
        var (times, start): ([MediaTime], Int) = ([], 0)
        for end in flushes.union([samples.count - 1]).sorted() {
            times += samples[start...end].map(\.presentationTime).sorted()
            start = end + 1
        }
        return times
    }

    /// Makes random groups of pictures.
    init(seed: UInt64, groups: Int = 4) {
        var random = SplitMix(seed)
        for group in 0..<groups {
            let isOpen = group > 0 && random.isOne(of: 3)
            if isOpen { add(.open, leading: random.below(4)) } else { add(.closed) }
            for _ in 0..<random.below(5) { add(.none, leading: random.below(4)) }
        }
    }

    init() {}

    /// Adds a picture, and after it those that are presented before it.
    mutating func add(_ access: RandomAccess, leading: Int = 0) {
        let first = nextShown
        nextShown += Int64(leading) + 1
        append(access, isDisposable: false, shown: first + Int64(leading))
        for index in 0..<leading { append(.none, isDisposable: index % 2 == 0, shown: first + Int64(index)) }
    }

    private mutating func append(_ access: RandomAccess, isDisposable: Bool, shown: Int64) {
        var units: [[UInt8]] = []
        switch access {
        case .none: units = [[isDisposable ? 0x01 : 0x41, 0x9A, 1]]
        case .closed: units = [[0x65, 0x88, 1]]
        case .open: units = [Self.recoveryPoint(0), [0x41, 0x9A, 1]]
        case .gradual(let distance): units = [Self.recoveryPoint(UInt32(distance)), [0x41, 0x9A, 1]]
        }
        let data = (try? NALUnitFraming.lengthPrefixed(.four).join(units)) ?? []
        samples.append(
            SampleBuffer(
                data: CodedData(data),
                presentationTime: MediaTime(value: shown, timescale: 25),
                decodeTime: MediaTime(value: Int64(samples.count) - 4, timescale: 25),
                duration: MediaTime(value: 1, timescale: 25),
                isKeyFrame: access == .closed,
                formatDescription: Self.format,
                formatDescriptionChanged: samples.isEmpty
            )
        )
    }

    private static func recoveryPoint(_ distance: UInt32) -> [UInt8] {
        let message = try? H264RecoveryPoint(recoveryFrameCnt: distance).message()
        return SEIMessage.nalUnit(message.map { [$0] } ?? [], codec: .h264)
    }
}
