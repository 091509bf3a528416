// SPDX-License-Identifier: GPL-2.0-or-later
//
// FFmpeg's libraries, and as constants and functions those of their macros that Swift does not import.

#ifndef CFFMPEG_SHIM_H
#define CFFMPEG_SHIM_H

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

#include <libavcodec/avcodec.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavformat/avformat.h>
#include <libavutil/audio_fifo.h>
#include <libavutil/avutil.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mathematics.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>

static const int64_t ffmpeg_no_pts = AV_NOPTS_VALUE;
static const int ffmpeg_error_again = AVERROR(EAGAIN);
static const int ffmpeg_error_eof = AVERROR_EOF;
static const int ffmpeg_error_exit = AVERROR_EXIT;
static const int ffmpeg_error_invalid_data = AVERROR_INVALIDDATA;
static const int ffmpeg_error_no_memory = AVERROR(ENOMEM);

/// AVERROR(code): the negative form of an errno value.
static inline int ffmpeg_error(int code) {
    return AVERROR(code);
}

/// AV_VERSION_INT(major, minor, micro): a library version as `avformat_version()` gives it.
static inline unsigned ffmpeg_version(unsigned major, unsigned minor, unsigned micro) {
    return AV_VERSION_INT(major, minor, micro);
}

// What FFmpeg 7 has in another place than FFmpeg 5.

/// Whether a frame is interlaced.
static inline int ffmpeg_is_interlaced(const AVFrame *frame) {
#ifdef AV_FRAME_FLAG_INTERLACED
    return (frame->flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
    return frame->interlaced_frame;
#endif
}

/// Whether the field with the first row of an interlaced frame comes first.
static inline int ffmpeg_is_top_field_first(const AVFrame *frame) {
#ifdef AV_FRAME_FLAG_TOP_FIELD_FIRST
    return (frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0;
#else
    return frame->top_field_first;
#endif
}

/// Marks a frame as interlaced.
static inline void ffmpeg_set_interlaced(AVFrame *frame, int top_field_first) {
#ifdef AV_FRAME_FLAG_INTERLACED
    frame->flags |= AV_FRAME_FLAG_INTERLACED | (top_field_first ? AV_FRAME_FLAG_TOP_FIELD_FIRST : 0);
#else
    frame->interlaced_frame = 1;
    frame->top_field_first = top_field_first;
#endif
}

/// How long a frame lasts, in units of its time base; 0 if that is not known.
static inline int64_t ffmpeg_duration(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR >= 58
    return frame->duration;
#else
    return frame->pkt_duration;
#endif
}

/// Sets how long a frame lasts, in units of its time base.
static inline void ffmpeg_set_duration(AVFrame *frame, int64_t duration) {
#if LIBAVUTIL_VERSION_MAJOR >= 58
    frame->duration = duration;
#else
    frame->pkt_duration = duration;
#endif
}

/// What a stream says of a kind beside its packets, and how many bytes; null if nothing. The stream owns it.
static inline const uint8_t *ffmpeg_side_data(const AVStream *stream, enum AVPacketSideDataType type, size_t *size) {
#if LIBAVFORMAT_VERSION_MAJOR >= 61
    const AVCodecParameters *parameters = stream->codecpar;
    const AVPacketSideData *found =
        av_packet_side_data_get(parameters->coded_side_data, parameters->nb_coded_side_data, type);
    *size = found != 0 ? found->size : 0;
    return found != 0 ? found->data : 0;
#else
    return av_stream_get_side_data(stream, type, size);
#endif
}

/// Has a stream say something of a kind beside its packets.
///
/// @return 0, and the stream owns the data; or a negative error.
static inline int ffmpeg_add_side_data(AVStream *stream, enum AVPacketSideDataType type, void *data, size_t size) {
#if LIBAVFORMAT_VERSION_MAJOR >= 61
    AVCodecParameters *parameters = stream->codecpar;
    return av_packet_side_data_add(&parameters->coded_side_data, &parameters->nb_coded_side_data, type, data, size,
                                   0) != 0
               ? 0
               : AVERROR(ENOMEM);
#else
    return av_stream_add_side_data(stream, type, (uint8_t *)data, size);
#endif
}

/// How many kinds of data a stream says beside its packets.
static inline int ffmpeg_side_data_count(const AVStream *stream) {
#if LIBAVFORMAT_VERSION_MAJOR >= 61
    return stream->codecpar->nb_coded_side_data;
#else
    return stream->nb_side_data;
#endif
}

/// One of the kinds of data that a stream says beside its packets, by its index. The stream owns it.
static inline const AVPacketSideData *ffmpeg_side_data_at(const AVStream *stream, int index) {
#if LIBAVFORMAT_VERSION_MAJOR >= 61
    return &stream->codecpar->coded_side_data[index];
#else
    return &stream->side_data[index];
#endif
}

/// Sets the display of a VA-API device: the first field of AVVAAPIDeviceContext, whose header requires libva.
///
/// @param display A VADisplay, which has to outlive the device.
static inline void ffmpeg_set_va_display(AVHWDeviceContext *device, void *display) {
    *(void **)device->hwctx = display;
}

/// A function that takes bytes of an output: how many it took, or a negative error.
#if LIBAVFORMAT_VERSION_MAJOR >= 61
typedef const uint8_t *ffmpeg_output_bytes;
#else
typedef uint8_t *ffmpeg_output_bytes;
#endif

/// The functions of libavfilter that are used, found when the first filter is needed. Being linked to the library costs
/// every start: it brings along some thirty libraries, for fonts, speech, subtitles and more.
struct ffmpeg_filters {
    __typeof__(&avfilter_graph_alloc) graph_alloc;
    __typeof__(&avfilter_graph_config) graph_config;
    __typeof__(&avfilter_graph_create_filter) graph_create_filter;
    __typeof__(&avfilter_graph_free) graph_free;
    __typeof__(&avfilter_get_by_name) get_by_name;
    __typeof__(&avfilter_link) link;
    __typeof__(&av_buffersrc_add_frame_flags) buffersrc_add_frame_flags;
    __typeof__(&av_buffersink_get_frame) buffersink_get_frame;
    __typeof__(&av_buffersink_get_time_base) buffersink_get_time_base;
};

/// The file name of the libavfilter whose headers these are.
static inline const char *ffmpeg_filter_library_name(void) {
    return "libavfilter.so." AV_STRINGIFY(LIBAVFILTER_VERSION_MAJOR);
}

/// Loads libavfilter, for as long as the process lives, and looks its functions up.
///
/// @return Null, or what is missing, in the words of the dynamic linker (valid until its next call on this thread).
static inline const char *ffmpeg_load_filters(struct ffmpeg_filters *filters) {
    void *library = dlopen(ffmpeg_filter_library_name(), RTLD_NOW | RTLD_LOCAL);
    if (library == 0) {
        return dlerror();
    }
    const struct {
        const char *name;
        void **function;
    } wanted[] = {
        {"avfilter_graph_alloc", (void **)&filters->graph_alloc},
        {"avfilter_graph_config", (void **)&filters->graph_config},
        {"avfilter_graph_create_filter", (void **)&filters->graph_create_filter},
        {"avfilter_graph_free", (void **)&filters->graph_free},
        {"avfilter_get_by_name", (void **)&filters->get_by_name},
        {"avfilter_link", (void **)&filters->link},
        {"av_buffersrc_add_frame_flags", (void **)&filters->buffersrc_add_frame_flags},
        {"av_buffersink_get_frame", (void **)&filters->buffersink_get_frame},
        {"av_buffersink_get_time_base", (void **)&filters->buffersink_get_time_base},
    };
    for (unsigned index = 0; index < sizeof wanted / sizeof wanted[0]; index++) {
        *wanted[index].function = dlsym(library, wanted[index].name);
        if (*wanted[index].function == 0) {
            return dlerror();
        }
    }
    return 0;
}

#endif
