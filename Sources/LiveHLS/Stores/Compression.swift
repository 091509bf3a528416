// SPDX-License-Identifier: GPL-2.0-or-later

internal import CZlib

/// Compression of playlists, which Apple's authoring specification requires (rule 10.1).
enum Compression {
    /// The bits of the window of zlib, with the header of gzip.
    private static let window: Int32 = 15 + 16

    /// Compresses text in the format gzip (RFC 1952).
    ///
    /// - Returns: `nil` if there is no memory.
    static func gzip(_ text: String) -> [UInt8]? {
        var input = Array(text.utf8)
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard deflateInit2_(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK else {
            return nil
        }
        defer { deflateEnd(&stream) }
        let capacity = Int(deflateBound(&stream, UInt(input.count)))
        let count = input.count
        return input.withUnsafeMutableBufferPointer { source in
            var isDone = false
            let output = [UInt8](unsafeUninitializedCapacity: capacity) { target, written in
                (stream.next_in, stream.avail_in) = (source.baseAddress, UInt32(clamping: count))
                (stream.next_out, stream.avail_out) = (target.baseAddress, UInt32(clamping: capacity))
                isDone = deflate(&stream, Z_FINISH) == Z_STREAM_END
                written = capacity - Int(stream.avail_out)
            }
            return isDone ? output : nil
        }
    }
}
