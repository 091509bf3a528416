public import MediaTypes

/// tmp
public final class PixelConverter {
    /// tmp
    public init(output: PixelBuffer.Description, scaling: ScalingMode) throws(MediaError) {}
    /// tmp
    public func convert(_ b: PixelBuffer) throws(MediaError) -> PixelBuffer { b }
}
