// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import LiveSessions

/// What a replay keeps; times are in milliseconds.
@Suite struct ReplayUnitsTests {
    private typealias Units = ReplayUnits<String, String>

    private func time(_ milliseconds: Int) -> MediaTime { MediaTime(value: Int64(milliseconds), timescale: 1000) }

    private func units(seconds: Int) -> Units { Units(length: time(seconds * 1000)) }

    private func addPicture(_ at: Int, isKeyFrame: Bool = false, to units: inout Units) {
        units.add(
            .init(
                content: (isKeyFrame ? "K" : "P") + "\(at)",
                presentationTime: time(at),
                decodeTime: time(at),
                isKeyFrame: isKeyFrame,
                byteCount: 100
            )
        )
    }

    private func addSound(_ at: Int, to units: inout Units) {
        units.add(.init(content: "A\(at)", time: time(at), byteCount: 10))
    }

    /// What is written, as words with the times in the file.
    private func words(_ units: Units) -> [String]? {
        units.written()?.map { unit in
            switch unit {
            case .picture(let name, let presentationTime, _):
                return "\(name)@\(presentationTime.converted(to: 1000).value)"
            case .packet(let name, let shift):
                let own = Int64(name.dropFirst()) ?? 0
                return "\(name)@\(own + shift.converted(to: 1000).value)"
            }
        }
    }

    @Test func soundThatWasWrittenBeforeItsKeyFrameIsKept() {
        var units = units(seconds: 2)
        addPicture(0, isKeyFrame: true, to: &units)
        // The encoder of sound is half a second ahead.
        for at in stride(from: 0, through: 6000, by: 500) {
            addSound(at + 500, to: &units)
            if at > 0 { addPicture(at, isKeyFrame: at % 1000 == 0, to: &units) }
        }
        #expect(words(units)?.prefix(4) == ["K4000@0", "A4000@0", "P4500@500", "A4500@500"])
        #expect(words(units)?.last == "A6500@2500")
    }

    @Test func theLastOldEnoughKeyFrameIsTheFirst() {
        var units = units(seconds: 2)
        #expect(words(units) == nil)
        for at in stride(from: 0, through: 5000, by: 500) { addPicture(at, isKeyFrame: at % 1500 == 0, to: &units) }
        // At 4500, the replay begins at 1500: 3000 would be too late.
        #expect(words(units)?.first == "K1500@0")
        #expect(units.count == 8)
        #expect(units.byteCount == 800)
    }

    @Test(arguments: [false, true]) func anHourStaysBounded(isIntra: Bool) {
        var units = units(seconds: 10)
        var largest = 0
        for at in stride(from: 0, to: 3_600_000, by: 40) {
            addPicture(at, isKeyFrame: isIntra || at % 2000 == 0, to: &units)
            for sound in 0..<2 { addSound(at + sound * 20, to: &units) }
            largest = max(largest, units.count)
        }
        // 10 s, and at most two groups of 2 s, of 25 pictures and 50 packets.
        #expect(largest <= 14 * 75)
        #expect(units.count >= 10 * 75)
        let pictures = units.written()?.count { if case .picture = $0 { true } else { false } } ?? 0
        #expect(units.byteCount == pictures * 100 + (units.count - pictures) * 10)
    }

    /// The time does not depend on how much is kept: an hour of 60 pictures a second takes no minutes.
    @Test(.timeLimit(.minutes(60))) func aLongReplayIsQuick() {
        var units = units(seconds: 3600)
        for number in 0..<432_000 { addPicture(number * 50 / 3, isKeyFrame: true, to: &units) }
        #expect((216_000...216_010).contains(units.count))
    }

    @Test func picturesThatStopDoNotKeepSound() {
        var units = units(seconds: 10)
        for at in stride(from: 0, to: 3000, by: 500) { addPicture(at, isKeyFrame: at % 2000 == 0, to: &units) }
        for at in stride(from: 0, through: 3_600_000, by: 20) { addSound(at, to: &units) }
        #expect(units.count <= 6 + 502)
        let words = words(units) ?? []
        // The last pictures are at once at the beginning, and then the sound of the last 10 s.
        #expect(words.prefix(6).map { $0.prefix { $0 != "@" } } == ["K0", "P500", "P1000", "P1500", "K2000", "P2500"])
        #expect(words[5] == "P2500@5")
        #expect(words[6] == "A3590000@6")
        #expect(words.last == "A3600000@10006")
    }

    @Test func picturesThatComeBackFollow() {
        var units = units(seconds: 10)
        addPicture(0, isKeyFrame: true, to: &units)
        addPicture(500, to: &units)
        for at in stride(from: 0, to: 60_000, by: 1000) { addSound(at, to: &units) }
        addPicture(60_000, isKeyFrame: true, to: &units)
        addPicture(60_500, to: &units)
        let words = words(units) ?? []
        #expect(words.prefix(3) == ["K0@0", "P500@1", "A49000@2"])
        #expect(words.suffix(2) == ["K60000@11002", "P60500@11502"])
        addPicture(71_000, isKeyFrame: true, to: &units)
        #expect(self.words(units) == ["K60000@0", "P60500@500", "K71000@11000"])
    }

    /// Pictures that refer to later ones are decoded and shown in their order also when they are moved.
    @Test func movedPicturesKeepTheirOrder() {
        var units = units(seconds: 10)
        let shown = [2, 6, 4, 3, 5, 10, 8, 7, 9]
        for (index, at) in shown.enumerated() {
            units.add(
                .init(
                    content: "\(at)",
                    presentationTime: time(at * 40),
                    decodeTime: time(index * 40),
                    isKeyFrame: index == 0,
                    byteCount: 1
                )
            )
        }
        for at in stride(from: 0, through: 60_000, by: 20) { addSound(at, to: &units) }
        var pictures: [(name: Int, shown: MediaTime, decoded: MediaTime)] = []
        for case .picture(let name, let shown, let decoded) in units.written() ?? [] {
            pictures.append((Int(name) ?? 0, shown, decoded))
        }
        #expect(pictures.map(\.name) == shown)
        #expect(pictures.allSatisfy { $0.decoded <= $0.shown })
        #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.decoded < $1.decoded })
        #expect(pictures.sorted { $0.shown < $1.shown }.map(\.name) == Array(2...10))
        #expect(Set(pictures.map(\.shown)).count == 9)
    }

    @Test func soundAloneIsKeptForTheLength() {
        var units = units(seconds: 2)
        units.hasVideo = false
        #expect(units.written() == nil)
        for at in stride(from: 0, through: 10_000, by: 500) { addSound(at, to: &units) }
        #expect(words(units) == ["A8000@0", "A8500@500", "A9000@1000", "A9500@1500", "A10000@2000"])
        units.add(.init(content: "A0", time: .invalid, byteCount: 10))
        #expect(units.count == 5)
    }
}
