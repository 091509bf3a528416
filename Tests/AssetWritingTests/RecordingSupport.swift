// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Foundation
import MediaTypes
import Testing
import VAToolbox

/// Flashes and beeps, at every whole second of the sources' clock, and a bit after so that the first is whole.
struct Scene {
    static let framesPerSecond = 10
    /// When the sound's device has counted a second, this much of one has passed.
    var clock = 1.0
    var format = AudioFormat(sampleType: .int16, sampleRate: 48000, layout: .mono)

    /// The time at which a sample is taken.
    func time(ofSample sample: Int) -> MediaTime {
        MediaTime(seconds: Double(sample) * clock / 48000, preferredTimescale: 1_000_000)
    }

    func time(ofPicture picture: Int) -> MediaTime {
        MediaTime(value: Int64(picture), timescale: Int32(Self.framesPerSecond))
    }

    func sound(from first: Int, count: Int = 1024) -> AudioBuffer {
        AudioBuffer(format: format, frameCount: count, presentationTime: time(ofSample: first)) { _, memory in
            for index in 0..<count {
                let seconds = Double(first + index) * clock / 48000
                let phase = seconds - seconds.rounded(.down)
                guard phase < 0.05 else { continue }
                let value = Int16(20000 * sin(2 * .pi * 1000 * phase))
                memory.storeBytes(of: value, toByteOffset: index * 2, as: Int16.self)
            }
        }
    }

    func picture(_ number: Int, _ pool: PixelBufferPool) throws -> PixelBuffer {
        let buffer = try pool.make()
        let isFlash = number % Self.framesPerSecond == 0
        try buffer.withPlanes { planes throws(MediaError) in
            for (index, plane) in planes.enumerated() {
                let rows = index == 0 ? buffer.height : buffer.height / 2
                let level = index == 0 ? (isFlash ? 235 : 16) : 128
                memset(plane.baseAddress, Int32(level), rows * plane.bytesPerRow)
            }
        }
        return buffer
    }

    /// Sound of which every sample differs from its neighbours.
    func noise(from first: Int, count: Int = 1024) -> AudioBuffer {
        AudioBuffer(format: format, frameCount: count, presentationTime: time(ofSample: first)) { _, memory in
            for index in 0..<count {
                var hash = UInt64(first + index) &* 0x9E37_79B9_7F4A_7C15
                hash = (hash ^ (hash >> 29)) &* 0xBF58_476D_1CE4_E5B9
                let value = Int16(truncatingIfNeeded: hash >> 40) / 4
                memory.storeBytes(of: value, toByteOffset: index * 2, as: Int16.self)
            }
        }
    }

    /// A picture whose brightness tells its number, modulo 40.
    func numbered(_ number: Int, _ pool: PixelBufferPool) throws -> PixelBuffer {
        let buffer = try pool.make()
        try buffer.withPlanes { planes throws(MediaError) in
            for (index, plane) in planes.enumerated() {
                let rows = index == 0 ? buffer.height : buffer.height / 2
                memset(plane.baseAddress, Int32(index == 0 ? 20 + number % 40 * 5 : 128), rows * plane.bytesPerRow)
            }
        }
        return buffer
    }

    static func configuration() -> EncoderConfiguration {
        var configuration = EncoderConfiguration(width: 64, height: 64)
        configuration.codec = .h264
        configuration.frameRate = Rational(Int32(framesPerSecond), 1)
        configuration.software.preset = .ultrafast
        return configuration
    }

    static func software() -> SessionOptions {
        var options = SessionOptions()
        options.policy = .requireSoftware
        return options
    }
}

/// A folder and the tools for what is in it.
final class RecordingFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "asset-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? [] }

    func tool(_ arguments: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        let output = path("tool-\(UUID().uuidString)")
        try Data().write(to: URL(fileURLWithPath: output))
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        try process.run()
        process.waitUntilExit()
        defer { try? FileManager.default.removeItem(atPath: output) }
        try #require(process.terminationStatus == 0, "\(arguments)")
        return try Data(contentsOf: URL(fileURLWithPath: output))
    }

    /// The times of flashes in seconds.
    func flashes(_ file: String) throws -> [Double] {
        let levels = try tool([
            "ffmpeg", "-v", "error", "-i", path(file), "-map", "0:v", "-vf", "scale=1:1,format=gray", "-fps_mode",
            "passthrough", "-f", "rawvideo", "-",
        ])
        let listed = try tool([
            "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time", "-of", "csv=p=0",
            path(file),
        ])
        let times = String(decoding: listed, as: UTF8.self).split(whereSeparator: \.isNewline)
            .compactMap { Double($0.prefix { $0 != "," }) }
        try #require(times.count == levels.count)
        return zip(times, levels).filter { $0.1 > 128 }.map(\.0)
    }

    /// The numbers of pictures that ``Scene/numbered(_:_:)`` has made, modulo 40, in their order.
    func numbers(_ file: String) throws -> [Int] {
        let levels = try tool([
            "ffmpeg", "-v", "error", "-xerror", "-i", path(file), "-map", "0:v", "-vf", "scale=1:1,format=gray",
            "-fps_mode", "passthrough", "-f", "rawvideo", "-",
        ])
        return levels.map { level in
            let luma = Double(level) * 219 / 255 + 16
            return Int(((luma - 20) / 5).rounded())
        }
    }

    /// What ffprobe says of packets or other entries, a line each.
    func probe(_ file: String, _ streams: String?, _ entries: String) throws -> [String] {
        let selection = streams.map { ["-select_streams", $0] } ?? []
        let listed = try tool(
            ["ffprobe", "-v", "error"] + selection + ["-show_entries", entries, "-of", "csv=p=0", path(file)]
        )
        return String(decoding: listed, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
    }

    /// The types of the boxes at the top level of an MP4 file.
    func boxes(_ file: String) throws -> [String] {
        let data = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(file))))
        var (types, position): ([String], Int) = ([], 0)
        while position + 8 <= data.count {
            let size = data[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            types.append(String(decoding: data[position + 4..<position + 8], as: UTF8.self))
            guard size >= 8 else { break }
            position += size
        }
        return types
    }

    /// The samples of the sound, from time zero.
    func samples(_ file: String) throws -> [Int16] {
        let data = try tool([
            "ffmpeg", "-v", "error", "-i", path(file), "-map", "0:a", "-af", "atrim=start=0", "-f", "s16le", "-",
        ])
        return data.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
    }

    /// The times at which beeps begin, in seconds.
    func beeps(_ file: String) throws -> [Double] {
        var beeps: [Double] = []
        for (index, sample) in try samples(file).enumerated() where sample.magnitude > 6000 {
            let time = Double(index) / 48000
            if time - (beeps.last ?? -1) > 0.5 { beeps.append(time) }
        }
        return beeps
    }
}
