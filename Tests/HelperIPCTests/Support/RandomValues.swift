// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax

@testable import HelperIPC
@testable import MediaTypes

/// Random values of what travels. None of them is meant to be valid for an encoder; every field varies.
extension SeededGenerator {
    mutating func flag() -> Bool { .random(using: &self) }
    mutating func number() -> Int {
        flag() ? .random(in: .min ... .max, using: &self) : .random(in: -3...3, using: &self)
    }
    mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) -> Value {
        .random(in: .min ... .max, using: &self)
    }
    mutating func double() -> Double { Double(bitPattern: integer()) }

    mutating func text() -> String {
        let scalars: [Unicode.Scalar] = ["a", "Z", "0", " ", "\n", "\0", "é", "\u{301}", "漢", "🎞"]
        var text = ""
        for _ in 0..<Int.random(in: 0...12, using: &self) { text.unicodeScalars.append(one(of: scalars)) }
        return text
    }

    mutating func bytes(upTo count: Int = 9) -> [UInt8] {
        (0..<Int.random(in: 0...count, using: &self)).map { _ in integer() }
    }

    mutating func one<Value>(of values: [Value]) -> Value { values[Int.random(in: values.indices, using: &self)] }
    mutating func one<Value: CaseIterable>(_ type: Value.Type = Value.self) -> Value { one(of: Array(Value.allCases)) }

    mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? { flag() ? make(&self) : nil }
    mutating func list<Value>(upTo count: Int = 3, _ make: (inout Self) -> Value) -> [Value] {
        (0..<Int.random(in: 0...count, using: &self)).map { _ in make(&self) }
    }

    mutating func range<Bound: Comparable>(_ make: (inout Self) -> Bound) -> ClosedRange<Bound> {
        let (first, second) = (make(&self), make(&self))
        return min(first, second)...max(first, second)
    }

    mutating func time() -> MediaTime { MediaTime(value: integer(), timescale: integer()) }
    mutating func ratio() -> Rational { Rational(integer(), integer()) }

    mutating func color() -> ColorDescription {
        ColorDescription(
            primaries: .init(rawValue: integer()),
            transfer: .init(rawValue: integer()),
            matrix: .init(rawValue: integer()),
            range: one(of: [.unspecified, .limited, .full]),
            chromaLocation: maybe { .init(rawValue: $0.integer()) }
        )
    }

    mutating func chromaticity() -> MasteringDisplay.Chromaticity { .init(x: integer(), y: integer()) }

    mutating func display() -> MasteringDisplay {
        MasteringDisplay(
            red: chromaticity(),
            green: chromaticity(),
            blue: chromaticity(),
            whitePoint: chromaticity(),
            maximumLuminance: integer(),
            minimumLuminance: integer()
        )
    }

    mutating func light() -> ContentLightLevel {
        ContentLightLevel(maximumContentLightLevel: integer(), maximumFrameAverageLightLevel: integer())
    }

    mutating func region() -> RegionOfInterest {
        RegionOfInterest(x: number(), y: number(), width: number(), height: number(), quantizerOffset: number())
    }

    mutating func attachments() -> PixelAttachments {
        PixelAttachments(
            masteringDisplay: maybe { $0.display() },
            contentLight: maybe { $0.light() },
            captions: bytes(),
            regionsOfInterest: list { $0.region() },
            fieldOrder: maybe { $0.one() }
        )
    }

    mutating func picture() -> PixelBuffer.Description {
        PixelBuffer.Description(
            format: one(),
            width: number(),
            height: number(),
            color: color(),
            pixelAspectRatio: ratio(),
            attachments: attachments()
        )
    }

    mutating func conversions() -> ConversionSupport {
        ConversionSupport(
            formats: Set(list { $0.one() }),
            matrices: Set(list { ColorDescription.Matrix(rawValue: $0.integer()) }),
            minimumSize: number(),
            maximumWidth: number(),
            maximumHeight: number()
        )
    }

    mutating func area() -> PictureArea { PictureArea(x: number(), y: number(), width: number(), height: number()) }

    mutating func conversion() -> PictureConversion {
        PictureConversion(source: area(), target: area(), changesMatrix: flag(), result: picture())
    }

    mutating func format() -> FormatDescription {
        FormatDescription(
            codec: one(),
            width: number(),
            height: number(),
            parameterSets: list { $0.bytes() },
            color: color(),
            pixelAspectRatio: ratio(),
            attachments: attachments()
        )
    }

    mutating func peak() -> PeakBitRate {
        switch integer(UInt8.self) % 3 {
        case 0: .automatic
        case 1: .unlimited
        default: .limit(number(), window: double())
        }
    }

    mutating func rateControl() -> RateControl {
        switch integer(UInt8.self) % 4 {
        case 0: .averageBitRate(number(), peak: peak())
        case 1: .constantBitRate(number(), window: double())
        case 2: .constantQuality(double(), peak: peak())
        default: .constantQuantizer(number())
        }
    }

    mutating func configuration() -> EncoderConfiguration {
        var value = EncoderConfiguration(width: number(), height: number())
        value.codec = one()
        value.profile = maybe { $0.one() }
        value.h264Level = maybe { $0.one(of: H264Level.all) }
        value.hevcLevel = maybe { $0.one(of: HEVCLevel.all) }
        value.chromaFormat = one()
        value.bitDepth = number()
        value.prefersBitDepth = flag()
        value.frameRate = ratio()
        value.isFrameRateVariable = flag()
        value.rateControl = rateControl()
        value.keyFrameInterval = KeyFrameInterval(frames: maybe { $0.number() }, duration: maybe { $0.time() })
        value.allowsOpenGOP = flag()
        value.bFrames = one(of: [.off, .automatic, .maximum(number())])
        value.allowsBPyramid = flag()
        value.entropyMode = one()
        value.color = maybe { $0.color() }
        value.pixelAspectRatio = maybe { $0.ratio() }
        value.masteringDisplay = maybe { $0.display() }
        value.contentLight = maybe { $0.light() }
        value.accessUnitDelimiters = flag()
        value.isLowLatency = flag()
        value.slices = number()
        value.usesIntraRefresh = flag()
        value.temporalLayers = number()
        value.longTermReferences = number()
        value.maximumFrameSize = maybe { $0.number() }
        value.quantizerRange = maybe { random in random.range { $0.number() } }
        value.initialBufferFullness = maybe { $0.double() }
        value.scaling = one()
        value.software.preset = one()
        value.software.tuning = maybe { $0.one() }
        value.software.threads = number()
        value.software.instructionSet = one()
        value.hardware.lowPower = one()
        value.hardware.qualityLevel = maybe { $0.number() }
        value.hardware.framesInFlight = maybe { $0.number() }
        value.hardware.controlsMacroblocks = maybe { $0.flag() }
        return value
    }

    mutating func error() -> MediaError {
        MediaError(
            .init(rawValue: text()),
            text(),
            given: maybe { $0.text() },
            allowed: maybe { $0.text() },
            call: maybe { $0.text() },
            status: maybe { $0.number() },
            isPermanent: flag(),
            cause: maybe { .init(rawValue: $0.text()) }
        )
    }

    mutating func identity() -> EncoderIdentity {
        EncoderIdentity(name: text(), codec: one(), device: maybe { $0.text() })
    }

    mutating func properties() -> EncoderProperties {
        EncoderProperties(
            name: text(),
            profile: text(),
            level: text(),
            reorderDepth: number(),
            maximumDelay: number(),
            isFailureFinal: flag(),
            pixelFormats: list { $0.one() },
            conversions: maybe { $0.conversions() },
            supportedProperties: Set(list { EncoderOption(rawValue: $0.text()) }),
            adjustments: list { $0.adjustment() },
            formatDescription: format()
        )
    }

    mutating func adjustment() -> Adjustment {
        Adjustment(property: text(), requested: text(), used: text(), reason: text())
    }

    mutating func outcome() -> EncoderUpdateOutcome {
        flag() ? .needsNewEncoder : .done(adjustments: list { $0.adjustment() })
    }

    mutating func order() -> EncoderOrder {
        EncoderOrder(
            encoder: identity(),
            configuration: configuration(),
            maximumReorderDepth: maybe { $0.number() },
            copiesOnDevice: flag(),
            ringByteCount: number()
        )
    }

    mutating func layout() -> PlaneLayout { PlaneLayout(offset: number(), bytesPerRow: number()) }

    mutating func place() -> PicturePlace {
        switch integer(UInt8.self) % 4 {
        case 0: .memory(slot: integer(), planes: list { $0.layout() })
        case 1: .file(slot: integer(), planes: list { $0.layout() })
        case 2: .device(id: integer())
        default:
            .dmaBuf(
                slots: list { $0.integer() },
                planes: list { DMABuffer.Plane(object: $0.number(), layout: $0.layout()) },
                modifier: integer()
            )
        }
    }

    mutating func frameOrder() -> FrameOrder {
        FrameOrder(
            number: integer(),
            picture: picture(),
            place: place(),
            conversion: maybe { $0.conversion() },
            presentationTime: time(),
            duration: time(),
            options: FrameOptions(
                forceKeyFrame: flag(),
                quantizer: maybe { $0.number() },
                longTermReference: maybe { $0.number() },
                lostFrames: maybe { random in random.range { $0.time() } },
                decodedFrame: maybe { $0.time() }
            )
        )
    }

    mutating func notice() -> CodedNotice {
        CodedNotice(
            number: integer(),
            isKeyFrame: flag(),
            isReference: flag(),
            isDropped: flag(),
            offset: number(),
            byteCount: number(),
            formatDescription: maybe { $0.format() }
        )
    }

    mutating func decoderIdentity() -> DecoderIdentity {
        DecoderIdentity(name: text(), codec: one(), device: maybe { $0.text() })
    }

    mutating func decoderOrder() -> DecoderOrder {
        DecoderOrder(
            decoder: decoderIdentity(),
            formatDescription: format(),
            isLowLatency: flag(),
            threadCount: number(),
            devicePictureLimit: number(),
            ringByteCount: number()
        )
    }

    mutating func sampleOrder() -> SampleOrder {
        SampleOrder(
            number: integer(),
            offset: number(),
            byteCount: number(),
            presentationTime: time(),
            decodeTime: time(),
            duration: time(),
            isKeyFrame: flag(),
            isReference: flag(),
            isDropped: flag(),
            formatDescription: maybe { $0.format() },
            formatDescriptionChanged: flag(),
            released: list { $0.integer() }
        )
    }

    mutating func shape() -> PictureShape { PictureShape(format: one(), width: number(), height: number()) }

    mutating func slotOffer() -> SlotOffer {
        SlotOffer(slot: integer(), shape: shape(), byteCount: number(), planes: list { $0.layout() })
    }

    mutating func pictureNotice() -> PictureNotice {
        PictureNotice(number: integer(), slot: integer(), picture: picture(), isDamaged: flag())
    }

    mutating func devicePictureNotice() -> DevicePictureNotice {
        DevicePictureNotice(number: integer(), id: integer(), device: text(), picture: picture(), isDamaged: flag())
    }

    /// One message of each kind.
    mutating func decoderClientMessages() -> [DecoderClientMessage] {
        [
            .create(decoderOrder()), .ring(byteCount: number()), .sample(sampleOrder()), .drain, .offer(slotOffer()),
            .free(slot: integer()), .forget(slot: integer()), .release(ids: list { $0.integer() }), .close,
        ]
    }

    /// One message of each kind.
    mutating func decoderHelperMessages() -> [DecoderHelperMessage] {
        [
            .created(DecoderProperties(name: text(), threadCount: number())), .refused(error()),
            .accepted(number: integer()), .drained, .callFailed(error()), .failed(error()), .picture(pictureNotice()),
            .damaged(number: integer(), error()), .slotAwaited(shape()), .devicePicture(devicePictureNotice()),
        ]
    }

    /// One message of each kind.
    mutating func pictureClientMessages() -> [PictureClientMessage] {
        let order = FetchOrder(id: integer(), shape: shape(), byteCount: number(), planes: list { $0.layout() })
        return [.fetch(order), .export(id: integer()), .close]
    }

    /// One message of each kind.
    mutating func pictureHelperMessages() -> [PictureHelperMessage] {
        let planes = list { DMABuffer.Plane(object: $0.number(), layout: $0.layout()) }
        let notice = ExportNotice(objectCount: .random(in: 0...4, using: &self), planes: planes, modifier: integer())
        return [.fetched, .exported(notice), .callFailed(error()), .failed(error())]
    }

    mutating func stage() -> DriverStage {
        switch integer(UInt8.self) % 10 {
        case 0: .openingNode
        case 1: .choosingDriver
        case 2: .loading(file: text())
        case 3: .initializing(file: text())
        case 4: .askingVendor
        case 5: .askingProfiles
        case 6: .askingEntrypoints(profile: integer())
        case 7: .askingAttributes(profile: integer(), entrypoint: integer())
        case 8: .askingSurfaces(profile: integer(), entrypoint: integer())
        default: .closing
        }
    }

    mutating func report() -> DriverReport {
        DriverReport(
            majorVersion: integer(),
            minorVersion: integer(),
            vendor: text(),
            file: maybe { $0.text() },
            profiles: list { random in
                DriverReport.Profile(
                    number: random.integer(),
                    entrypoints: random.list { DriverReport.Entrypoint(number: $0.integer()) }
                )
            }
        )
    }

    mutating func encoder() -> DriverReport.Encoder {
        DriverReport.Encoder(
            profile: integer(),
            entrypoint: integer(),
            attributes: list { DriverReport.Attribute(number: $0.integer(), value: $0.integer()) },
            surfaces: list { random in
                DriverReport.SurfaceAttribute(
                    number: random.integer(),
                    flags: random.integer(),
                    value: random.maybe { $0.integer() }
                )
            },
            refusal: maybe { $0.error() }
        )
    }

    /// One message of each kind.
    mutating func clientMessages() -> [EncoderClientMessage] {
        [
            .create(order()), .offer(MemoryOffer(slot: integer(), byteCount: maybe { $0.number() })),
            .forget(slot: integer()), .frame(frameOrder()), .update(configuration()), .drain, .taken(count: integer()),
            .close, .inspect(path: text()),
        ]
    }

    /// One message of each kind.
    mutating func helperMessages() -> [EncoderHelperMessage] {
        [
            .created(properties()), .refused(error()),
            .accepted(number: integer(), released: list { $0.integer() }, copies: integer()),
            .released(number: integer()), .coded(notice()), .updated(outcome()), .drained, .callFailed(error()),
            .failed(error()), .roomWanted, .stage(stage()), .report(report()),
            .encoder(encoder()), .inspected,
        ]
    }

    /// One message of each kind.
    mutating func controlOrders() -> [ControlOrder] { [.hello(Hello(build: text())), .attach(one()), .close] }

    /// One message of each kind.
    mutating func controlNotices() -> [ControlNotice] {
        [
            .hello(Greeting(build: text(), limitations: list { $0.text() })),
            .log(LogLine(level: text(), text: text())), .device(DeviceNumber(integer())),
            .deviceClosed(DeviceNumber(integer())),
        ]
    }

    mutating func allMessages() -> [any WireMessage] {
        clientMessages() + helperMessages() + decoderClientMessages() + decoderHelperMessages() + controlOrders()
            + controlNotices()
    }
}
