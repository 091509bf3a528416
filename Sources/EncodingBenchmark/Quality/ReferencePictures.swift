// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// The source pictures, by frame number.
final class ReferencePictures: Sendable {
    private let clip: PreparedClip
    private let descriptor: Int32
    private let layouts: [PlaneLayout]
    private let pictureBytes: Int

    /// - Throws: `inputOutput` if the clip's file cannot be opened.
    init(_ clip: PreparedClip) throws(MediaError) {
        self.clip = clip
        var offset = 0
        layouts = (0..<clip.format.planeCount).compactMap { plane in
            let extent = clip.format.planeExtent(plane, width: clip.size.width, height: clip.size.height)
            guard let extent else { return nil }
            defer { offset += extent.bytesPerRow * extent.rows }
            return PlaneLayout(offset: offset, bytesPerRow: extent.bytesPerRow)
        }
        pictureBytes = offset
        descriptor = open(clip.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw systemFailure("open", "a clip cannot be read", clip.path) }
    }

    deinit { close(descriptor) }

    /// Returns the picture of a frame; it is read when its samples are accessed.
    func picture(_ frame: Int) throws(MediaError) -> PixelBuffer {
        let start = clip.loop.index(ofFrame: frame) * pictureBytes
        let planes = layouts.map { PlaneLayout(offset: start + $0.offset, bytesPerRow: $0.bytesPerRow) }
        let description = PixelBuffer.Description(
            format: clip.format,
            width: clip.size.width,
            height: clip.size.height,
            color: clip.color.description
        )
        // The file stays open as long as the picture exists.
        return try PixelBuffer(description, file: FilePicture(fileDescriptor: descriptor, planes: planes)) { [self] in
            withExtendedLifetime(self) {}
        }
    }
}
