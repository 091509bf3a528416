// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import MediaTypes
internal import Synchronization

/// The client's end of a slot: memory to which a decoder's helper writes one picture at a time.
///
/// The helper maps the memory before it returns the first picture there. Then the memory is sealed: an encoder's helper
/// that gets the same memory can only read it.
final class SlotMemory: Sendable {
    /// The memfd.
    let descriptor: Descriptor
    /// The layout of the pictures.
    let layout: PackedLayout
    private let mapping: SharedMapping
    private let isSealed = Mutex(false)

    /// - Throws: `unsupported` for a shape that no decoder returns, `outOfMemory`.
    init(_ shape: PictureShape) throws(MediaError) {
        layout = try shape.layout()
        descriptor = try SharedMapping.makeMemory(
            named: "vatoolbox-decoded",
            byteCount: layout.byteCount,
            allowsSeals: true
        )
        mapping = try SharedMapping(descriptor, byteCount: layout.byteCount, access: .readWrite)
    }

    /// Returns the picture in the memory, without a copy.
    ///
    /// - Parameter release: Called when nothing reads the picture any more; not if this call throws.
    /// - Throws: `malformedData` if the helper has sealed the memory itself.
    func picture(
        _ description: PixelBuffer.Description,
        release: @escaping @Sendable () -> Void
    ) throws(MediaError) -> PixelBuffer {
        let number = descriptor.number
        let isSealed = isSealed.withLock { isSealed in
            isSealed = isSealed || linux_seal_for_readers(number) == 0
            return isSealed
        }
        guard isSealed else {
            throw MediaError(.malformedData, "\(HelperHost.peer) sealed the memory of a picture")
        }
        let memory = SharedMemory(fileDescriptor: number, byteCount: layout.byteCount, planes: layout.planes)
        return try PixelBuffer(description, sharedMemory: memory, at: mapping.base) {
            withExtendedLifetime(self) { release() }
        }
    }
}
