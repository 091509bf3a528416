// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import Glibc
import MediaTypes

/// Pictures that the camera has coded.
enum Coded {
    /// JPEG pictures, compared with what ffmpeg decodes: FOLDER REFERENCE WIDTH HEIGHT FORMAT COUNT.
    static func jpeg(_ arguments: [String]) throws {
        let source = try JPEGSource(arguments)
        let camera = try source.camera([])
        for number in 0..<2 * source.count {
            let picture = try camera.read()
            try source.check(picture.buffer, is: number % source.count)
            try expect(picture.lostBefore == 0, "lost \(picture.lostBefore)")
            try expect(picture.buffer.color.range == .full, "\(picture.buffer.color)")
            try expect(picture.buffer.color.matrix.rawValue == 5, "\(picture.buffer.color)")
            try expect(picture.time.value == Rig.times()[number], "time")
        }
        say("\(picture(camera))")
    }

    private static func picture(_ camera: V4L2Camera) -> String { "\(camera.stream.format) \(camera.mode.reason)" }

    /// JPEG pictures with damage, marked by the driver, cut off or lost, are left out and counted.
    static func jpegDamage(_ arguments: [String]) throws {
        let source = try JPEGSource(arguments)
        let camera = try source.camera(["shortened 1,2", "damaged 4", "lost 6", "marked 8"])
        for (number, lost) in [(0, 0), (3, 2), (5, 1), (7, 1), (9, 1), (10, 0)] {
            let picture = try camera.read()
            try source.check(picture.buffer, is: number % source.count)
            try expect(picture.lostBefore == lost, "lost \(picture.lostBefore) before \(number), not \(lost)")
        }
    }

    /// A JPEG picture that is cut off anywhere is complete or left out: FOLDER REFERENCE WIDTH HEIGHT FORMAT COUNT
    /// CUTS.
    static func jpegCut(_ arguments: [String]) throws {
        let source = try JPEGSource(arguments)
        let whole = Rig.bytes("\(source.folder)/0")
        let folder = "\(Rig.folder)/cut"
        mkdir(folder, 0o755)
        let steps = 97
        for step in 0...steps { try write(Array(whole[..<(whole.count * step / steps)]), "\(folder)/\(step)") }
        let camera = try JPEGSource([folder] + arguments.dropFirst()).camera([])
        // Of each round, only the whole picture is left; the first one of a round is empty.
        for round in 0..<2 {
            let picture = try camera.read()
            try source.check(picture.buffer, is: 0)
            try expect(picture.lostBefore == steps, "lost \(picture.lostBefore) in round \(round)")
        }
    }

    /// JPEG pictures with a hole, as after the loss of USB packets: FOLDER REFERENCE WIDTH HEIGHT FORMAT COUNT.
    static func jpegHoles(_ arguments: [String]) throws {
        let source = try JPEGSource(arguments)
        let whole = Rig.bytes("\(source.folder)/0")
        let folder = "\(Rig.folder)/holes"
        mkdir(folder, 0o755)
        try write(whole, "\(folder)/0")
        let size = 1024
        // Behind the headers, and before the last bytes.
        let places = Array(stride(from: 700, to: whole.count - size - 100, by: 59))
        for (index, place) in places.enumerated() {
            try write(Array(whole[..<place] + whole[(place + size)...]), "\(folder)/\(index + 1)")
        }
        let camera = try JPEGSource([folder] + arguments.dropFirst()).camera([])
        try source.check(camera.read().buffer, is: 0)
        let picture = try camera.read()
        try source.check(picture.buffer, is: 0)
        try expect(picture.lostBefore == places.count, "lost \(picture.lostBefore) of \(places.count)")
    }

    /// H.264 is passed on as it is: FILE, whose access units begin with delimiters, and its distance of key frames.
    static func h264(_ arguments: [String]) throws {
        let bytes = Rig.bytes(arguments.first ?? "")
        let distance = arguments.count > 1 ? Int(arguments[1]) ?? 1 : 1
        let units = accessUnits(bytes)
        let folder = "\(Rig.folder)/units"
        mkdir(folder, 0o755)
        for (number, unit) in units.enumerated() { try write(unit, "\(folder)/\(number)") }
        try Rig.plug(0, ["format YUYV 64x48@30", "format H264 320x240@30", "payload \(folder)", "lost 4"])
        let camera = try V4L2CodedCamera(
            .init(size: .init(320, 240)),
            in: Rig.folder,
            stop: try StopSignal()
        )
        try expect(camera.stream.format == "H264" && camera.stream.width == 320, "\(camera.stream)")
        var latest = 0
        for number in 0..<units.count where number != 4 {
            let picture = try camera.read()
            let isSame = picture.data.withUnsafeBytes { Array($0) == units[number] }
            try expect(isSame, "unit \(number) differs")
            try expect(picture.isKeyFrame == (number % distance == 0), "unit \(number): \(picture.isKeyFrame)")
            try expect(picture.lostBefore == (number == 5 ? 1 : 0), "lost \(picture.lostBefore)")
            try expect(picture.time.value == Rig.times()[number], "time")
            latest = number
        }
        say("\(latest + 1) units")
        try expectError(.invalidArgument) {
            _ = try V4L2CodedCamera(.init(format: .nv12), in: Rig.folder, stop: try StopSignal())
        }
    }

    private static func accessUnits(_ bytes: [UInt8]) -> [[UInt8]] {
        var starts: [Int] = []
        for index in 0..<max(bytes.count - 5, 0) where bytes[index..<index + 5] == [0, 0, 0, 1, 9] {
            starts.append(index)
        }
        return zip(starts, starts.dropFirst() + [bytes.count]).map { Array(bytes[$0..<$1]) }
    }

    static func write(_ bytes: [UInt8], _ path: String) throws {
        guard let file = fopen(path, "w") else { throw Wrong("cannot write \(path)") }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}

/// JPEG pictures in numbered files, and what they decode to.
private struct JPEGSource {
    var folder: String
    var reference: [UInt8]
    var width: Int
    var height: Int
    var format: PixelFormat
    var count: Int

    init(_ arguments: [String]) throws {
        guard arguments.count >= 6, let width = Int(arguments[2]), let height = Int(arguments[3]),
            let format = PixelFormat(rawValue: arguments[4]), let count = Int(arguments[5])
        else { throw Wrong("wrong arguments") }
        (folder, reference) = (arguments[0], Rig.bytes(arguments[1]))
        try expect(!reference.isEmpty, "there is no reference")
        (self.width, self.height, self.format, self.count) = (width, height, format, count)
    }

    func camera(_ more: [String]) throws -> V4L2Camera {
        let description = ["format MJPG \(width)x\(height)@30", "payload \(folder)"] + more
        return try Rig.camera(description, .init(size: .init(width, height)))
    }

    func check(_ picture: PixelBuffer, is number: Int) throws {
        try expect(picture.format == format, "\(picture.format)")
        try expect(picture.width == width && picture.height == height, "\(picture.width)x\(picture.height)")
        let extents = picture.planeExtents
        let size = extents.reduce(0) { $0 + $1.bytesPerRow * $1.rows }
        try expect(reference.count == size * count, "the reference has \(reference.count) bytes")
        var offset = size * number
        let isSame = try picture.withPlanes { planes in
            for (plane, extent) in zip(planes, extents) {
                for row in 0..<extent.rows {
                    let bytes = UnsafeRawBufferPointer(
                        start: plane.baseAddress + row * plane.bytesPerRow,
                        count: extent.bytesPerRow
                    )
                    guard bytes.elementsEqual(reference[offset..<offset + extent.bytesPerRow]) else { return false }
                    offset += extent.bytesPerRow
                }
            }
            return true
        }
        try expect(isSame, "picture \(number) differs")
    }
}
