// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes
internal import VideoDecoding

/// A libavfilter graph that deinterlaces, rotates and converts pictures of one kind to a ``PixelFormat``.
///
/// Used from one thread at a time. A graph with a deinterlacer returns each picture after it has received the next one.
final class PictureFilter {
    /// The properties of the input and the processing steps. A frame that differs in any of them needs another graph.
    struct Configuration: Equatable {
        var width: Int32
        var height: Int32
        var layout: PictureLayout
        /// The demand of the source, the same for all of its pictures.
        var demand: PictureDemand
        /// Whether rows are stored bottom-up.
        var isBottomUp: Bool
        var color: ColorDescription
        var pixelAspectRatio: AVRational
        var timeBase: AVRational
        var deinterlaces: Bool
        var orientation: Orientation
        var threads: Int

        static func == (left: Configuration, right: Configuration) -> Bool {
            (left.width, left.height, left.layout, left.isBottomUp, left.color) == (
                right.width, right.height, right.layout, right.isBottomUp, right.color
            )
                && av_cmp_q(left.pixelAspectRatio, right.pixelAspectRatio) == 0
                && left.deinterlaces == right.deinterlaces && left.orientation == right.orientation
        }
    }

    /// An output frame.
    struct Output {
        var frame: FrameReference
        /// The duration that was passed in with the frame; 0 if not known.
        var duration: Int64
    }

    let configuration: Configuration
    private let graph: FilterGraph
    private var isFlushed = false
    /// The frames inside the graph, in order. Deinterlacers of some versions double the durations of frames together
    /// with the time base of their output, and those of other versions do not (`yadif_common.c`), so durations bypass
    /// them.
    private var inside: [(time: Int64, duration: Int64)] = []

    init(_ configuration: Configuration, log: LogRoute? = nil) throws(MediaError) {
        self.configuration = configuration
        graph = try FilterGraph(
            configuration.steps,
            threads: configuration.threads,
            given: "\(configuration.layout.name) \(configuration.width)x\(configuration.height)",
            log: log
        )
    }

    /// Submits a frame and transfers its reference to the graph; `nil` ends the input.
    ///
    /// - Parameter duration: The duration of the frame, in the time base of the input; 0 if not known.
    func send(_ frame: FrameReference?, duration: Int64 = 0) throws(MediaError) {
        if let frame {
            inside.append((frame.frame.pointee.pts, duration))
        } else {
            if isFlushed { return }
            isFlushed = true
        }
        try graph.send(frame)
    }

    /// Returns the next finished frame, with times in the time base of the input; `nil` if there is none.
    func receive() throws(MediaError) -> Output? {
        guard let output = try graph.receive() else { return nil }
        output.frame.pointee.pts = av_rescale_q(output.frame.pointee.pts, graph.timeBase, configuration.timeBase)
        let time = output.frame.pointee.pts
        let duration = inside.first { $0.time == time }?.duration ?? 0
        inside.removeAll { $0.time <= time }
        return Output(frame: output, duration: duration)
    }
}

extension PictureFilter.Configuration {
    /// The whole filter chain, from `buffer` to `buffersink`.
    var steps: [FilterGraph.Step] {
        let conversion = [scale, .init("format", "pix_fmts=\(target.ffmpegName)")]
        let turned = (isBottomUp ? [FilterGraph.Step("copy")] : []) + orientation.filters
        return [buffer] + deinterlacer + turned + conversion + [.init("buffersink")]
    }

    private var target: PixelFormat { layout.filtered(demand) }

    /// The colour description of the output pictures.
    var outputColor: ColorDescription {
        var color = color
        if layout.losesRGB(demand) {
            color.matrix = matrixOfRGB
            color.range = .limited
        }
        if target.is420, !layout.hasChroma420 { color.chromaLocation = .left }
        if !target.is420 { color.chromaLocation = nil }
        return color
    }

    /// The matrix for converted red, green and blue: that of their primaries, or the one that sessions choose.
    private var matrixOfRGB: ColorDescription.Matrix {
        if color.primaries == .bt2020 { return .bt2020 }
        let upright = orientation.swapsAxes ? (height, width) : (width, height)
        return ColorDescription.usualMatrix(width: Int(upright.0), height: Int(upright.1))
    }

    private var buffer: FilterGraph.Step {
        .init(
            "buffer",
            "video_size=\(width)x\(height):pix_fmt=\(layout.name):time_base=\(timeBase.num)/\(timeBase.den)"
                + ":pixel_aspect=\(pixelAspectRatio.num)/\(max(pixelAspectRatio.den, 1))"
        )
    }

    /// The deinterlacing filter, which returns one frame for each input frame and does not change progressive ones. It
    /// needs at least three samples in each direction.
    private var deinterlacer: [FilterGraph.Step] {
        deinterlaces && width >= 3 && height >= 3
            ? [.init("bwdif", "mode=send_frame:parity=auto:deint=interlaced")] : []
    }

    /// The filter that converts only the pixel format: range and matrix do not change. Subsampled chroma is moved to
    /// the location that H.264 and HEVC expect; chroma of 4:2:0 keeps its location. RGB that has to become luma and
    /// chroma uses the matrix of its primaries. Without a format change, this filter does nothing.
    private var scale: FilterGraph.Step {
        let common = "flags=bicubic+accurate_rnd+full_chroma_int:interl=-1"
        // The target chroma location: left, and between two rows if they share it.
        let places: [ChromaFormat: String] = [
            .yuv420: ":out_h_chr_pos=0:out_v_chr_pos=128", .yuv422: ":out_h_chr_pos=0",
        ]
        let out = places[target.chromaFormat] ?? ""
        if layout.isRGB {
            let names: [ColorDescription.Matrix: String] = [.bt2020: "bt2020", .bt709: "bt709"]
            let name = names[matrixOfRGB] ?? "smpte170m"
            let losing = "\(common):out_color_matrix=\(name):out_range=tv\(out)"
            return .init("scale", layout.losesRGB(demand) ? losing : common)
        }
        let range = color.range == .full ? "pc" : "tv"
        let chroma = layout.isWanted(demand) ? "" : ":in_h_chr_pos=0\(out)"
        // Newer versions would use the input location that the frame specifies.
        let place = layout.hasChroma420 && !layout.isWanted(demand) ? ":in_v_chr_pos=128" : ""
        return .init("scale", "\(common):in_range=\(range):out_range=\(range)\(chroma)\(place)")
    }
}
