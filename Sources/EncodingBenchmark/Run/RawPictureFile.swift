// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes

/// Writes pictures into a file, plane after plane without padding, and keeps a digest of them.
package struct RawPictureFile: ~Copyable {
    private let descriptor: Int32
    private let path: String
    private var sum = Digest()

    /// Makes the file, empty.
    ///
    /// - Throws: `inputOutput`.
    package init(path: String) throws(MediaError) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw systemFailure("open", "a clip cannot be written", path) }
        self.path = path
    }

    deinit { close(descriptor) }

    /// The digest of all bytes.
    package var digest: String { sum.text }

    /// Appends a picture.
    ///
    /// - Throws: `inputOutput`; `unsupported` if the processor cannot reach its samples.
    package mutating func append(_ picture: PixelBuffer) throws(MediaError) {
        var bytes: [UInt8] = []
        let (format, width, height) = (picture.format, picture.width, picture.height)
        try picture.withPlanes { planes throws(MediaError) in
            for (index, plane) in planes.enumerated() {
                guard let extent = format.planeExtent(index, width: width, height: height) else { continue }
                for row in 0..<extent.rows {
                    let start = plane.baseAddress + row * plane.bytesPerRow
                    bytes.append(contentsOf: UnsafeRawBufferPointer(start: start, count: extent.bytesPerRow))
                }
            }
        }
        bytes.withUnsafeBytes { sum.add($0) }
        try writeAll(bytes, to: descriptor, path)
    }
}

/// An error of a system call, with what `errno` says.
func systemFailure(_ call: String, _ message: String, _ given: String? = nil) -> MediaError {
    let code = errno
    return MediaError(
        code == ENOMEM ? .outOfMemory : .inputOutput,
        "\(message): \(String(cString: strerror(code)))",
        given: given,
        call: call,
        status: Int(code)
    )
}

/// Writes all bytes.
///
/// - Throws: `inputOutput`.
func writeAll(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(MediaError) {
    var offset = 0
    while offset < bytes.count {
        let count = bytes.withUnsafeBytes { rest in
            write(descriptor, rest.baseAddress.map { $0 + offset }, rest.count - offset)
        }
        if count < 0 {
            if errno == EINTR { continue }
            throw systemFailure("write", "a file of the benchmark cannot be written", path)
        }
        offset += count
    }
}
