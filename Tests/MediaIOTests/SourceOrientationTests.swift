// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaIO
import MediaTypes
import TestSupport
import Testing

@Suite struct SourceOrientationTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    /// The four numbers of a matrix that matter, the orientation, and ffmpeg's filter that does the same.
    static let matrices: [([Int32], Orientation, String)] = [
        ([1, 0, 0, 1], .upright, "null"), ([0, 1, -1, 0], .turnedRight, "transpose=clock"),
        ([-1, 0, 0, -1], .turnedAround, "hflip,vflip"), ([0, -1, 1, 0], .turnedLeft, "transpose=cclock"),
        ([-1, 0, 0, 1], .mirrored, "hflip"), ([1, 0, 0, -1], .flipped, "vflip"),
        ([0, 1, 1, 0], .transposed, "transpose=cclock_flip"),
        ([0, -1, -1, 0], .antitransposed, "transpose=clock_flip"),
    ]

    @Test(arguments: matrices)
    func picturesComeOutUpright(matrix: [Int32], orientation: Orientation, filter: String) throws {
        try folder.ffmpeg("-f lavfi -i testsrc2=size=96x64:rate=5:duration=1,setsar=4/3 -c:v mpeg4 -q:v 2 a.mp4")
        let path = try folder.write("b.mp4", #require(withDisplayMatrix(matrix, folder.contents("a.mp4"))))
        let source = try MediaSource(path: path)
        #expect(source.video.orientation == orientation)
        let isTurned = orientation.swapsAxes
        #expect((source.video.width, source.video.height) == (isTurned ? (64, 96) : (96, 64)))
        #expect(source.video.pixelAspectRatio == (isTurned ? Rational(3, 4) : Rational(4, 3)))
        let pictures = try Reading(source).pictures
        #expect(try pictures == Tool.pictures(folder.file("a.mp4"), "-vf \(filter)", format: .i420))
        // ffmpeg 5.1 turns by itself, but takes some mirrored matrices for rotations.
        if [.upright, .turnedRight, .turnedAround, .turnedLeft].contains(orientation) {
            #expect(try pictures == Tool.pictures(path, format: .i420))
        }
    }

    /// The ratio of the container is that of the stored pictures, whatever the coded pictures say.
    @Test(arguments: [([0, 1, -1, 0], Rational(3, 4)), ([-1, 0, 0, -1], Rational(4, 3))] as [([Int32], Rational)])
    func ratioOfTheContainerTurnsWithThePictures(matrix: [Int32], ratio: Rational) throws {
        try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=96x64:rate=5:duration=1 -vf setsar=1 -c:v libx264 -pix_fmt yuv420p a.mp4"
        )
        try folder.ffmpeg("-i a.mp4 -c copy -aspect 2:1 b.mp4")
        let source = try MediaSource(
            path: folder.write("c.mp4", #require(withDisplayMatrix(matrix, folder.contents("b.mp4"))))
        )
        #expect(source.video.pixelAspectRatio == ratio)
        #expect(try Reading(source).frames.allSatisfy { $0.buffer.pixelAspectRatio == ratio })
    }
}
