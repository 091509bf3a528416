// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc

/// Inputs that can be read from a pipe, and others; ffmpeg makes them.
enum Clip: String, Sendable {
    /// H.264 and MP2 in a transport stream.
    case ts = "clip.ts"
    /// H.264 and Opus.
    case matroska = "clip.mkv"
    /// Pictures as they are, RGB, which libavfilter converts.
    case rgb = "rgb.nut"
    /// Pictures as they are.
    case pictures = "pictures.y4m"

    private static let video = "-f lavfi -i testsrc2=s=320x180:r=24:d=2"
    private static let sound = "-f lavfi -i sine=frequency=440:sample_rate=48000:d=2"
    private static let x264 = "-c:v libx264 -preset veryfast -g 24 -pix_fmt yuv420p -threads 1"

    static func makeAll(in folder: String) throws {
        let commands = [
            "\(video) \(sound) \(x264) -c:a mp2 clip.ts", "\(video) \(sound) \(x264) -c:a libopus clip.mkv",
            "\(video) -c:v rawvideo -pix_fmt bgr24 -f nut rgb.nut", "\(video) -pix_fmt yuv420p pictures.y4m",
            "\(video) \(sound) \(x264) -c:a aac sound.mp4",
            "\(video) -c:v mpeg2video -flags +ildct+ilme -top 1 -b:v 1M -pix_fmt yuv420p interlaced.mkv",
            "\(video) \(x264) -bsf:v noise=amount=2000:drop=0 noisy.h264",
        ]
        for command in commands { try Tool.ffmpeg(command, in: folder) }
        let whole = try Tool.contents("\(folder)/sound.mp4")
        try Tool.write(whole.prefix(whole.count / 2), to: "\(folder)/cut.mp4")
    }

    /// The MD5 of every packet of sound and of every decoded picture of a file; ffmpeg says so.
    static func hashes(of path: String, in folder: String) throws -> String {
        let arguments = "-xerror -i \(path) -map 0 -c:a copy -fps_mode passthrough -f framemd5 hashes.md5"
        try Tool.ffmpeg(arguments, in: folder)
        return String(decoding: try Tool.contents("\(folder)/hashes.md5"), as: UTF8.self)
    }
}

/// Other programs, and whole files.
enum Tool {
    /// Runs ffmpeg in a folder; arguments are separated by blanks.
    static func ffmpeg(_ arguments: String, in folder: String) throws {
        let words = ["ffmpeg", "-v", "error", "-nostdin", "-y"] + arguments.split(separator: " ").map(String.init)
        // The shims that show a GPU to this program are none of ffmpeg's business.
        let command = ["env", "-u", "LD_PRELOAD", "-C", folder] + words
        var pointers = command.map { strdup($0) } + [nil]
        defer { pointers.forEach { free($0) } }
        var process = pid_t()
        let status = posix_spawnp(&process, "env", nil, nil, &pointers, environ)
        guard status == 0 else { throw Wrong("env cannot be run: \(status)") }
        var ending: Int32 = 0
        while waitpid(process, &ending, 0) < 0, errno == EINTR {}
        guard ending == 0 else { throw Wrong("ffmpeg failed with \(ending): \(arguments)") }
    }

    static func contents(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "re") else { throw Wrong("cannot be opened: \(path)") }
        defer { fclose(file) }
        var status = stat()
        guard fstat(fileno(file), &status) == 0 else { throw Wrong("has no size: \(path)") }
        return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { memory, count in
            count = fread(memory.baseAddress, 1, memory.count, file)
        }
    }

    static func write(_ bytes: some Sequence<UInt8>, to path: String) throws {
        let bytes = Array(bytes)
        guard let file = fopen(path, "we") else { throw Wrong("cannot be made: \(path)") }
        let count = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, count == bytes.count else { throw Wrong("cannot be written: \(path)") }
    }
}
