// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import Testing

/// Uncompressed pictures, which are read past libavformat's packets.
@Suite struct SourceRawPictureTests {
    private static let pictureSize = 64 * 48 * 3 / 2
    private static let raw = MediaSource.RawVideo(
        pixelFormat: "yuv420p",
        width: 64,
        height: 48,
        frameRate: Rational(25)
    )

    private let folder: ClipFolder
    /// The 100 pictures of the clip.
    private let pictures: [UInt8]

    init() throws {
        folder = try ClipFolder()
        _ = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x48:rate=25:duration=4 -pix_fmt yuv420p -f rawvideo clip.yuv"
        )
        pictures = try folder.contents("clip.yuv")
    }

    private func picture(_ index: Int) -> ArraySlice<UInt8> {
        pictures[(index * Self.pictureSize)..<((index + 1) * Self.pictureSize)]
    }

    /// The clip as YUV4MPEG2, each picture after a mark of its own, and its source's options.
    private func clip(_ name: String, mark: (Int) -> String = { _ in "FRAME\n" }) throws -> String {
        guard name.hasSuffix("y4m") else { return try folder.write(name, pictures) }
        var bytes = Array("YUV4MPEG2 W64 H48 F25:1 Ip A1:1 C420jpeg\n".utf8)
        for index in 0..<100 { bytes += Array(mark(index).utf8) + picture(index) }
        return try folder.write(name, bytes)
    }

    private func options(_ name: String) -> MediaSource.Options {
        .init(rawVideo: name.hasSuffix("yuv") ? Self.raw : nil)
    }

    /// Memory is used again only when nobody holds the picture in it.
    @Test(arguments: ["a.y4m", "a.yuv"])
    func heldPicturesAreNotWrittenOver(name: String) throws {
        let frames = try Reading(clip(name), options(name)).frames
        #expect(frames.count == 100)
        #expect(try frames.flatMap { try $0.buffer.bytes } == pictures)
        #expect(frames.map(\.presentationTime) == (0..<100).map { MediaTime(value: $0, timescale: 25) })
        #expect(frames.allSatisfy { $0.duration == MediaTime(value: 1, timescale: 25) })
    }

    @Test(arguments: ["a.y4m", "a.yuv"])
    func startAndDurationCutToTheFrame(name: String) throws {
        var options = options(name)
        options.start = MediaTime(value: 251, timescale: 100)
        options.duration = MediaTime(value: 1, timescale: 1)
        let frames = try Reading(clip(name), options).frames
        #expect(frames.count == 25)
        #expect(try frames.flatMap { try $0.buffer.bytes } == (63..<88).flatMap { picture($0) })
    }

    @Test func marksMayCarryParameters() throws {
        let path = try clip("a.y4m") { $0 < 50 ? "FRAME\n" : "FRAME XCOMMENT=\($0)\n" }
        #expect(try Reading(path).pictures == pictures)
    }

    @Test func wrongMarkIsDamage() throws {
        let source = try MediaSource(path: clip("a.y4m") { $0 == 60 ? "FRAMF\n" : "FRAME\n" })
        let frames = try Reading(source).frames
        #expect(frames.count >= 60)
        #expect(try frames.prefix(60).flatMap { try $0.buffer.bytes } == (0..<60).flatMap { picture($0) })
        #expect(source.problems.isLossy)
    }

    @Test(arguments: ["a.y4m", "a.yuv"])
    func halfAPictureAtTheEndIsReported(name: String) throws {
        _ = try clip(name)
        let path = try folder.write("b-\(name)", folder.contents(name).dropLast(Self.pictureSize / 2))
        let source = try MediaSource(path: path, options: options(name))
        #expect(try Reading(source).pictures == (0..<99).flatMap { picture($0) })
        #expect(source.problems.isLossy)
    }

    // MARK: Pictures that stay in the file

    private func leaving(_ path: String, _ options: MediaSource.Options) throws -> MediaSource {
        let source = try MediaSource(path: path, options: options)
        source.leavePicturesInFile()
        return source
    }

    private func areInFile(_ frames: ArraySlice<VideoFrame>) -> Bool {
        frames.allSatisfy { if case .file = $0.buffer.storage { true } else { false } }
    }

    @Test(arguments: ["a.y4m", "a.yuv"])
    func picturesAreLeftInTheFile(name: String) throws {
        let path = try clip(name)
        let frames = try Reading(leaving(path, options(name))).frames
        let plain = try Reading(path, options(name)).frames
        #expect(areInFile(frames.dropFirst()))
        #expect(try frames.flatMap { try $0.buffer.bytes } == pictures)
        #expect(frames.map(\.presentationTime) == plain.map(\.presentationTime))
        #expect(frames.map(\.duration) == plain.map(\.duration))
        #expect(frames.map(\.buffer.pictureDescription) == plain.map(\.buffer.pictureDescription))
    }

    @Test(arguments: ["a.y4m", "a.yuv"])
    func leftPicturesAreCutToTheFrame(name: String) throws {
        var options = options(name)
        options.start = MediaTime(value: 251, timescale: 100)
        options.duration = MediaTime(value: 1, timescale: 1)
        let frames = try Reading(leaving(clip(name), options)).frames
        #expect(try frames.flatMap { try $0.buffer.bytes } == (63..<88).flatMap { picture($0) })
        #expect(areInFile(frames.dropFirst()))
    }

    @Test func leftPicturesMayHaveMarksWithParameters() throws {
        let path = try clip("a.y4m") { $0 < 50 ? "FRAME\n" : "FRAME XCOMMENT=\($0)\n" }
        let frames = try Reading(leaving(path, .init())).frames
        #expect(try frames.flatMap { try $0.buffer.bytes } == pictures)
        #expect(areInFile(frames.dropFirst()))
    }

    @Test(arguments: ["a.y4m", "a.yuv"])
    func halfAPictureAfterLeftOnesIsReported(name: String) throws {
        _ = try clip(name)
        let path = try folder.write("b-\(name)", folder.contents(name).dropLast(Self.pictureSize / 2))
        let source = try leaving(path, options(name))
        #expect(try Reading(source).pictures == (0..<99).flatMap { picture($0) })
        #expect(source.problems.isLossy)
    }

    @Test func wrongMarkAmongLeftPicturesIsDamage() throws {
        let source = try leaving(clip("a.y4m") { $0 == 60 ? "FRAMF\n" : "FRAME\n" }, .init())
        let frames = try Reading(source).frames
        #expect(frames.count >= 60)
        #expect(try frames.prefix(60).flatMap { try $0.buffer.bytes } == (0..<60).flatMap { picture($0) })
        #expect(source.problems.isLossy)
    }
}
