// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// What is worked on, the same in every run.
enum Inputs {
    /// NAL units of noise behind start codes.
    static func annexB(units: Int, unitBytes: Int) -> [UInt8] {
        var random: UInt32 = 1
        var stream: [UInt8] = []
        for _ in 0..<units {
            stream += [0, 0, 0, 1, 0x65]
            for _ in 1..<unitBytes {
                random = random &* 1_664_525 &+ 1_013_904_223
                // No zeroes, hence no start code.
                stream.append(UInt8(random >> 24) | 1)
            }
        }
        return stream
    }

    /// A picture with waves.
    static func picture(_ format: PixelFormat, _ width: Int, _ height: Int) throws -> PixelBuffer {
        let buffer = try PixelBufferPool(.init(format: format, width: width, height: height)).make()
        try fill(buffer)
        return buffer
    }

    /// Fills a picture with waves.
    static func fill(_ buffer: PixelBuffer) throws {
        try buffer.withPlanes { planes in
            for plane in planes {
                for row in 0..<buffer.height / (plane.baseAddress == planes[0].baseAddress ? 1 : 2) {
                    let line = plane.baseAddress + row * plane.bytesPerRow
                    for column in 0..<buffer.width {
                        line.storeBytes(of: UInt8(64 + (column ^ row) & 63), toByteOffset: column, as: UInt8.self)
                    }
                }
            }
        }
    }
}
