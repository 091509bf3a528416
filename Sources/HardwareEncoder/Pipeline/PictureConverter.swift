// SPDX-License-Identifier: GPL-2.0-or-later

internal import HardwareDisplay
internal import Logging
internal import MediaTypes
internal import VAAPI

/// Converts pictures to the encoder's size, format and colour with the device's video processor. Used on the submitting
/// thread.
///
/// The processor is created for the first picture that needs it. Every kind of conversion is first tested with a test
/// card, whose output is read back. A processor with wrong colours or positions is not used.
final class PictureConverter {
    /// The number of copies of whole pictures on the way to the processor; see ``PictureInput/copies``.
    var copies: Int { finishedCopies + (input?.copies ?? 0) }

    private let display: Display
    private let targets: SurfaceRequest
    private let pool: SurfacePool
    private let quirks: Quirks
    private let takesPages: Bool
    private let trial: PageTrial
    private let logger: Logger

    private var processor: Processor?
    /// The input for pictures of the current format and size.
    private var input: PictureInput?
    private var inputRequest: SurfaceRequest?
    private var finishedCopies = 0
    private var proved: Set<Kind> = []

    /// A kind of pictures that share a conversion.
    private struct Kind: Hashable {
        var picture: PixelBuffer.Description
        var conversion: PictureConversion
    }

    /// Returns the conversions that may be requested of a device for an encoder's pixel format; `nil` if it has no
    /// video processor, or if the result is not 4:2:0 of up to ten bits. Limits differ between processors and are
    /// checked on use.
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
    ///   - display: The display of the surfaces.
    ///   - request: The properties of the encoder's input surfaces.
    ///   - quirks: The known deviations of the driver from VA-API.
    ///   - takesPages: Whether the driver reports support for memory of the process.
    ///   - trial: Is informed when such memory is used.
    ///   - logger: Receives one message if a driver refuses memory that would not have needed a copy.
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

    /// Returns the surface that will contain the converted picture once the device has processed it.
    ///
    /// - Parameter importsOnly: Whether the CPU must not copy the picture for the processor.
    /// - Throws: `conversionFailed`.
    func surface(
        for buffer: PixelBuffer,
        _ conversion: PictureConversion,
        importsOnly: Bool = false
    ) throws(MediaError) -> InputSurface {
        do throws(MediaError) {
            let picture = buffer.pictureDescription
            guard conversion.source.isInside(width: picture.width, height: picture.height),
                conversion.target.isInside(width: targets.width, height: targets.height)
            else {
                throw MediaError(.invalidArgument, "the source or target region exceeds the picture")
            }
            let processor = try preparedProcessor(picture, conversion)
            let order = try processor.capabilities.order(picture, conversion)
            try prove(Kind(picture: picture.withoutAttachments, conversion: conversion.withoutAttachments), processor)
            let input = try preparedInput(picture, processor)
            let source = try importsOnly ? input.importedSurface(for: buffer) : input.surface(for: buffer)
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

    /// Returns the video processor, if it supports the conversion.
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

/// The resources of a conversion in progress. It is complete at the latest when its last reference is released.
private final class ConvertedPicture: Sendable {
    private let target: PooledSurface
    private let source: InputSurface

    init(target: PooledSurface, source: InputSurface) {
        self.target = target
        self.source = source
    }

    deinit {
        // An encoded picture is complete; one that was never encoded may still be in progress.
        _ = try? target.surface.wait()
    }
}

// MARK: - Operations

extension ProcessingCapabilities {
    /// Returns the processor's name of a format that it can read; `nil` if it can read none of that kind.
    func name(of format: PixelFormat) -> FourCC? { format.fourCCs.first(where: reads) }

    /// Returns the operation for a conversion.
    ///
    /// - Throws: `unsupported` for colours that the processor does not list.
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
                "the driver does not convert colours with these matrix coefficients",
                given: "\(matrix.rawValue)"
            )
        }
        return standard
    }
}

extension PixelBuffer.Description {
    /// Whether the samples use the full range. An unspecified range is interpreted as decoders do.
    var hasFullRange: Bool { format.isYCbCr ? color.range == .full : color.range != .limited }

    fileprivate var withoutAttachments: Self {
        var copy = self
        copy.attachments = PixelAttachments()
        return copy
    }
}

extension PictureConversion {
    /// Changes nothing.
    static func copy(of picture: PixelBuffer.Description) -> PictureConversion {
        let area = PictureArea(width: picture.width, height: picture.height)
        return PictureConversion(source: area, target: area, changesMatrix: false, result: picture)
    }

    fileprivate var withoutAttachments: Self {
        var copy = self
        copy.result.attachments = PixelAttachments()
        return copy
    }
}

extension PictureArea {
    fileprivate var region: SurfaceRegion { SurfaceRegion(x: x, y: y, width: width, height: height) }
}
