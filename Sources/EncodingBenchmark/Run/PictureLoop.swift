// SPDX-License-Identifier: GPL-2.0-or-later

/// Maps the frames of a run to a smaller number of pictures in memory.
///
/// The pictures are shown alternately forwards and backwards, so that motion continues and no cut is added that would
/// cost an encoder bits.
package struct PictureLoop: Codable, Sendable, Hashable {
    /// The number of pictures, at least 1.
    package var count: Int

    /// Creates a loop of pictures.
    package init(count: Int) { self.count = max(count, 1) }

    /// Returns the index of the picture for a frame, 0..<``count``.
    package func index(ofFrame frame: Int) -> Int {
        guard count > 1 else { return 0 }
        let period = 2 * (count - 1)
        let place = frame % period
        return place < count ? place : period - place
    }

    /// Returns the number of pictures that may be kept in memory.
    ///
    /// - Parameters:
    ///   - frames: The number of frames in a run.
    ///   - bytes: The size of a picture in bytes.
    ///   - limit: The maximum size of all pictures in bytes. At least two are kept, even if they exceed it.
    package static func pictureCount(frames: Int, bytes: Int, limit: Int) -> Int {
        min(frames, max(2, limit / max(bytes, 1)))
    }
}
