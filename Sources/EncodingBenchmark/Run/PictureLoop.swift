// SPDX-License-Identifier: GPL-2.0-or-later

/// Which of a few pictures in memory stands for each frame of a longer run.
///
/// Pictures are shown forwards, then backwards, and so on: whatever moves goes on to move, and no cut is added that an
/// encoder would have to pay for.
package struct PictureLoop: Codable, Sendable, Hashable {
    /// How many pictures there are, at least 1.
    package var count: Int

    /// Makes a loop of so many pictures.
    package init(count: Int) { self.count = max(count, 1) }

    /// The picture of a frame, 0..<``count``.
    package func index(ofFrame frame: Int) -> Int {
        guard count > 1 else { return 0 }
        let period = 2 * (count - 1)
        let place = frame % period
        return place < count ? place : period - place
    }

    /// How many pictures of a size may be kept in memory.
    ///
    /// - Parameters:
    ///   - frames: How many a run has.
    ///   - bytes: Of a picture.
    ///   - limit: The most bytes of all pictures. Two are kept even if that is more.
    package static func pictureCount(frames: Int, bytes: Int, limit: Int) -> Int {
        min(frames, max(2, limit / max(bytes, 1)))
    }
}
