// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes

/// Writes pictures to a file, plane after plane without padding, and computes their digest.
package struct RawPictureFile {
    private let file: OpenFile
    private var sum = Digest()

    /// Creates the file.
    ///
    /// - Throws: `inputOutput`.
    package init(path: String) throws(MediaError) { file = try OpenFile(path, O_CREAT | O_TRUNC) }

    /// The digest of all bytes.
    package var digest: String { sum.text }

    /// Appends a picture.
    ///
    /// - Throws: `inputOutput`; `unsupported` if the CPU cannot access its samples.
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
