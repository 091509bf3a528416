// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// What the first picture says about itself, and pictures that no encoder can be given.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct PictureTests {
    @Test(arguments: Place.all) func aPictureThatCannotBeConvertedIsRefusedAndTheSessionGoesOn(_ place: Place)
        async throws
    {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        var configuration = shape.configuration
        configuration.color = .bt709
        let rig = try await SessionRig(shape, [{ _ in shape.script }], configuration: configuration)
        let ictcp = ColorDescription(primaries: .bt2020, transfer: .pq, matrix: .init(rawValue: 14), range: .limited)
        let bad = try rig.bank.make(color: ictcp)
        try await rig.encode(0)
        let error = await MediaError.of {
            try await rig.session.encode(bad, presentationTime: shape.time(1).presentation)
        }
        #expect(error?.code == .unsupported)
        let accepted = try await rig.encode(1..<4)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: rig.feeds(0..<1) + accepted)
        #expect(await rig.session.statistics.failedEncoders == 0)
    }

    /// Memory that only another device understands, and an encoder that reads pictures by the CPU.
    @Test func aPictureThatNobodyCanReadIsRefusedAndTheSessionGoesOn() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: .inProcess)
        let rig = try await SessionRig(shape, [{ _ in shape.script }])
        try await rig.encode(0)
        let planes = [0, 4096].map { DMABuffer.Plane(object: 0, layout: .init(offset: $0, bytesPerRow: 64)) }
        let memory = DMABuffer(fileDescriptors: [-1], planes: planes, modifier: 0x7B)
        let unreadable = try PixelBuffer(.init(format: .nv12, width: 16, height: 16), dmaBuf: memory) {}
        let error = await MediaError.of {
            try await rig.session.encode(unreadable, presentationTime: shape.time(1).presentation)
        }
        #expect(error?.code == .unsupported && error?.given == unreadable.storage.name)
        let accepted = try await rig.encode(1..<4)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: rig.feeds(0..<1) + accepted)
        #expect(await rig.session.statistics.failedEncoders == 0)
    }

    /// The same limit in either place, so that no encoder is given up for a frame that it cannot be told of.
    @Test(arguments: Place.all) func tooManyAttachmentsAreRefusedAndTheSessionGoesOn(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let rig = try await SessionRig(shape, [{ _ in shape.script }])
        try await rig.encode(0)
        for attachments in [
            PixelAttachments(captions: Array(repeating: 0xFC, count: PixelAttachments.maximumCaptionBytes + 1)),
            PixelAttachments(
                regionsOfInterest: Array(
                    repeating: RegionOfInterest(x: 0, y: 0, width: 16, height: 16, quantizerOffset: 0),
                    count: PixelAttachments.maximumRegionsOfInterest + 1
                )
            ),
        ] {
            let description = PixelBuffer.Description(format: .nv12, width: 16, height: 16, attachments: attachments)
            let error = await MediaError.of {
                try await rig.session.encode(PixelBuffer(description), presentationTime: shape.time(1).presentation)
            }
            #expect(error?.code == .invalidArgument)
        }
        let accepted = try await rig.encode(1..<4)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: rig.feeds(0..<1) + accepted)
        #expect(await rig.session.statistics.failedEncoders == 0)
    }

    /// A first picture, and the matrix that the stream then has.
    struct First: Sendable {
        var format: PixelFormat
        var color: ColorDescription
        var matrix: ColorDescription.Matrix
    }

    @Test(
        arguments: [
            First(format: .bgra, color: .sRGB, matrix: .bt601Lines525),
            First(format: .bgra, color: .unspecified, matrix: .bt601Lines525),
            First(format: .nv12, color: .bt709, matrix: .bt709),
        ],
        EncoderIsolation.processes
    )
    func aRealStreamSaysWhatTheFirstPictureBecomes(_ first: First, _ isolation: EncoderIsolation) async throws {
        let color = first.color
        let picture = PixelBuffer.Description(format: first.format, width: 64, height: 48, color: color)
        let stream = try await Self.encodeReally(picture, isolation)
        #expect(stream.matrix == first.matrix)
        #expect(stream.range == .limited)
        #expect(stream.primaries == color.primaries)
        #expect(stream.transfer == color.transfer)
    }

    @Test(arguments: EncoderIsolation.processes)
    func whatNoStreamCanSayDoesNotEndTheSession(_ isolation: EncoderIsolation) async throws {
        var color = ColorDescription.bt709
        color.chromaLocation = .init(rawValue: 6)
        let picture = PixelBuffer.Description(
            format: .nv12,
            width: 64,
            height: 48,
            color: color,
            pixelAspectRatio: Rational(0, 1)
        )
        let stream = try await Self.encodeReally(picture, isolation)
        #expect(stream.matrix == .bt709)
        #expect((stream.chromaLocation ?? .left) == .left)
    }

    /// Encodes two pictures with x264.
    ///
    /// - Returns: The colour in the sequence parameter set, which the format description is made from.
    private static func encodeReally(
        _ picture: PixelBuffer.Description,
        _ isolation: EncoderIsolation
    ) async throws -> ColorDescription {
        var helpers = HelperPool.Options()
        helpers.path = try BuiltProgram.path("vatoolbox-helper")
        helpers.log = { _ in }
        var options = SessionOptions()
        options.policy = .requireSoftware
        options.isolation = isolation
        options.helpers = try HelperPool(helpers)
        let session = try await CompressionSession(configuration: .init(width: 64, height: 48), options: options)
        #expect(session.encoder.isInHelper == (isolation == .process))
        let consumer = Task { [samples = session.samples] in await Consumed(samples) }
        for index in 0..<2 {
            let buffer = try PixelBuffer(picture)
            try buffer.withPlanes { planes in
                for (number, plane) in planes.enumerated() {
                    let rows = picture.height / (number == 0 ? 1 : 2)
                    let byteCount = plane.bytesPerRow * rows
                    plane.baseAddress.initializeMemory(as: UInt8.self, repeating: 90, count: byteCount)
                }
            }
            try await session.encode(buffer, presentationTime: MediaTime(value: Int64(index), timescale: 30))
        }
        try await session.finish()
        let consumed = await consumer.value
        #expect(consumed.error == nil)
        #expect(consumed.samples.count == 2)
        let format = try #require(consumed.samples.first?.formatDescription)
        #expect(format.pixelAspectRatio == .one)
        return format.color
    }

    @Test func aFirstPictureOfAnotherSizeGivesThePixelAspectRatioOfItsScaling() throws {
        var machine = PictureMachine { $0.scaling = .stretch }
        machine.encode(.init(format: .nv12, width: 32, height: 16))
        #expect(machine.machine.configuration.pixelAspectRatio == Rational(2))
    }

    /// Pictures in files may be ahead in number, since they take no memory; but not where frames must be quick.
    @Test(arguments: [
        (false, false, false, 3), (true, false, false, 16), (true, true, false, 3), (true, false, true, 3),
    ])
    func picturesInFilesMayBeAhead(isInFile: Bool, isRealTime: Bool, isLowLatency: Bool, most: Int) throws {
        var options = SessionOptions()
        options.realTime = isRealTime ? RealTimeMode() : nil
        var machine = PictureMachine(options: options) { $0.isLowLatency = isLowLatency }
        let description = PixelBuffer.Description(format: .nv12, width: 16, height: 16)
        let planes = [PlaneLayout(offset: 0, bytesPerRow: 16), PlaneLayout(offset: 256, bytesPerRow: 16)]
        for _ in 0..<20 {
            let file = FilePicture(fileDescriptor: 0, planes: planes)
            machine.encode(
                isInFile ? try PixelBuffer(description, file: file, release: {}) : try PixelBuffer(description)
            )
        }
        #expect(machine.machine.statistics.acceptedFrames == most)
    }

    @Test func theFirstPictureGivesTheMetadataThatTheConfigurationDoesNot() throws {
        let light = ContentLightLevel(maximumContentLightLevel: 1000, maximumFrameAverageLightLevel: 400)
        var picture = PixelBuffer.Description(format: .nv12, width: 16, height: 16)
        picture.attachments.contentLight = light
        var machine = PictureMachine()
        machine.encode(picture)
        #expect(machine.machine.configuration.contentLight == light)
        #expect(machine.created.last?.contentLight == light)

        let other = ContentLightLevel(maximumContentLightLevel: 1, maximumFrameAverageLightLevel: 1)
        var configured = PictureMachine { $0.contentLight = other }
        configured.encode(picture)
        #expect(configured.machine.configuration.contentLight == other)
    }
}

extension EncoderIsolation {
    /// Encoders in this process, and in another.
    fileprivate static let processes: [EncoderIsolation] = [.inProcess, .process]
}

/// A machine whose encoders are ready at once and code nothing.
struct PictureMachine {
    private(set) var machine: SessionMachine
    private(set) var adjustments: [Adjustment] = []
    /// What encoders were made for.
    private(set) var created: [EncoderConfiguration] = []
    private var calls: UInt64 = 0
    private let supported: Set<EncoderOption>

    init(
        supporting supported: Set<EncoderOption> = [],
        options: SessionOptions = Self.manyAhead,
        _ change: (inout EncoderConfiguration) -> Void = { _ in }
    ) {
        var configuration = EncoderConfiguration(width: 16, height: 16)
        change(&configuration)
        machine = SessionMachine(
            configuration: configuration,
            selection: SessionRig.selection([{ _ in InstanceScript() }], Stage()),
            options: options,
            now: .now
        )
        self.supported = supported
        input(.start(0))
    }

    /// Options with which no frame waits.
    private static var manyAhead: SessionOptions {
        var options = SessionOptions()
        options.limits.framesAhead = 100
        return options
    }

    mutating func encode(_ picture: PixelBuffer.Description) {
        guard let buffer = try? PixelBuffer(picture) else { return }
        encode(buffer)
    }

    mutating func encode(_ buffer: PixelBuffer) {
        calls += 1
        let time = MediaTime(value: Int64(calls), timescale: 30)
        input(.encode(EncoderFrame(number: 0, buffer: buffer, presentationTime: time), token: nil, calls))
    }

    private mutating func input(_ input: SessionMachine.Input) {
        for action in machine.handle(input, at: .now) {
            switch action {
            case .create(let id, let creation):
                created.append(creation.configuration)
                self.input(.instance(id, .created(properties)))
            case .report(.adjusted(let adjustment)): adjustments.append(adjustment)
            default: break
            }
        }
    }

    private var properties: EncoderProperties {
        EncoderProperties(
            name: "simulated",
            profile: "",
            level: "",
            reorderDepth: 0,
            maximumDelay: 100,
            pixelFormats: [.nv12],
            supportedProperties: supported,
            formatDescription: FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [])
        )
    }
}
