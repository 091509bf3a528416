// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The reading end of a ring: coded data in memory that the other process writes.
struct CodedRing: Sendable {
    private let mapping: SharedMapping

    init(_ mapping: SharedMapping) { self.mapping = mapping }

    /// Copies data, so that the other process can no longer change it and its space is free again.
    ///
    /// - Parameter peer: The other process, for errors.
    /// - Throws: `malformedData` if the data is not in the ring.
    func data(offset: Int, byteCount: Int, from peer: String) throws(MediaError) -> CodedData {
        guard (0...mapping.byteCount).contains(offset), (0...mapping.byteCount - offset).contains(byteCount) else {
            throw MediaError(
                .malformedData,
                "\(peer) sent data outside the memory for coded data",
                given: "\(byteCount) bytes at \(offset)",
                allowed: "\(mapping.byteCount) bytes"
            )
        }
        return CodedData(UnsafeRawBufferPointer(start: mapping.base + offset, count: byteCount))
    }
}
