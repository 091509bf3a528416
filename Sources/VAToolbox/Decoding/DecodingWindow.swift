// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// The samples that a new decoder would have to decode again, and what has become of each: a pure value.
///
/// It begins at the last random access point from which every picture can be decoded that has not been returned. A
/// sample is *settled* when its picture was returned or cannot come any more. Pictures come in presentation order, so a
/// sample is also settled when a picture that is presented later was returned; if its times are wrong, its picture may come
/// nevertheless.
struct DecodingWindow {
    /// A sample in the window.
    struct Entry: Sendable {
        /// The number, increasing by one in decoding order.
        let number: Int64
        /// The sample; `nil` when its memory was released although it is not settled.
        fileprivate(set) var sample: SampleBuffer?
        let presentationTime: MediaTime
        let decodeTime: MediaTime
        let duration: MediaTime
        let isKeyFrame: Bool
        /// Whether the caller wants the picture; if not, others refer to it.
        let isShown: Bool
        let token: (any Sendable)?
        let access: RandomAccess
        /// The number of IDR pictures up to this sample.
        fileprivate let sequence: Int
        /// The number of pictures before this one to which others may refer.
        fileprivate let references: Int
        fileprivate(set) var isSettled = false
        /// Whether its picture was returned.
        fileprivate(set) var isReturned = false

        /// Whether there is nothing to decode any more.
        fileprivate var isUnusable: Bool { sample == nil && isSettled }

        /// Whether its picture can no longer come after that of another sample.
        fileprivate func isOvertaken(by other: Entry) -> Bool {
            if sequence != other.sequence { return sequence < other.sequence }
            return presentationTime.isValid && other.presentationTime.isValid
                && presentationTime < other.presentationTime
        }

        /// Whether decoding that begins at a random access point returns its picture undamaged.
        fileprivate func isCorrect(after point: Entry) -> Bool {
            guard number >= point.number else { return false }
            if sequence > point.sequence { return true }
            return switch point.access {
            case .none: false
            case .gradual(let distance):
                references - point.references >= distance && !(presentationTime < point.presentationTime)
            case .open: !(presentationTime < point.presentationTime)
            case .closed: true
            }
        }
    }

    /// The entries, in decoding order.
    private(set) var entries: [Entry] = []
    /// The number of the next sample.
    private(set) var nextNumber: Int64 = 0
    /// The number of the last sample that the decoder has accepted.
    private(set) var submitted: Int64 = -1
    /// The bytes of the samples in the window.
    private(set) var byteCount = 0

    private let mostBytes: Int
    private var sequence = 0
    /// The number of pictures to which others may refer.
    private var references = 0
    /// The numbers of the random access points in the window.
    private var points: [Int64] = []
    /// The number of the oldest sample that is not settled; ``nextNumber`` if there is none.
    private(set) var oldest: Int64 = 0
    /// What is damaged or missing, as far as pictures may still be affected. Before the first sample, everything is missing.
    private var damages = [Damage(number: -1, presentationTime: .invalid)]

    /// More damage than a group of pictures has samples; what follows is affected by the first.
    private static let mostDamages = 1000

    /// Damaged data.
    private struct Damage {
        /// The number of the sample.
        var number: Int64
        /// Its presentation time; invalid if it is not known.
        var presentationTime: MediaTime

        /// Whether pictures that are correct after a random access point do not refer to the sample. Those that are presented
        /// after the point refer to none that is presented before it.
        func precedes(_ point: Entry) -> Bool {
            number < point.number
                || presentationTime.isValid && presentationTime < point.presentationTime && point.access != .none
        }
    }

    /// - Parameter mostBytes: The samples that are kept after ``releaseExcess()`` have at most this size.
    init(mostBytes: Int) { self.mostBytes = mostBytes }

    /// Whether no picture can come any more.
    var isSettled: Bool { oldest == nextNumber }

    /// Returns the entry of a sample; `nil` if it has left the window.
    func entry(_ number: Int64) -> Entry? { index(number).map { entries[$0] } }

    private func index(_ number: Int64) -> Int? {
        guard let first = entries.first, number >= first.number, number < nextNumber else { return nil }
        return Int(number - first.number)
    }
}

// MARK: - Samples

extension DecodingWindow {
    /// Adds the next sample in decoding order.
    ///
    /// - Returns: Its number.
    @discardableResult
    mutating func add(_ sample: SampleBuffer, isShown: Bool = true, token: (any Sendable)? = nil) -> Int64 {
        let access = sample.randomAccess
        if access == .closed { sequence += 1 }
        let number = nextNumber
        nextNumber += 1
        entries.append(
            Entry(
                number: number,
                sample: sample,
                presentationTime: sample.presentationTime,
                decodeTime: sample.decodeTime,
                duration: sample.duration,
                isKeyFrame: sample.isKeyFrame,
                isShown: isShown,
                token: token,
                access: access,
                sequence: sequence,
                references: references
            )
        )
        if !sample.isDisposable { references += 1 }
        byteCount += sample.data.count
        if access != .none { points.append(number) }
        return number
    }

    /// Adds a sample whose data cannot be given to a decoder: what refers to it is damaged.
    mutating func addUnusable(_ sample: SampleBuffer) {
        // What follows the first of several is damaged by it already.
        if entries.last?.isUnusable == true { return }
        let number = add(sample)
        if points.last == number { points.removeLast() }
        guard let index = index(number) else { return }
        byteCount -= sample.data.count
        entries[index].sample = nil
        entries[index].isReturned = true
        settle(index)
        noteDamage(from: number)
        if submitted == number - 1 { submitted = number }
    }

    /// The next sample for the decoder; `nil` if it has all.
    var next: Entry? {
        var number = submitted + 1
        while let entry = entry(number), entry.isUnusable { number += 1 }
        return entry(number)
    }

    /// Records that the decoder has accepted a sample.
    mutating func accepted(_ number: Int64) {
        submitted = number
        trim()
    }

    /// Releases samples while there are too many bytes of them: those before the first random access point after the oldest
    /// sample; all, if there is none. Called when the decoder has accepted them.
    mutating func releaseExcess() {
        guard byteCount > mostBytes else { return }
        while byteCount > mostBytes, let oldest = entries.firstIndex(where: { $0.sample != nil }) {
            let later = entries.indices.dropFirst(oldest + 1).first { entries[$0].access != .none }
            for index in oldest..<(later ?? entries.endIndex) {
                byteCount -= entries[index].sample?.data.count ?? 0
                entries[index].sample = nil
            }
        }
        removeEntries(before: entries.firstIndex { !$0.isSettled || $0.sample != nil } ?? entries.endIndex)
    }

    private mutating func removeEntries(before end: Int) {
        guard end > 0 else { return }
        for entry in entries[..<end] { byteCount -= entry.sample?.data.count ?? 0 }
        entries.removeFirst(end)
        let first = entries.first?.number ?? nextNumber
        points.removeAll { $0 < first }
    }

    /// Finds the oldest sample that is not settled again.
    private mutating func findOldest() {
        while let entry = entry(oldest), entry.isSettled { oldest += 1 }
    }

    /// Leaves only what follows the last random access point from which every missing picture can be decoded.
    private mutating func trim() {
        guard let first = entries.first?.number else { return }
        let start = points.last { point in
            guard point > first, point <= min(oldest, submitted + 1), let start = entry(point), start.sample != nil
            else { return false }
            guard start.access == .closed || start.access == .open && hasTrailing(start) else { return false }
            return missing.allSatisfy { $0.isCorrect(after: start) }
        }
        if let start { removeEntries(before: Int(start - first)) }
    }

    /// Whether a sample after an open random access point is presented after it. Those that are presented before it precede
    /// that sample in decoding order (HEVC 8.1.3).
    private func hasTrailing(_ point: Entry) -> Bool {
        guard let index = index(point.number) else { return false }
        return entries[(index + 1)...].contains { point.isOvertaken(by: $0) }
    }

    /// The samples that are not settled.
    private var missing: [Entry] {
        index(oldest).map { entries[$0...].filter { !$0.isSettled } } ?? []
    }
}

// MARK: - Pictures

extension DecodingWindow {
    /// The result of a returned picture.
    struct Return {
        /// The sample of the picture; `nil` if it was settled before, as after decoding again.
        var entry: Entry?
        /// Whether the picture is damaged, or refers to damaged or missing pictures.
        var isDamaged = false
        /// The samples whose pictures cannot come any more, if times are right.
        var missing: [Entry] = []
        /// Whether the sample was among those of an earlier picture.
        var wasMissing = false
    }

    /// Records a returned picture.
    mutating func returned(_ number: Int64, isDamaged: Bool = false) -> Return {
        guard let index = index(number) else { return Return() }
        let entry = entries[index]
        if isDamaged { noteDamage(from: number) }
        defer { trim() }
        guard !entry.isReturned else { return Return() }
        entries[index].isReturned = true
        // Wrong times may have settled it before: it comes nevertheless.
        if entry.isSettled { return Return(entry: entry, isDamaged: isDamaged || isAffected(entry), wasMissing: true) }
        settle(index)
        let others = missing.filter { $0.isOvertaken(by: entry) }
        let result = Return(entry: entry, isDamaged: isDamaged || isAffected(entry), missing: others)
        for other in others { if let index = self.index(other.number) { settle(index) } }
        return result
    }

    /// Records the end of a drain: no more pictures come.
    ///
    /// - Returns: The samples without a picture.
    mutating func settleAll() -> [Entry] {
        let missing = missing
        for entry in missing { if let index = index(entry.number) { settle(index) } }
        trim()
        return missing
    }

    private mutating func settle(_ index: Int) {
        entries[index].isSettled = true
        findOldest()
    }

    /// Records that the data of a sample is damaged.
    mutating func noteDamage(from number: Int64) {
        // Earlier damage that no random access point has ended reaches as far.
        let isCovered = damages.contains { known in
            known.number <= number && !points.contains { known.number < $0 && $0 <= number }
                && (!known.presentationTime.isValid || known.number == number || known.number == -1)
        }
        guard !isCovered, damages.count < Self.mostDamages else { return }
        damages.append(Damage(number: number, presentationTime: entry(number)?.presentationTime ?? .invalid))
    }

    /// Returns whether an entry is affected by earlier damage, and forgets damage that a random access point has ended.
    private mutating func isAffected(_ entry: Entry) -> Bool {
        guard !damages.isEmpty else { return false }
        // Pictures come in presentation order, so all that may be affected by what precedes such a point have come.
        for point in points where point <= entry.number {
            guard let point = self.entry(point), entry.isCorrect(after: point) else { continue }
            damages.removeAll { $0.precedes(point) }
        }
        return damages.contains { $0.number <= entry.number }
    }
}

// MARK: - Decoding again

extension DecodingWindow {
    /// The number of the sample at which another decoder has to begin: a random access point, or the first sample of
    /// all. `nil` if it can only begin at a later sample, which is not there yet.
    var restart: Int64? {
        guard let first = entries.first(where: { $0.sample != nil }) else { return nil }
        if first.number == 0 { return 0 }
        let points = points.filter { $0 >= first.number }.compactMap(entry)
        return (points.first { $0.access == .open || $0.access == .closed } ?? points.last)?.number
    }

    /// Records that decoding begins again at ``restart``.
    ///
    /// - Returns: The samples whose pictures are lost, because what they refer to has been released.
    mutating func begin(at start: Int64?) -> [Entry] {
        let end = start.flatMap(index) ?? entries.endIndex
        let lost = entries[..<end].filter { !$0.isSettled }
        for index in entries[..<end].indices {
            entries[index].isReturned = true
            settle(index)
        }
        if let first = lost.first { noteDamage(from: first.number) }
        if let start, case .gradual? = entry(start)?.access { noteDamage(from: start - 1) }
        submitted = (start ?? nextNumber) - 1
        removeEntries(before: end)
        return lost
    }
}
