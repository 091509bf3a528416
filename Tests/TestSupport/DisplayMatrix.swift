// SPDX-License-Identifier: GPL-2.0-or-later

/// An MP4 file whose first track is shown through a display matrix; `nil` if there is no track header.
///
/// ffmpeg 5 and 7 have no option in common that writes one.
///
/// - Parameter matrix: a, b, c and d of the track header (`tkhd`, ISO/IEC 14496-12 8.3.2), whole numbers.
package func withDisplayMatrix(_ matrix: [Int32], _ file: [UInt8]) -> [UInt8]? {
    guard let name = file.firstRange(of: Array("tkhd".utf8)) else { return nil }
    // Version 0: 4 bytes of version and flags, 20 of times and identifier, 8 reserved, 8 of layer, group, volume.
    let start = name.upperBound + 40
    let one: Int32 = 0x10000
    let rows: [Int32] = [
        matrix[0] * one, matrix[1] * one, 0, matrix[2] * one, matrix[3] * one, 0, 0, 0, 0x4000_0000,
    ]
    var file = file
    file.replaceSubrange(start..<start + 36, with: rows.flatMap { withUnsafeBytes(of: $0.bigEndian, Array.init) })
    return file
}
