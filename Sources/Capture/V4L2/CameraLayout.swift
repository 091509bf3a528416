// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Where the planes of an uncompressed picture are in a camera's buffer.
struct CameraLayout: Sendable, Hashable {
    let format: PixelFormat
    /// The planes; the object is the memory plane of the buffer.
    let planes: [DMABuffer.Plane]
    /// How many bytes of each memory plane the picture takes.
    let byteCounts: [Int]

    /// Lays out a picture; `nil` for a code that is no uncompressed format.
    ///
    /// - Parameter bytesPerRow: The row stride of each memory plane that the driver states, 0 for rows without padding.
    init?(_ code: V4L2Camera.FormatCode, width: Int, height: Int, bytesPerRow: [Int]) {
        let format: PixelFormat
        let isSeparate: Bool
        switch code {
        case .nv12: (format, isSeparate) = (.nv12, false)
        case .nv12Planes: (format, isSeparate) = (.nv12, true)
        case .i420: (format, isSeparate) = (.i420, false)
        case .i420Planes: (format, isSeparate) = (.i420, true)
        case .yuyv: (format, isSeparate) = (.yuy2, false)
        default: return nil
        }
        var planes: [DMABuffer.Plane] = []
        var byteCounts: [Int] = []
        var offset = 0
        for plane in 0..<format.planeCount {
            guard let extent = format.planeExtent(plane, width: width, height: height) else { return nil }
            let stated: Int
            if isSeparate {
                stated = plane < bytesPerRow.count ? bytesPerRow[plane] : 0
            } else {
                // The stride that the driver states is that of luma.
                stated = (bytesPerRow.first ?? 0) / (format == .i420 && plane > 0 ? 2 : 1)
            }
            let stride = max(stated, extent.bytesPerRow)
            planes.append(
                DMABuffer.Plane(
                    object: isSeparate ? plane : 0,
                    layout: PlaneLayout(offset: isSeparate ? 0 : offset, bytesPerRow: stride)
                )
            )
            let end = (isSeparate ? 0 : offset) + stride * (extent.rows - 1) + extent.bytesPerRow
            if isSeparate || byteCounts.isEmpty { byteCounts.append(end) } else { byteCounts[0] = end }
            offset += stride * extent.rows
        }
        (self.format, self.planes, self.byteCounts) = (format, planes, byteCounts)
    }

    /// Whether a buffer contains a whole picture.
    func isComplete(_ filled: [CameraQueue.Filled]) -> Bool {
        filled.count >= byteCounts.count
            && zip(filled, byteCounts).allSatisfy { $0.offset + $1 <= $0.byteCount }
    }

    /// Returns the planes in a buffer.
    func planes(in filled: [CameraQueue.Filled]) -> [DMABuffer.Plane] {
        planes.map { plane in
            var plane = plane
            plane.layout.offset += filled[plane.object].offset
            return plane
        }
    }
}
