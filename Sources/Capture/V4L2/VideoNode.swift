// SPDX-License-Identifier: GPL-2.0-or-later

internal import CVideo4Linux
internal import Glibc
internal import MediaTypes

/// An open node of Video4Linux, closed with its last reference. Its requests can be made from any thread.
final class VideoNode: Sendable {
    let path: String
    let descriptor: Int32
    /// The name of the camera, its driver, and where it is connected.
    let (name, driver, bus): (String, String, String)
    /// The type of the queue: `V4L2_BUF_TYPE_VIDEO_CAPTURE` or `V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE`; `nil` if the node
    /// captures no pictures.
    let type: UInt32?

    /// Opens a node.
    ///
    /// - Throws: `unavailable`, `busy`, `outOfMemory`; `unsupported` if it is no node of Video4Linux.
    init(_ path: String) throws(MediaError) {
        self.path = path
        var opened: Int32
        repeat { opened = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) } while opened < 0 && errno == EINTR
        guard opened >= 0 else {
            throw CameraFailure.error(-errno, "open", "the camera cannot be opened", path: path)
        }
        var identity = video_identity()
        let status = video_identify(opened, &identity)
        guard status == 0 else {
            close(opened)
            throw CameraFailure.error(
                status,
                "VIDIOC_QUERYCAP",
                "this is no camera of Video4Linux",
                path: path,
                code: .unsupported
            )
        }
        descriptor = opened
        (name, driver, bus) = (Self.text(&identity.name), Self.text(&identity.driver), Self.text(&identity.bus))
        let capabilities = identity.capabilities
        func can(_ flag: some BinaryInteger) -> Bool { capabilities & UInt32(flag) != 0 }
        if !can(V4L2_CAP_STREAMING) {
            type = nil
        } else if can(V4L2_CAP_VIDEO_CAPTURE) {
            type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        } else if can(V4L2_CAP_VIDEO_CAPTURE_MPLANE) {
            type = V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE.rawValue
        } else {
            type = nil
        }
    }

    deinit { close(descriptor) }

    /// Throws the error of a request.
    func check(
        _ status: Int32,
        _ call: String,
        _ message: @autoclosure () -> String,
        code: MediaError.Code = .inputOutput
    ) throws(MediaError) {
        if status < 0 { throw CameraFailure.error(status, call, message(), path: path, code: code) }
    }

    /// Throws `unavailable` if the device is gone.
    func checkPresence() throws(MediaError) {
        var identity = video_identity()
        try check(video_identify(descriptor, &identity), "VIDIOC_QUERYCAP", "the camera does not answer")
    }

    /// Returns the text of an array of characters that ends with a zero byte.
    static func text<Characters>(_ characters: inout Characters) -> String {
        withUnsafeBytes(of: &characters) { bytes in
            Readable.oneLine(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
        }
    }
}

// MARK: - What it offers

extension VideoNode {
    /// No driver has more formats, sizes or rates; one with a fault may never end its list.
    private static let limit: UInt32 = 512

    /// The formats, each with its sizes and frame rates.
    func formats() -> [V4L2Camera.Format] {
        guard let type else { return [] }
        var result: [V4L2Camera.Format] = []
        for index in 0..<Self.limit {
            var offer = CVideo4Linux.video_offer()
            guard video_offer(descriptor, type, index, &offer) == 0 else { break }
            result.append(
                V4L2Camera.Format(
                    code: .init(rawValue: offer.pixel_format),
                    name: Self.text(&offer.description),
                    sizes: sizes(offer.pixel_format, type)
                )
            )
        }
        return result
    }

    private func sizes(_ code: UInt32, _ type: UInt32) -> [V4L2Camera.Sizes] {
        var result: [V4L2Camera.Sizes] = []
        for index in 0..<Self.limit {
            var sizes = CVideo4Linux.video_sizes()
            guard video_sizes(descriptor, code, index, &sizes) == 0 else { break }
            let (width, height) = (Int(sizes.largest_width), Int(sizes.largest_height))
            let (leastWidth, leastHeight) = (max(Int(sizes.least_width), 1), max(Int(sizes.least_height), 1))
            guard leastWidth <= width, leastHeight <= height else { continue }
            result.append(
                V4L2Camera.Sizes(
                    width: leastWidth...width,
                    height: leastHeight...height,
                    widthStep: Int(sizes.width_step),
                    heightStep: Int(sizes.height_step),
                    rates: rates(code, sizes.largest_width, sizes.largest_height)
                )
            )
            if sizes.is_discrete == 0 { break }
        }
        return result.isEmpty ? triedSizes(code, type) : result
    }

    /// The sizes of a driver that does not list them: the present one and the largest.
    private func triedSizes(_ code: UInt32, _ type: UInt32) -> [V4L2Camera.Sizes] {
        var present = CVideo4Linux.video_format()
        present.type = type
        guard video_get_format(descriptor, &present) == 0 else { return [] }
        var result: [V4L2Camera.Sizes] = []
        let most = UInt32(PixelBuffer.maximumDimension)
        for (width, height) in [(present.width, present.height), (most, most)] {
            var tried = CVideo4Linux.video_format()
            (tried.type, tried.pixel_format, tried.width, tried.height) = (type, code, width, height)
            guard video_try_format(descriptor, &tried) == 0, tried.pixel_format == code, tried.width > 0,
                tried.height > 0
            else { continue }
            let size = V4L2Camera.Sizes(
                Int(tried.width),
                Int(tried.height),
                rates: rates(code, tried.width, tried.height)
            )
            if !result.contains(size) { result.append(size) }
        }
        return result
    }

    private func rates(_ code: UInt32, _ width: UInt32, _ height: UInt32) -> V4L2Camera.Rates {
        var rates: [Rational] = []
        for index in 0..<Self.limit {
            var intervals = CVideo4Linux.video_intervals()
            guard video_intervals(descriptor, code, width, height, index, &intervals) == 0 else { break }
            guard let highest = Rational(interval: intervals.least), let least = Rational(interval: intervals.longest)
            else { continue }
            if intervals.is_discrete == 0 { return .range(least: least, highest: highest) }
            rates.append(highest)
        }
        return rates.isEmpty ? .unknown : .list(rates)
    }
}

extension Rational {
    /// Makes the frame rate of a time from picture to picture; `nil` if that is not positive.
    init?(interval: v4l2_fract) {
        self.init(UInt64(interval.denominator), over: UInt64(interval.numerator))
    }

    /// Makes a ratio of two numbers, with the nearest parts that fit; `nil` unless it is positive.
    init?(_ numerator: UInt64, over denominator: UInt64) {
        guard numerator > 0, denominator > 0 else { return nil }
        let divisor = Self.commonDivisor(numerator, denominator)
        var (top, bottom) = (numerator / divisor, denominator / divisor)
        while max(top, bottom) > UInt64(Int32.max) { (top, bottom) = (top >> 1, bottom >> 1) }
        guard top > 0, bottom > 0 else { return nil }
        self.init(Int32(top), Int32(bottom))
    }

    private static func commonDivisor(_ one: UInt64, _ other: UInt64) -> UInt64 {
        var (large, small) = (one, other)
        while small > 0 { (large, small) = (small, large % small) }
        return large
    }

    /// The time from picture to picture.
    var interval: v4l2_fract { v4l2_fract(numerator: UInt32(denominator), denominator: UInt32(numerator)) }
}
