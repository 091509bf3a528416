// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport

@testable internal import HelperIPC
@testable internal import MediaTypes

/// Orders as real clients give them, and random ones.
enum Seeds {
    static let identity = EncoderIdentity(name: "echo", codec: .h264)
    static let decoder = DecoderIdentity(name: "echo", codec: .h264)
    private static let x264 = EncoderIdentity(name: "x264", codec: .h264)

    static func properties(_ configuration: EncoderConfiguration) -> EncoderProperties {
        EncoderProperties(
            name: identity.name,
            profile: "none",
            level: "none",
            reorderDepth: 0,
            maximumDelay: 2,
            pixelFormats: PixelFormat.allCases,
            supportedProperties: [.bFrames, .frameQuantizer],
            formatDescription: FormatDescription(
                codec: .h264,
                width: configuration.width,
                height: configuration.height,
                parameterSets: [[0x67, 0x42], [0x68]],
                color: configuration.color ?? .unspecified,
                pixelAspectRatio: configuration.pixelAspectRatio ?? .one
            )
        )
    }

    /// The payload of a greeting.
    static let hello: [UInt8] = payload(ControlOrder.hello(Hello(build: "fuzz")))

    static func all() throws -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for manners in [[.greets, .closes, .takes], [.takes], [.greets], [.isDeaf, .endsControlFirst]] as [Manners] {
            for format in PixelFormat.allCases {
                seeds.append(try session(manners, format, ringByteCount: 4096))
                seeds.append(try session(manners, format, ringByteCount: 65536))
            }
            seeds.append(try session(manners, .nv12, ringByteCount: 65536, identity: x264))
        }
        for manners in [[.greets, .closes, .decodes], [.decodes], [.decodes, .isDeaf]] as [Manners] {
            for format in PixelFormat.allCases { seeds.append(try decoding(manners, format)) }
        }
        for seed in 0..<8 as Range<UInt64> { seeds.append(noise(seed)) }
        return seeds
    }

    /// A session: an encoder, two memories, a few frames, a change, and the end of the frames.
    private static func session(
        _ manners: Manners,
        _ format: PixelFormat,
        ringByteCount: Int,
        identity: EncoderIdentity = identity
    ) throws -> [UInt8] {
        var output = FuzzOutput()
        output.byte(manners.rawValue)
        var configuration = EncoderConfiguration(width: 32, height: 16)
        configuration.rateControl = .constantQuantizer(26)
        configuration.software.threads = 1
        configuration.software.preset = .ultrafast
        let order = EncoderOrder(
            encoder: identity,
            configuration: configuration,
            maximumReorderDepth: 2,
            ringByteCount: ringByteCount
        )
        let ring = ringByteCount == 4096 ? Attachments.smallMemory : Attachments.largeMemory
        record(.create(order), ring, &output)
        record(.offer(MemoryOffer(slot: 0, byteCount: 4096)), Attachments.smallMemory, &output)
        record(.offer(MemoryOffer(slot: 1, byteCount: 65536)), Attachments.largeMemory, &output)
        record(.offer(MemoryOffer(slot: 2, byteCount: nil)), Attachments.smallMemory, &output)
        for number in 0..<7 as Range<Int64> {
            record(.frame(frame(number, format, slot: UInt32(number & 1))), 0, &output)
        }
        configuration.bFrames = .off
        record(.update(configuration), 0, &output)
        record(.forget(slot: 0), 0, &output)
        record(.drain, 0, &output)
        record(.taken(count: 3), 0, &output)
        record(.inspect(path: "/dev/dri/renderD128"), 0, &output)
        return output.bytes
    }

    /// A session: a decoder, memory for pictures of one format, a few samples, larger memory for them, and the end.
    private static func decoding(_ manners: Manners, _ format: PixelFormat) throws -> [UInt8] {
        var output = FuzzOutput()
        output.byte(manners.rawValue)
        let description = FormatDescription(
            codec: .h264,
            width: 32,
            height: 16,
            parameterSets: [[0x67, 0x42], [0x68]]
        )
        let order = DecoderOrder(
            decoder: decoder,
            formatDescription: description,
            isLowLatency: false,
            threadCount: 1,
            devicePictureLimit: 4,
            ringByteCount: 4096
        )
        decoderRecord(.create(order), Attachments.smallMemory, &output)
        let shape = PictureShape(format: format, width: 32, height: 16)
        let layout = try shape.layout()
        for slot in 0..<2 as Range<UInt32> {
            let offer = SlotOffer(slot: slot, shape: shape, byteCount: layout.byteCount, planes: layout.planes)
            decoderRecord(.offer(offer), Attachments.largeMemory, &output)
        }
        for number in 0..<5 as Range<Int64> {
            decoderRecord(.sample(sample(number, number == 3 ? description : nil)), 0, &output)
            if number > 0 { decoderRecord(.free(slot: UInt32(number & 1)), 0, &output) }
        }
        decoderRecord(.ring(byteCount: 65536), Attachments.largeMemory, &output)
        decoderRecord(.forget(slot: 0), 0, &output)
        decoderRecord(.drain, 0, &output)
        return output.bytes
    }

    private static func sample(_ number: Int64, _ format: FormatDescription?) -> SampleOrder {
        var order = SampleOrder.blank
        (order.number, order.offset, order.byteCount, order.formatDescription) = (number, Int(number) * 64, 48, format)
        return order
    }

    private static func frame(_ number: Int64, _ format: PixelFormat, slot: UInt32) -> FrameOrder {
        FrameOrder(
            number: number,
            picture: PixelBuffer.Description(format: format, width: 32, height: 16),
            place: place(number, format, slot),
            presentationTime: MediaTime(value: number, timescale: 30),
            duration: .invalid,
            options: FrameOptions(forceKeyFrame: number == 0, quantizer: number == 3 ? 20 : nil)
        )
    }

    /// In a memfd, but for one of the frames.
    private static func place(_ number: Int64, _ format: PixelFormat, _ slot: UInt32) -> PicturePlace {
        let layouts = (0..<format.planeCount).map { PlaneLayout(offset: $0 * 1024, bytesPerRow: 64) }
        if number != 5 { return .memory(slot: slot, planes: layouts) }
        return .dmaBuf(slots: [2], planes: layouts.map { DMABuffer.Plane(object: 0, layout: $0) }, modifier: 0)
    }

    private static func record(_ message: EncoderClientMessage, _ descriptors: UInt8, _ output: inout FuzzOutput) {
        record(kind: message.kind, payload(message), descriptors, &output)
    }

    private static func decoderRecord(
        _ message: DecoderClientMessage,
        _ descriptors: UInt8,
        _ output: inout FuzzOutput
    ) {
        let kind = message.kind - DecoderClientMessage.Kind.create.rawValue
        record(kind: kind, payload(message), descriptors, &output)
    }

    private static func record(
        kind: UInt16,
        _ payload: [UInt8],
        _ descriptors: UInt8,
        _ output: inout FuzzOutput
    ) {
        output.byte(descriptors | Form.waits.rawValue)
        output.byte(UInt8(truncatingIfNeeded: kind))
        output.short(payload.count)
        output.append(payload)
    }

    private static func payload(_ message: some WireMessage) -> [UInt8] {
        do { return Array(try message.bytes(sequence: 0).dropFirst(MessageHeader.byteCount)) } catch {
            fatalError("a seed cannot be written: \(error)")
        }
    }

    /// Messages of both sockets and any direction as they are.
    private static func noise(_ seed: UInt64) -> [UInt8] {
        var output = FuzzOutput()
        output.byte(UInt8(truncatingIfNeeded: seed))
        for (bytes, descriptorCount) in RandomMessages.all(seed: seed) {
            output.byte(UInt8(descriptorCount) | Form.raw.rawValue | (bytes[6] >= 129 ? Form.control.rawValue : 0))
            output.short(bytes.count)
            output.append(bytes)
        }
        return output.bytes
    }
}
