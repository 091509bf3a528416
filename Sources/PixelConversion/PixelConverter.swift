// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Turns pictures of any format, size and colour into pictures of one format, size and colour.
///
/// Takes pictures of all formats and sizes; gives luma and chroma of even size, in all formats but YUY2. Sources may differ from
/// call to call. A picture that is already as wanted is returned as it is. Memory for pictures is allocated while the
/// first ones are converted and used again afterwards. A converter is used by one thread at a time.
///
/// **What the result is.** Its format, size and pixel aspect ratio are those of ``output``. Its attachments are the
/// source's, with regions of interest moved to where they are in the result.
///
/// **Colour.** Matrix and range are converted where both the source's and the wanted value are known and differ. Where
/// either is unspecified the samples keep their meaning, and the result carries the source's value. A depth of ten bits
/// is four times eight bits in limited range, in which an unspecified range is taken to be, and 1023/255 times in full
/// range; every result is rounded to the nearest code, halves up. BGRA has no meaning as Y, Cb and Cr yet, so what
/// ``output`` leaves unspecified is chosen: limited range, BT.709 for results of at least 1280 columns or 720 rows, else
/// BT.601. An unspecified range of BGRA means full, its matrix does not matter, and alpha is ignored. Primaries and
/// transfer characteristics are never converted; the result carries the source's. So ``PixelBuffer/color`` of the result
/// always says what its samples are.
///
/// **Chroma siting.** Samples of 4:2:0 sources keep their place. Scaling keeps the centres of planes aligned, which
/// puts left-sited chroma of a result that is s times as wide off by |s - 1| / 2 luma samples. Chroma of BGRA is the
/// mean of 2x2 pixels, and the result says `center`; chroma of YUY2 is the mean of two rows. Where 4:2:2, 4:4:4 or twelve
/// bits are on either side, chroma is scaled from one density to the other, its centres aligned.
///
/// **Passes over memory.** One for a change of layout, depth, matrix or range, all together; for YUY2 one more over
/// chroma, or over everything if codes change. Scaling is a pass more for each change that it needs before it (chroma
/// of NV12 is separated; P010 and YUY2 become planar; BGRA becomes YCbCr in the wanted colour) or after it (chroma is
/// interleaved again; codes change). I420 to I420 is scaled in one pass. What is cut off is not read. Scaling is
/// libyuv's: a box filter where both sides become less than half, else bilinear.
public final class PixelConverter {
    /// What results are. Its attachments play no part.
    public let output: PixelBuffer.Description
    /// How sources of another shape are fitted in.
    public let scaling: ScalingMode

    private let pool: PixelBufferPool
    /// `nil` for formats beyond 4:2:0 of 8 and 10 bits.
    private let outputLayout: SampleLayout?
    private let placer = PicturePlacer()
    private let componentPlacer = ComponentPlacer()

    /// Makes a converter.
    ///
    /// - Parameters:
    ///   - output: What results shall be, of even size: any format but BGRA and YUY2. A pixel aspect ratio that is not
    ///     positive counts as 1:1.
    ///   - scaling: How sources of another shape are fitted in.
    ///   - memory: The kind of memory of results.
    /// - Throws: `unsupported` for another format, `invalidArgument` for a size that is odd or out of range.
    public init(
        output: PixelBuffer.Description,
        scaling: ScalingMode = .letterbox,
        memory: PixelBufferPool.Memory = .owned
    ) throws(MediaError) {
        let formats = PixelFormat.allCases.filter { $0.isYCbCr && $0.planeCount > 1 }
        guard formats.contains(output.format) else {
            throw MediaError(
                .unsupported,
                "pictures cannot be converted to this format",
                given: output.format.rawValue,
                allowed: formats.map(\.rawValue).joined(separator: ", ")
            )
        }
        guard output.width % 2 == 0, output.height % 2 == 0 else {
            throw MediaError(
                .invalidArgument,
                "converted pictures have even sizes",
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

    /// Why pictures like that cannot become `output`; `nil` if they can, as long as the CPU can reach their samples.
    ///
    /// It is the error that ``convert(_:)`` would throw for their colour, found without a converter or a picture.
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

    /// What becomes of pictures like that, for somebody else who does it.
    ///
    /// - Returns: `nil` if they are as wanted.
    /// - Throws: what ``refusal(of:for:)`` says.
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

    /// Converts a picture, or returns it if format, size, pixel aspect ratio and colour are already as wanted.
    ///
    /// The source is read during the call only, and the result is the caller's.
    /// - Throws: `unsupported` if the CPU cannot reach the source's samples, or if its matrix or the wanted one is not
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
