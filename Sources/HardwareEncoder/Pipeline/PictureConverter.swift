// SPDX-License-Identifier: GPL-2.0-or-later

internal import Logging
internal import MediaTypes
internal import VAAPI

/// Brings pictures to the encoder's size, format and colour by the device's processing unit. Used on the thread that
/// submits.
///
/// The unit is made when the first picture needs it. Every kind of conversion is tried on a test card first, and what comes
/// out is read back: a unit that gives other colours, or has them in other places, is not used.
final class PictureConverter {
    /// How often pictures were copied as a whole on their way to the unit; see ``PictureInput/copies``.
    var copies: Int { finishedCopies + (input?.copies ?? 0) }

    private let display: Display
    private let targets: SurfaceRequest
    private let pool: SurfacePool
    private let quirks: Quirks
    private let takesPages: Bool
    private let trial: PageTrial
    private let logger: Logger

    private var processor: Processor?
    /// For pictures of one format and size at a time.
    private var input: PictureInput?
    private var inputRequest: SurfaceRequest?
    private var finishedCopies = 0
    private var proved: Set<Kind> = []

    /// Pictures that are converted alike.
    private struct Kind: Hashable {
        var picture: PixelBuffer.Description
        var conversion: PictureConversion
    }

    /// What can be asked of a device that encodes pictures of a format; `nil` if it has no processing unit, and where the
    /// result would be other than 4:2:0 of up to ten bits. Limits of units differ, and are met where they are.
    static func support(_ driver: DriverDescription, _ format: PixelFormat) -> ConversionSupport? {
        guard driver.processesPictures, [.nv12, .p010].contains(format) else { return nil }
        return ConversionSupport(
            formats: [.nv12, .p010, .bgra, .yuy2],
            matrices: [.bt709, .bt601Lines525, .bt601Lines625, .bt2020],
            minimumSize: 16,
            maximumWidth: 1 << 14,
            maximumHeight: 1 << 14
        )
    }

    /// - Parameters:
    ///   - display: Where the surfaces are.
    ///   - request: Surfaces that the encoder reads from.
    ///   - quirks: What the driver does otherwise than VA-API says.
    ///   - takesPages: Whether the driver says that it takes memory of the process.
    ///   - trial: Is told when that is made use of.
    ///   - logger: Is told once if a driver does not take memory that need not have been copied.
    init(
        _ display: borrowing Display,
        _ request: SurfaceRequest,
        quirks: Quirks,
        takesPages: Bool,
        trial: PageTrial,
        logger: Logger
    ) {
        self.display = display.share()
        targets = request
        pool = SurfacePool(display.share(), request)
        self.quirks = quirks
        self.takesPages = takesPages
        self.trial = trial
        self.logger = logger
    }

    /// The surface that holds the converted picture as soon as the device has come so far.
    ///
    /// - Throws: `conversionFailed`.
    func surface(for buffer: PixelBuffer, _ conversion: PictureConversion) throws(MediaError) -> InputSurface {
        do throws(MediaError) {
            let picture = buffer.pictureDescription
            guard conversion.source.isInside(width: picture.width, height: picture.height),
                conversion.target.isInside(width: targets.width, height: targets.height)
            else {
                throw MediaError(.invalidArgument, "a part of the picture lies outside of it")
            }
            let processor = try preparedProcessor(picture, conversion)
            let order = try processor.capabilities.order(picture, conversion)
            try prove(Kind(picture: picture.withoutAttachments, conversion: conversion.withoutAttachments), processor)
            let source = try preparedInput(picture, processor).surface(for: buffer)
            return try calling(.conversionFailed) { () throws(VAError) in
                let target = try pool.take()
                try processor.process(source.surface, into: target.surface, order)
                return InputSurface(target.surface, ConvertedPicture(target: target, source: source))
            }
        } catch {
            var error = error
            (error.code, error.isPermanent) = (.conversionFailed, false)
            throw error
        }
    }

    /// The processing unit, if it can do that.
    private func preparedProcessor(
        _ picture: PixelBuffer.Description,
        _ conversion: PictureConversion
    ) throws(MediaError) -> Processor {
        let processor: Processor
        if let known = self.processor {
            processor = known
        } else {
            processor = try calling(.conversionFailed) { () throws(VAError) in
                try display.makeProcessor(width: targets.width, height: targets.height)
            }
            self.processor = processor
        }
        let capabilities = processor.capabilities
        guard capabilities.name(of: picture.format) != nil, let format = targets.format, capabilities.writes(format)
        else {
            throw MediaError(
                .unsupported,
                "the driver does not convert \(picture.format.fourCC) to \(targets.format?.description ?? "its format")",
                allowed: "\(capabilities.inputFormats) to \(capabilities.outputFormats)"
            )
        }
        let width = max(picture.width, targets.width)
        let height = max(picture.height, targets.height)
        let least = min(picture.width, picture.height, targets.width, targets.height)
        guard least >= capabilities.minimumSize, width <= capabilities.maximumWidth ?? width,
            height <= capabilities.maximumHeight ?? height
        else {
            throw MediaError(
                .unsupported,
                "the driver does not convert pictures of this size",
                given: "\(picture.width)x\(picture.height)"
            )
        }
        return processor
    }

    private func prove(_ kind: Kind, _ processor: Processor) throws(MediaError) {
        if proved.contains(kind) { return }
        let proof = ConversionProof(kind.picture, kind.conversion)
        try proof.check(processor, display, targets)
        proved.insert(kind)
    }

    private func preparedInput(
        _ picture: PixelBuffer.Description,
        _ processor: Processor
    ) throws(MediaError) -> PictureInput {
        let request = SurfaceRequest(
            width: picture.width,
            height: picture.height,
            renderTargetFormat: picture.format.renderTargetFormat,
            format: processor.capabilities.name(of: picture.format)
        )
        if let input, inputRequest == request { return input }
        finishedCopies = copies
        let input = PictureInput(
            display,
            request,
            quirks: quirks,
            takesPages: takesPages,
            trial: trial,
            logger: logger
        )
        (self.input, inputRequest) = (input, request)
        return input
    }
}

/// What a conversion under way uses. It is over when nobody holds this any more, at the latest.
private final class ConvertedPicture: Sendable {
    private let target: PooledSurface
    private let source: InputSurface

    init(target: PooledSurface, source: InputSurface) {
        self.target = target
        self.source = source
    }

    deinit {
        // A picture that was encoded is over; one that never was may not be.
        _ = try? target.surface.wait()
    }
}

// MARK: - Orders

extension ProcessingCapabilities {
    /// How the unit calls a format that it reads; `nil` if it reads none of that kind.
    func name(of format: PixelFormat) -> FourCC? { format.fourCCs.first(where: reads) }

    /// What the unit is told for a conversion.
    ///
    /// - Throws: `unsupported` for colours that the unit does not list.
    func order(
        _ picture: PixelBuffer.Description,
        _ conversion: PictureConversion
    ) throws(MediaError) -> ProcessingOrder {
        let result = conversion.result
        let target = try standard(result.color.matrix)
        let source: ColorStandard =
            switch (picture.format.isYCbCr, conversion.changesMatrix) {
            case (true, true): try standard(picture.color.matrix)
            case (true, false): target
            case (false, _): inputStandards.contains(.sRGB) ? .sRGB : .none
            }
        return ProcessingOrder(
            source: conversion.source.region,
            target: conversion.target.region,
            sourceColor: ProcessingColor(source, isFullRange: picture.hasFullRange),
            targetColor: ProcessingColor(target, isFullRange: result.hasFullRange)
        )
    }

    private func standard(_ matrix: ColorDescription.Matrix) throws(MediaError) -> ColorStandard {
        let standard: ColorStandard
        switch matrix {
        case .bt709: standard = .bt709
        case .bt601Lines525, .bt601Lines625: standard = .bt601
        case .bt2020: standard = .bt2020
        default: return .none  // luma and chroma stay what they are, whatever they mean
        }
        guard knows(standard) else {
            throw MediaError(
                .unsupported,
                "the driver does not convert colours of this matrix",
                given: "matrix coefficients \(matrix.rawValue)"
            )
        }
        return standard
    }
}

extension PixelBuffer.Description {
    /// Whether all values are used, where nothing is said as decoders take it.
    var hasFullRange: Bool { format.isYCbCr ? color.range == .full : color.range != .limited }

    fileprivate var withoutAttachments: Self {
        var copy = self
        copy.attachments = PixelAttachments()
        return copy
    }
}

extension PictureConversion {
    fileprivate var withoutAttachments: Self {
        var copy = self
        copy.result.attachments = PixelAttachments()
        return copy
    }
}

extension PictureArea {
    fileprivate var region: SurfaceRegion { SurfaceRegion(x: x, y: y, width: width, height: height) }
}
