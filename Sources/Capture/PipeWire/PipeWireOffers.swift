// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPipeWire
internal import MediaTypes

/// The parameters that a stream gives to the server, as pods of SPA.
struct PipeWireOffers {
    typealias Parameters = UnsafeMutableBufferPointer<UnsafePointer<spa_pod>?>

    let request: PipeWireStream.Request

    init(_ request: PipeWireStream.Request) { self.request = request }

    /// Room for one parameter, also for one with ``PipeWireStream/Request/mostModifiers`` modifiers.
    private static let byteCount = 2048

    /// Calls `body` with the formats: those in DMA-BUFs first, if there are modifiers.
    func withParameters<Result>(_ body: (Parameters) -> Result) -> Result {
        var wish = pipewire_wish()
        wish.largest = UInt32(PixelBuffer.maximumDimension)
        if let size = request.size { (wish.width, wish.height) = (UInt32(size.width), UInt32(size.height)) }
        if let rate = request.frameRate {
            (wish.rate, wish.rate_unit) = (UInt32(rate.numerator), UInt32(rate.denominator))
        }
        let formats = PipeWireFormat.offered.map(\.code)
        let kinds = request.modifiers.isEmpty ? [[]] : [request.modifiers, []]
        let offers = kinds.flatMap { modifiers in formats.map { (format: $0, modifiers: modifiers) } }
        return Self.build(offers.count, body) { index, memory in
            let offer = offers[index]
            return pipewire_offer(
                memory,
                UInt32(Self.byteCount),
                offer.format,
                wish,
                offer.modifiers,
                UInt32(offer.modifiers.count)
            )
        }
    }

    /// Calls `body` with what the stream needs of its buffers: their number, memory and metadata.
    static func withNeeds<Result>(usesDMABuf: Bool, _ body: (Parameters) -> Result) -> Result {
        let types =
            usesDMABuf
            ? 1 << SPA_DATA_DmaBuf.rawValue : 1 << SPA_DATA_MemFd.rawValue | 1 << SPA_DATA_MemPtr.rawValue
        let metadata = [
            (SPA_META_Header, MemoryLayout<spa_meta_header>.size),
            (SPA_META_VideoCrop, MemoryLayout<spa_meta_region>.size),
            (SPA_META_VideoTransform, MemoryLayout<spa_meta_videotransform>.size),
        ]
        return build(metadata.count + 1, body) { index, memory in
            let counts = PipeWireBuffers.counts
            guard index > 0 else {
                return pipewire_buffers(
                    memory,
                    UInt32(byteCount),
                    counts.wanted,
                    counts.least,
                    counts.most,
                    Int32(types)
                )
            }
            let (type, size) = metadata[index - 1]
            return pipewire_meta(memory, UInt32(byteCount), type.rawValue, Int32(size))
        }
    }

    private static func build<Result>(
        _ count: Int,
        _ body: (Parameters) -> Result,
        _ make: (Int, UnsafeMutableRawPointer) -> UnsafePointer<spa_pod>?
    ) -> Result {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount * count, alignment: 8)
        defer { memory.deallocate() }
        var parameters = (0..<count).map { make($0, memory + $0 * byteCount) }.filter { $0 != nil }
        return parameters.withUnsafeMutableBufferPointer { body($0) }
    }
}
