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
    private var ids: Set<UInt64> = []
    /// The maximum number.
    private(set) var limit = 0

    /// The largest limit of a client.
    static let mostPictures = WireLimits.devicePictures

    init(_ pictures: DevicePictures) { self.pictures = pictures }

    deinit { for id in ids { pictures.remove(id) } }

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
    /// - Returns: Its number; `nil` if the client keeps as many as it may.
    func add(_ picture: PixelBuffer) -> UInt64? {
        guard ids.count < limit else { return nil }
        let id = pictures.add(picture)
        ids.insert(id)
        return id
    }

    /// Releases pictures.
    ///
    /// - Throws: `malformedData` if the client does not have one of them.
    func release(_ released: [UInt64]) throws(MediaError) {
        for id in released {
            guard ids.remove(id) != nil else {
                throw MediaError(
                    .malformedData,
                    "the client released a picture that it did not have",
                    given: "picture \(id)"
                )
            }
            pictures.remove(id)
        }
    }
}
