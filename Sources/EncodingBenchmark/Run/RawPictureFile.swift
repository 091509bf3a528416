// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes

/// Writes pictures into a file, plane after plane without padding, and keeps a digest of them.
package struct RawPictureFile {
    private let file: OpenFile
    private var sum = Digest()

    /// Makes the file, empty.
    ///
    /// - Throws: `inputOutput`.
    package init(path: String) throws(MediaError) { file = try OpenFile(path, O_CREAT | O_TRUNC) }

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
        try file.write(bytes)
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

/// A file that is open for writing; closed with its last owner.
final class OpenFile: Sendable {
    let descriptor: Int32
    let path: String

    /// Opens or makes a file.
    ///
    /// - Parameter flags: Of open(2), besides those for writing.
    /// - Throws: `inputOutput`.
    init(_ path: String, _ flags: Int32) throws(MediaError) {
        descriptor = open(path, O_WRONLY | O_CLOEXEC | flags, 0o644)
        self.path = path
        if descriptor < 0 { throw systemFailure("open", "a file of the benchmark cannot be written", path) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Writes all bytes.
    ///
    /// - Throws: `inputOutput`.
    func write(_ bytes: [UInt8]) throws(MediaError) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { rest in
                Glibc.write(descriptor, rest.baseAddress.map { $0 + offset }, rest.count - offset)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw systemFailure("write", "a file of the benchmark cannot be written", path)
            }
            offset += count
        }
    }
}
