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
    /// One filter with its options.
    struct Step: Equatable {
        var name: String
        var options: String

        init(_ name: String, _ options: String = "") {
            self.name = name
            self.options = options
        }
    }

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
    private let library: ffmpeg_filters
    private let log: LogRoute?
    private var graph: UnsafeMutablePointer<AVFilterGraph>?
    private var source: UnsafeMutablePointer<AVFilterContext>?
    private var sink: UnsafeMutablePointer<AVFilterContext>?
    private var isFlushed = false
    /// The frames inside the graph, in order. Deinterlacers of some versions double the durations of frames together
    /// with the time base of their output, and those of other versions do not (`yadif_common.c`), so durations bypass
    /// them.
    private var inside: [(time: Int64, duration: Int64)] = []

    init(_ configuration: Configuration, log: LogRoute? = nil) throws(MediaError) {
        self.configuration = configuration
        self.log = log
        library = try Self.library.get()
        graph = library.graph_alloc()
        guard let graph else {
            throw MediaError(.outOfMemory, "no memory for a filter graph", call: "avfilter_graph_alloc")
        }
        graph.pointee.opaque = log?.mark
        graph.pointee.nb_threads = Int32(clamping: configuration.threads)
        let steps = configuration.steps
        var last: UnsafeMutablePointer<AVFilterContext>?
        for step in steps {
            let next = try add(step, to: graph)
            if let last {
                try check(library.link(last, 0, next, 0), "avfilter_link", "filters cannot be connected")
            } else {
                source = next
            }
            last = next
        }
        sink = last
        try check(
            library.graph_config(graph, nil),
            "avfilter_graph_config",
            "these pictures cannot be converted",
            code: .unsupported,
            given: "\(configuration.layout.name) \(configuration.width)x\(configuration.height)"
        )
    }

    /// libavfilter, loaded on first use.
    private static let library: Result<ffmpeg_filters, MediaError> = {
        var library = ffmpeg_filters()
        guard let missing = ffmpeg_load_filters(&library) else { return .success(library) }
        return .failure(
            MediaError(
                .unavailable,
                "libavfilter cannot be loaded: \(String(cString: missing))",
                given: String(cString: ffmpeg_filter_library_name()),
                call: "dlopen"
            )
        )
    }()

    deinit { library.graph_free(&graph) }

    private func add(
        _ step: Step,
        to graph: UnsafeMutablePointer<AVFilterGraph>
    ) throws(MediaError) -> UnsafeMutablePointer<AVFilterContext> {
        guard let filter = library.get_by_name(step.name) else {
            throw MediaError(.unavailable, "FFmpeg was built without a required filter", given: step.name)
        }
        var context: UnsafeMutablePointer<AVFilterContext>?
        try check(
            library.graph_create_filter(&context, filter, step.name, step.options, nil, graph),
            "avfilter_graph_create_filter",
            "a filter cannot be created",
            code: .unsupported,
            given: "\(step.name)=\(step.options)"
        )
        guard let context else { throw MediaError(.outOfMemory, "no memory for a filter") }
        return context
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
        try check(
            library.buffersrc_add_frame_flags(source, frame?.frame, 0),
            "av_buffersrc_add_frame_flags",
            "filtering failed"
        )
    }

    /// Returns the next finished frame, with times in the time base of the input; `nil` if there is none.
    func receive() throws(MediaError) -> Output? {
        let output = try FrameReference()
        let status = library.buffersink_get_frame(sink, output.frame)
        if status == ffmpeg_error_again || status == ffmpeg_error_eof { return nil }
        try check(status, "av_buffersink_get_frame", "filtering failed")
        output.frame.pointee.pts = av_rescale_q(
            output.frame.pointee.pts,
            library.buffersink_get_time_base(sink),
            configuration.timeBase
        )
        let time = output.frame.pointee.pts
        let duration = inside.first { $0.time == time }?.duration ?? 0
        inside.removeAll { $0.time <= time }
        return Output(frame: output, duration: duration)
    }
}

extension PictureFilter.Configuration {
    /// The whole filter chain, from `buffer` to `buffersink`.
    var steps: [PictureFilter.Step] {
        let conversion = [scale, .init("format", "pix_fmts=\(target.ffmpegName)")]
        let turned = (isBottomUp ? [PictureFilter.Step("copy")] : []) + orientation.filters
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

    private var buffer: PictureFilter.Step {
        .init(
            "buffer",
            "video_size=\(width)x\(height):pix_fmt=\(layout.name):time_base=\(timeBase.num)/\(timeBase.den)"
                + ":pixel_aspect=\(pixelAspectRatio.num)/\(max(pixelAspectRatio.den, 1))"
        )
    }

    /// The deinterlacing filter, which returns one frame for each input frame and does not change progressive ones. It
    /// needs at least three samples in each direction.
    private var deinterlacer: [PictureFilter.Step] {
        deinterlaces && width >= 3 && height >= 3
            ? [.init("bwdif", "mode=send_frame:parity=auto:deint=interlaced")] : []
    }

    /// The filter that converts only the pixel format: range and matrix do not change. Subsampled chroma is moved to
    /// the location that H.264 and HEVC expect; chroma of 4:2:0 keeps its location. RGB that has to become luma and
    /// chroma uses the matrix of its primaries. Without a format change, this filter does nothing.
    private var scale: PictureFilter.Step {
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
