// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization

/// The pictures of a decoder that a job holds at the same time.
///
/// A decoder in a helper has memory for a few pictures, and an encoder such as x264 returns the first one only when it has
/// many. Beyond a limit, pictures are therefore copied, so that the decoder never waits for its own pictures.
final class HeldPictures: Sendable {
    fileprivate struct State {
        var held: [WeakReference<PixelBuffer>] = []
        var pool: PixelBufferPool?
        var copies = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: The pictures that may stay in the decoder's memory.
    init(limit: Int) { self.limit = limit }

    /// The number of pictures that were copied.
    var copies: Int { state.withLock { $0.copies } }

    /// Returns a picture as it is, or a copy if too many are held.
    func admit(_ picture: PixelBuffer) throws(MediaError) -> PixelBuffer {
        switch picture.storage {
        // The decoder limits those on its device itself.
        case .owned, .external, .file, .deviceSurface: return picture
        case .sharedMemory, .dmaBuf: break
        }
        return try state.withLock { (state) throws(MediaError) in
            state.held.removeAll { $0.object == nil }
            guard state.held.count >= limit else {
                let reference = WeakReference<PixelBuffer>()
                reference.object = picture
                state.held.append(reference)
                return picture
            }
            state.copies += 1
            return try state.copy(of: picture)
        }
    }
}

extension HeldPictures.State {
    fileprivate mutating func copy(of picture: PixelBuffer) throws(MediaError) -> PixelBuffer {
        var description = picture.pictureDescription
        (description.color, description.attachments) = (.unspecified, .init())
        let current: PixelBufferPool
        if let pool, pool.description == description {
            current = pool
        } else {
            current = try PixelBufferPool(description)
            pool = current
        }
        let copy = try current.make(color: picture.color, attachments: picture.attachments)
        try copy.withPlanes { (planes) throws(MediaError) in try picture.copySamples(to: planes) }
        return copy
    }
}
