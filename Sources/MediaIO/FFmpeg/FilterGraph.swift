// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes
internal import VideoDecoding

/// Owns an `AVFilterGraph` that is a chain, from `buffer` to `buffersink`. Used from one thread at a time.
final class FilterGraph {
    /// One filter with its options.
    struct Step: Equatable {
        var name: String
        var options: String

        init(_ name: String, _ options: String = "") {
            self.name = name
            self.options = options
        }
    }

    private let library: ffmpeg_filters
    private let log: LogRoute?
    private var graph: UnsafeMutablePointer<AVFilterGraph>?
    private var source: UnsafeMutablePointer<AVFilterContext>?
    private var sink: UnsafeMutablePointer<AVFilterContext>?

    /// Makes a graph.
    ///
    /// - Parameters:
    ///   - steps: The filters, from the source to the sink.
    ///   - threads: The number of threads; 0 for one per processor.
    ///   - given: The kind of pictures, for messages.
    init(_ steps: [Step], threads: Int, given: String, log: LogRoute?) throws(MediaError) {
        self.log = log
        library = try Self.library.get()
        graph = library.graph_alloc()
        guard let graph else {
            throw MediaError(.outOfMemory, "no memory for a filter graph", call: "avfilter_graph_alloc")
        }
        graph.pointee.opaque = log?.mark
        graph.pointee.nb_threads = Int32(clamping: threads)
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
            given: given
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

    /// The time base of the output.
    var timeBase: AVRational { library.buffersink_get_time_base(sink) }

    /// Submits a frame and transfers its reference to the graph; `nil` ends the input.
    func send(_ frame: FrameReference?) throws(MediaError) {
        try check(
            library.buffersrc_add_frame_flags(source, frame?.frame, 0),
            "av_buffersrc_add_frame_flags",
            "filtering failed"
        )
    }

    /// Returns the next finished frame; `nil` if there is none.
    func receive() throws(MediaError) -> FrameReference? {
        let output = try FrameReference()
        let status = library.buffersink_get_frame(sink, output.frame)
        if status == ffmpeg_error_again || status == ffmpeg_error_eof { return nil }
        try check(status, "av_buffersink_get_frame", "filtering failed")
        return output
    }
}
