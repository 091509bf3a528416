// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import Glibc
import MediaTypes

/// The folder of fake cameras.
enum Rig {
    static let folder: String = {
        guard let value = getenv("FAKE_CAMERAS") else { return "/nonexistent" }
        return String(cString: value)
    }()

    static func path(_ number: Int) -> String { "\(folder)/video\(number)" }

    /// Plugs a camera in: a file with its description (Tests/Drivers/camera/README.md).
    static func plug(_ number: Int, _ description: [String]) throws {
        unlink("\(folder)/journal")
        let new = "\(folder)/new"
        guard let file = fopen(new, "w") else { throw Wrong("cannot write \(new)") }
        for line in description { fputs(line + "\n", file) }
        fclose(file)
        try expect(rename(new, path(number)) == 0, "cannot rename \(new)")
    }

    static func unplug(_ number: Int) { unlink(path(number)) }

    /// Makes a link of udev.
    static func link(_ id: String, to number: Int) {
        mkdir("\(folder)/v4l", 0o755)
        mkdir("\(folder)/v4l/by-id", 0o755)
        symlink("../../video\(number)", "\(folder)/v4l/by-id/\(id)")
    }

    /// A camera that was plugged in.
    static func camera(
        _ description: [String],
        _ request: V4L2Camera.Request = .init(),
        stop: StopSignal? = nil
    ) throws -> V4L2Camera {
        try plug(0, description)
        return try V4L2Camera(request, in: folder, stop: try stop ?? StopSignal())
    }

    // MARK: - What is left

    /// Open descriptors, and mappings of the cameras' memory.
    static func resources() -> [Int] { [entries("/proc/self/fd"), mappings()] }

    /// Waits until nothing more is left than before: threads that have ended may still release something.
    static func settles(at before: [Int]) -> Bool { wait { resources() == before } }

    /// Waits until something is so.
    static func wait(until isSo: () -> Bool) -> Bool {
        let end = ContinuousClock.now + .seconds(60)
        while !isSo() {
            if ContinuousClock.now > end { return false }
            usleep(1000)
        }
        return true
    }

    private static func entries(_ folder: String) -> Int {
        guard let stream = opendir(folder) else { return -1 }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        return count
    }

    static func mappings() -> Int { lines("/proc/self/maps").count { $0.contains("fake-camera") } }

    static func bytes(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "re") else { return [] }
        defer { fclose(file) }
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return result }
            result += buffer[..<count]
        }
    }

    static func lines(_ path: String) -> [String] {
        String(decoding: bytes(path), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The times of the pictures that the camera has delivered, by number.
    static func times() -> [Int: Int64] {
        var result: [Int: Int64] = [:]
        for line in lines("\(folder)/journal") {
            let words = line.split(separator: " ")
            if words.count == 2, let number = Int(words[0]), let time = Int64(words[1]) { result[number] = time }
        }
        return result
    }

    /// How many pictures the camera had no buffer for.
    static func lost() -> Int { lines("\(folder)/journal").count { $0.hasSuffix("lost") } }
}

/// What the fake cameras draw: `sample` of Tests/Drivers/camera/pictures.c.
enum Drawing {
    static func sample(_ component: Int, _ x: Int, _ y: Int, _ number: Int) -> UInt8 {
        let value = x * (3 + 2 * component) + y * (5 + 4 * component) + number * 11 + component * 64
        return UInt8(truncatingIfNeeded: value)
    }

    /// Where the samples of a component are: plane, offset, step, and the factors by which luma is larger.
    private static func places(_ format: PixelFormat) -> [(plane: Int, offset: Int, step: Int, across: Int, down: Int)]
    {
        switch format {
        case .nv12: [(0, 0, 1, 1, 1), (1, 0, 2, 2, 2), (1, 1, 2, 2, 2)]
        case .i420: [(0, 0, 1, 1, 1), (1, 0, 1, 2, 2), (2, 0, 1, 2, 2)]
        default: [(0, 0, 2, 1, 1), (0, 1, 4, 2, 1), (0, 3, 4, 2, 1)]
        }
    }

    /// Checks every sample of a picture.
    static func check(_ picture: PixelBuffer, is number: Int) throws {
        let wrong = try picture.withPlanes { planes -> String? in
            for (component, place) in places(picture.format).enumerated() {
                let plane = planes[place.plane]
                for y in 0..<picture.height / place.down {
                    let row = plane.baseAddress + y * plane.bytesPerRow + place.offset
                    for x in 0..<picture.width / place.across {
                        let value = row.load(fromByteOffset: x * place.step, as: UInt8.self)
                        if value != sample(component, x, y, number) {
                            return "component \(component) at \(x), \(y) is \(value)"
                        }
                    }
                }
            }
            return nil
        }
        try expect(wrong == nil, "picture \(number), \(picture.format): \(wrong ?? "")")
    }
}

/// Something that one thread passes to another.
final class Handed<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// Runs a closure in a thread of its own.
final class Thread: @unchecked Sendable {
    private var thread = pthread_t()
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        let context = Unmanaged.passRetained(self).toOpaque()
        pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Thread>.fromOpaque(context).takeRetainedValue().body()
                return nil
            },
            context
        )
    }

    func join() { pthread_join(thread, nil) }
}
