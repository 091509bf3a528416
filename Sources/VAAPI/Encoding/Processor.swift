// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Synchronization

/// The colour description of the source or target of a video processor.
public struct ProcessingColor: Sendable, Hashable {
    /// The colour standard: one that the driver lists, or none.
    public var standard: ColorStandard
    /// Whether the samples use the full range; nil leaves the choice to the driver.
    public var isFullRange: Bool?

    /// Creates a colour description.
    public init(_ standard: ColorStandard, isFullRange: Bool? = nil) {
        self.standard = standard
        self.isFullRange = isFullRange
    }

    fileprivate var properties: VAProcColorProperties {
        var properties = VAProcColorProperties()
        if let isFullRange {
            properties.color_range = UInt8(isFullRange ? VA_SOURCE_RANGE_FULL : VA_SOURCE_RANGE_REDUCED)
        }
        return properties
    }
}

/// A rectangle of a surface (`VARectangle`).
public struct SurfaceRegion: Sendable, Hashable {
    /// The x coordinate of the left edge, in samples.
    public var x: Int
    /// The y coordinate of the top edge, in rows.
    public var y: Int
    /// The width in samples, at least 1.
    public var width: Int
    /// The height in rows, at least 1.
    public var height: Int

    /// Creates a rectangle.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    fileprivate var rectangle: VARectangle {
        VARectangle(
            x: Int16(clamping: x),
            y: Int16(clamping: y),
            width: UInt16(clamping: width),
            height: UInt16(clamping: height)
        )
    }
}

/// The operation of a video processor on a picture.
public struct ProcessingOrder: Sendable, Hashable {
    /// The region of the source that is read. It must lie within the source.
    public var source: SurfaceRegion
    /// The region of the target to which it is scaled. It must lie within the target; the rest becomes opaque black.
    public var target: SurfaceRegion
    /// The colour description of the source.
    public var sourceColor: ProcessingColor
    /// The colour description of the target.
    public var targetColor: ProcessingColor

    /// Creates an operation.
    public init(
        source: SurfaceRegion,
        target: SurfaceRegion,
        sourceColor: ProcessingColor,
        targetColor: ProcessingColor
    ) {
        self.source = source
        self.target = target
        self.sourceColor = sourceColor
        self.targetColor = targetColor
    }
}

/// A video processor of the driver, without filters (a `VAContextID` of `VAEntrypointVideoProc`).
///
/// Pictures may be submitted from any thread; submissions of several threads are serialized. The caller must retain the
/// surfaces until they are processed.
public final class Processor: Sendable {
    /// The capabilities of the processor.
    public let capabilities: ProcessingCapabilities

    private let id: VAContextID
    /// Destroyed after the context.
    private let config: Config
    private let turns = Mutex(())

    private static let opaqueBlack: UInt32 = 0xFF00_0000

    fileprivate init(_ config: consuming Config, width: Int, height: Int) throws(VAError) {
        let surfaces = try config.surfaceCapabilities()
        var id = VA_INVALID_ID
        try check(
            "vaCreateContext",
            vaCreateContext(
                config.connection.handle,
                config.id,
                Int32(clamping: width),
                Int32(clamping: height),
                VA_PROGRESSIVE,
                nil,
                0,
                &id
            )
        )
        var caps = VAProcPipelineCaps()
        do throws(VAError) {
            try check(
                "vaQueryVideoProcPipelineCaps",
                vaQueryVideoProcPipelineCaps(config.connection.handle, id, nil, 0, &caps)
            )
        } catch {
            let connection = config.connection
            connection.report { () throws(VAError) in
                try check("vaDestroyContext", vaDestroyContext(connection.handle, id))
            }
            throw error
        }
        capabilities = ProcessingCapabilities(caps, surfaces)
        self.id = id
        self.config = config
    }

    deinit {
        let connection = config.connection
        connection.report { [id] () throws(VAError) in
            try check("vaDestroyContext", vaDestroyContext(connection.handle, id))
        }
    }

    /// Submits a picture (`vaBeginPicture`, `vaRenderPicture`, `vaEndPicture`) and returns before it is processed.
    /// Later work of the driver that reads the target waits for it.
    ///
    /// - Throws: ``VAError`` with the call that the driver refused; the contents of the target are then undefined.
    public func process(_ source: Surface, into target: Surface, _ order: ProcessingOrder) throws(VAError) {
        try withUnsafePointer(to: order.source.rectangle) { (from) throws(VAError) in
            try withUnsafePointer(to: order.target.rectangle) { (to) throws(VAError) in
                var pipeline = VAProcPipelineParameterBuffer()
                pipeline.surface = source.id
                pipeline.surface_region = from
                pipeline.output_region = to
                pipeline.output_background_color = Self.opaqueBlack
                pipeline.surface_color_standard = VAProcColorStandardType(order.sourceColor.standard.rawValue)
                pipeline.output_color_standard = VAProcColorStandardType(order.targetColor.standard.rawValue)
                pipeline.input_color_properties = order.sourceColor.properties
                pipeline.output_color_properties = order.targetColor.properties
                try turns.withLock { (_) throws(VAError) in try submit(&pipeline, target) }
            }
        }
    }

    private func submit(_ pipeline: inout VAProcPipelineParameterBuffer, _ target: Surface) throws(VAError) {
        let connection = config.connection
        let handle = connection.handle
        var buffer = VA_INVALID_ID
        let size = UInt32(MemoryLayout<VAProcPipelineParameterBuffer>.size)
        try check(
            "vaCreateBuffer",
            vaCreateBuffer(handle, id, VAProcPipelineParameterBufferType, size, 1, &pipeline, &buffer)
        )
        defer {
            connection.report { [buffer] () throws(VAError) in
                try check("vaDestroyBuffer", vaDestroyBuffer(handle, buffer))
            }
        }
        try check("vaBeginPicture", vaBeginPicture(handle, id, target.id))
        do throws(VAError) {
            try check("vaRenderPicture", vaRenderPicture(handle, id, &buffer, 1))
        } catch {
            // A picture must be ended.
            connection.report { () throws(VAError) in try check("vaEndPicture", vaEndPicture(handle, id)) }
            throw error
        }
        try check("vaEndPicture", vaEndPicture(handle, id))
    }
}

extension DriverDescription {
    /// Whether the driver lists a video processor.
    public var processesPictures: Bool {
        profiles.contains { $0.profile == .none && $0.entrypoints.contains(.videoProcessing) }
    }
}

extension Display {
    /// Creates a video processor (`vaCreateContext` of `VAEntrypointVideoProc`).
    ///
    /// - Parameters:
    ///   - width: The width of the output pictures in samples.
    ///   - height: The height of the output pictures in rows.
    /// - Throws: ``VAError`` if the driver has no processor, see ``DriverDescription/processesPictures``, or refuses.
    public func makeProcessor(width: Int, height: Int) throws(VAError) -> Processor {
        try Processor(try makeConfig(profile: .none, entrypoint: .videoProcessing), width: width, height: height)
    }
}
