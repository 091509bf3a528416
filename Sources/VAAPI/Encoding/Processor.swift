// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Synchronization

/// What the samples of one side of a processing unit mean.
public struct ProcessingColor: Sendable, Hashable {
    /// The standard, one that the unit lists, or none.
    public var standard: ColorStandard
    /// Whether all values are used; nil leaves it to the driver.
    public var isFullRange: Bool?

    /// Describes colours.
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
    /// Samples to the left of it.
    public var x: Int
    /// Rows above it.
    public var y: Int
    /// Samples in a row, at least 1.
    public var width: Int
    /// Rows, at least 1.
    public var height: Int

    /// Describes a rectangle.
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

/// What a processing unit does to a picture.
public struct ProcessingOrder: Sendable, Hashable {
    /// The part of the source that is read; it has to lie in it.
    public var source: SurfaceRegion
    /// The part of the target that it is scaled to; it has to lie in it. All around it becomes opaque black.
    public var target: SurfaceRegion
    /// What the source's samples mean.
    public var sourceColor: ProcessingColor
    /// What the target's samples are to mean.
    public var targetColor: ProcessingColor

    /// Describes an order.
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

/// A processing unit of the driver's at work, without filters (a `VAContextID` of `VAEntrypointVideoProc`).
///
/// Pictures may be given from any thread; those of several threads take turns. Surfaces that are processed have to be kept
/// until that is done.
public final class Processor: Sendable {
    /// What it can do.
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

    /// Submits a picture (`vaBeginPicture`, `vaRenderPicture`, `vaEndPicture`) and returns before it is done. Whatever the
    /// driver is given next that reads the target waits for it.
    ///
    /// - Throws: ``VAError`` naming the call that the driver refused; the target's contents are undefined then.
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
            // The only way out of a picture.
            connection.report { () throws(VAError) in try check("vaEndPicture", vaEndPicture(handle, id)) }
            throw error
        }
        try check("vaEndPicture", vaEndPicture(handle, id))
    }
}

extension DriverDescription {
    /// Whether the driver lists a processing unit.
    public var processesPictures: Bool {
        profiles.contains { $0.profile == .none && $0.entrypoints.contains(.videoProcessing) }
    }
}

extension Display {
    /// Makes a processing unit of the driver's (`vaCreateContext` of `VAEntrypointVideoProc`).
    ///
    /// - Parameters:
    ///   - width: Samples in a row of the pictures that it writes.
    ///   - height: Rows of them.
    /// - Throws: ``VAError`` if the driver has none, see ``DriverDescription/processesPictures``, or refuses it.
    public func makeProcessor(width: Int, height: Int) throws(VAError) -> Processor {
        try Processor(try makeConfig(profile: .none, entrypoint: .videoProcessing), width: width, height: height)
    }
}
