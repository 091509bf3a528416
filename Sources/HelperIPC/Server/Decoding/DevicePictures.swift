// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The pictures that the decoders of a helper have left on its device for the client, which names them by number.
final class DevicePictures: Sendable {
    private struct State {
        var pictures: [UInt64: PixelBuffer] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Keeps a picture.
    ///
    /// - Returns: Its number, which no other picture of the helper has.
    func add(_ picture: PixelBuffer) -> UInt64 {
        state.withLock { state in
            defer { state.nextID += 1 }
            state.pictures[state.nextID] = picture
            return state.nextID
        }
    }

    /// Forgets a picture. The encoders that read it keep it until they have done so.
    func remove(_ id: UInt64) {
        // Released without the lock: a driver may be called.
        let picture = state.withLock { $0.pictures.removeValue(forKey: id) }
        withExtendedLifetime(picture) {}
    }

    /// Returns the picture of a number.
    ///
    /// - Throws: `malformedData` if there is none.
    func picture(_ id: UInt64) throws(MediaError) -> PixelBuffer {
        guard let picture = state.withLock({ $0.pictures[id] }) else {
            throw MediaError(.malformedData, "there is no such picture on the device", given: "picture \(id)")
        }
        return picture
    }
}

/// The numbers of the pictures that the client of one decoder keeps on the device.
final class KeptPictures {
    private let pictures: DevicePictures
    /// The sizes of the pictures in bytes.
    private var byteCounts: [UInt64: Int] = [:]
    private var byteCount = 0
    /// The maximum number.
    private(set) var limit = 0

    /// The largest limit of a client.
    static let mostPictures = WireLimits.devicePictures
    /// The maximum size of all pictures of a client: room for 43 of 3840x2160 with 10 bits, more than encoders hold, but for
    /// 10 of 7680x4320. More would leave a GPU with 4 GiB, or an integrated one, too little for its other users.
    static let mostBytes = 1 << 30

    init(_ pictures: DevicePictures) { self.pictures = pictures }

    deinit { for id in byteCounts.keys { pictures.remove(id) } }

    /// Whether the client keeps none.
    var isEmpty: Bool { byteCounts.isEmpty }

    /// Sets the maximum number.
    ///
    /// - Throws: `malformedData` if it is out of range.
    func allow(_ limit: Int) throws(MediaError) {
        guard (0...Self.mostPictures).contains(limit) else {
            throw MediaError(
                .malformedData,
                "the number of pictures on the device is out of range",
                given: "\(limit)",
                allowed: "0...\(Self.mostPictures)"
            )
        }
        self.limit = limit
    }

    /// Keeps a picture.
    ///
    /// - Returns: Its number; `nil` if the client keeps as many as it may, or would keep more than ``mostBytes``.
    func add(_ picture: PixelBuffer) -> UInt64? {
        guard byteCounts.count < limit, let size = try? picture.pictureDescription.shape.layout().byteCount,
            size <= Self.mostBytes - byteCount
        else { return nil }
        let id = pictures.add(picture)
        byteCounts[id] = size
        byteCount += size
        return id
    }

    /// Releases pictures.
    ///
    /// - Throws: `malformedData` if the client does not have one of them.
    func release(_ released: [UInt64]) throws(MediaError) {
        for id in released {
            guard let size = byteCounts.removeValue(forKey: id) else {
                throw MediaError(
                    .malformedData,
                    "the client released a picture that it did not have",
                    given: "picture \(id)"
                )
            }
            byteCount -= size
            pictures.remove(id)
        }
    }
}
