// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Converts pictures of any format, size and colour to pictures of one format, size and colour.
///
/// The source may have any format and size, and may differ from call to call. The result has luma and chroma with an
/// even size, in any such format except YUY2. A picture that already has all wanted properties is returned unchanged.
/// Memory for pictures is allocated during the first conversions and reused. A converter is used by one thread at a
/// time.
///
/// **Result.** Its format, size and pixel aspect ratio are those of ``output``. Its attachments are the source's, with
/// regions of interest moved to their positions in the result.
///
/// **Colour.** Matrix and range are converted if both the source's and the wanted value are known and differ. If either
/// is unspecified, the samples keep their meaning, and the result has the source's value. 10-bit codes are four times
/// the 8-bit codes in limited range, which is assumed for an unspecified range, and 1023/255 times in full range; every
/// result is rounded to the nearest code, with halves rounded up. BGRA is not yet Y, Cb and Cr, so values that
/// ``output`` leaves unspecified are chosen: limited range, and BT.709 for results of at least 1280 columns or 720
/// rows, otherwise BT.601. An unspecified range of BGRA means full range, its matrix is not used, and alpha is ignored.
/// Primaries and transfer characteristics are never converted; the result has the source's. Therefore
/// ``PixelBuffer/color`` of the result always describes its samples.
///
/// **Chroma siting.** Samples of 4:2:0 sources keep their location. Scaling keeps the centres of planes aligned, which
/// displaces left-sited chroma of a result that is s times as wide by |s - 1| / 2 luma samples. Chroma of BGRA is the
/// mean of 2x2 pixels, and the result has the location `center`; chroma of YUY2 is the mean of two rows. If 4:2:2,
/// 4:4:4 or 12 bits are on either side, chroma planes are scaled with their centres aligned: 4:2:0 from 4:4:4 has the
/// location `center`; 4:2:2 from 4:4:4 or BGRA is half a luma sample to the right of the location that 4:2:2 defines,
/// which no description can express; and rows of 4:2:2 from 4:2:0 are displaced by up to a quarter of a 4:2:0 row at
/// the edges.
///
/// **Passes over memory.** There is one pass for all changes of layout, bit depth, matrix and range together; for YUY2
/// one more over chroma, or over everything if codes change. Scaling adds one pass, and one for each change that it
/// needs before it (separation of NV12 chroma; P010 and YUY2 to planar; BGRA to YCbCr in the wanted colour) or after it
/// (interleaving of chroma; change of codes). I420 is scaled to I420 in one pass. Cropped parts are not read. Scaling
/// uses libyuv: a box filter if both dimensions are reduced to less than half, otherwise bilinear.
public final class PixelConverter {
    /// The description of the results. Its attachments are not used.
    public let output: PixelBuffer.Description
    /// How sources with another aspect ratio are fitted in.
    public let scaling: ScalingMode

    private let pool: PixelBufferPool
    /// The layout of results; `nil` for formats other than 8- and 10-bit 4:2:0.
    private let outputLayout: SampleLayout?
    private let placer = PicturePlacer()
    private let componentPlacer = ComponentPlacer()

    /// Makes a converter.
    ///
    /// - Parameters:
    ///   - output: The description of the results, with an even size and any format except BGRA and YUY2. A pixel
    ///     aspect ratio that is not positive counts as 1:1.
    ///   - scaling: How sources with another aspect ratio are fitted in.
    ///   - memory: The type of the results' memory.
    /// - Throws: `unsupported` for another format, `invalidArgument` for a size that is odd or out of range.
    public init(
        output: PixelBuffer.Description,
        scaling: ScalingMode = .letterbox,
        memory: PixelBufferPool.Memory = .owned
    ) throws(MediaError) {
        guard Self.canMake(output.format) else {
            throw MediaError(
                .unsupported,
                "pictures cannot be converted to this format",
                given: output.format.rawValue,
                allowed: PixelFormat.allCases.filter(Self.canMake).map(\.rawValue).joined(separator: ", ")
            )
        }
        guard output.width % 2 == 0, output.height % 2 == 0 else {
            throw MediaError(
                .invalidArgument,
                "converted pictures require an even width and height",
                given: "\(output.width)x\(output.height)",
                allowed: "\(max(2, output.width & ~1))x\(max(2, output.height & ~1))"
            )
        }
        var output = output
        if !output.pixelAspectRatio.isPositive { output.pixelAspectRatio = .one }
        pool = try PixelBufferPool(output, memory: memory)
        outputLayout = SampleLayout(output.format)
        self.output = output
        self.scaling = scaling
    }

    /// Returns whether results can have this format: every format of luma and chroma but YUY2.
    public static func canMake(_ format: PixelFormat) -> Bool { format.isYCbCr && format.planeCount > 1 }

    /// Returns the reason why pictures with a description cannot be converted to `output`; `nil` if they can, provided
    /// that the CPU can access their samples.
    ///
    /// This is the error that ``convert(_:)`` would throw for their colour description, available without a converter
    /// or a picture.
    public static func refusal(
        of source: PixelBuffer.Description,
        for output: PixelBuffer.Description
    ) -> MediaError? {
        do throws(MediaError) {
            _ = try ColorConversion(source: source, output: output)
            return nil
        } catch {
            return error
        }
    }

    /// Returns the conversion of pictures with a description, for another component that performs it.
    ///
    /// - Returns: `nil` if no conversion is needed.
    /// - Throws: The error that ``refusal(of:for:)`` returns.
    public static func conversion(
        of source: PixelBuffer.Description,
        to output: PixelBuffer.Description,
        scaling: ScalingMode
    ) throws(MediaError) -> PictureConversion? {
        let geometry = PictureGeometry(
            source: PictureShape(source.width, source.height, source.pixelAspectRatio),
            output: PictureShape(output.width, output.height, output.pixelAspectRatio),
            scaling: scaling
        )
        let color = try ColorConversion(source: source, output: output)
        if source.format == output.format, geometry.isIdentity, !color.changesSamples { return nil }
        var result = output
        result.color = color.result
        result.attachments = geometry.moving(source.attachments)
        return PictureConversion(
            source: geometry.source,
            target: geometry.target,
            changesMatrix: color.target.weights != nil,
            result: result
        )
    }

    /// Converts a picture, or returns it if format, size, pixel aspect ratio and colour description are already as
    /// wanted.
    ///
    /// The source is read only during the call.
    ///
    /// - Throws: `unsupported` if the CPU cannot access the source's samples, or if its matrix or the wanted one is not
    ///   defined by two coefficients (for example ICtCp) and differs; `outOfMemory`.
    public func convert(_ source: PixelBuffer) throws(MediaError) -> PixelBuffer {
        let geometry = PictureGeometry(
            source: PictureShape(source.width, source.height, source.pixelAspectRatio),
            output: PictureShape(output.width, output.height, output.pixelAspectRatio),
            scaling: scaling
        )
        let color = try ColorConversion(source: source.pictureDescription, output: output)
        if source.format == output.format, geometry.isIdentity, !color.changesSamples { return source }
        let result = try pool.make(color: color.result, attachments: geometry.moving(source.attachments))
        try source.withPlanes { (sourcePlanes) throws(MediaError) in
            try result.withPlanes { (resultPlanes) throws(MediaError) in
                try place(source, sourcePlanes, geometry, color, in: resultPlanes)
            }
        }
        return result
    }

    private func place(
        _ source: PixelBuffer,
        _ sourcePlanes: [PixelPlane],
        _ geometry: PictureGeometry,
        _ color: ColorConversion,
        in resultPlanes: [PixelPlane]
    ) throws(MediaError) {
        let isFullRange = color.result.range == .full
        if let outputLayout, let picture = SourcePicture(source, planes: sourcePlanes, area: geometry.source) {
            let whole = PlanarPicture(outputLayout, width: output.width, height: output.height, planes: resultPlanes)
            whole.fillBlack(outside: geometry.target, isFullRange: isFullRange)
            return try placer.place(picture, in: whole.cropped(to: geometry.target), color: color)
        }
        let picture = PictureComponents(
            source.format.arrangement,
            width: source.width,
            height: source.height,
            planes: sourcePlanes
        )
        let whole = PictureComponents(
            output.format.arrangement,
            width: output.width,
            height: output.height,
            planes: resultPlanes
        )
        whole.fillBlack(outside: geometry.target, isFullRange: isFullRange)
        try componentPlacer.place(
            picture.cropped(to: geometry.source),
            isRGB: !source.format.isYCbCr,
            in: whole.cropped(to: geometry.target),
            color: color
        )
    }
}
