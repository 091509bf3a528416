// SPDX-License-Identifier: GPL-2.0-or-later
//
// FFmpeg's libraries, and as constants and functions those of their macros that Swift does not import.

#ifndef CFFMPEG_SHIM_H
#define CFFMPEG_SHIM_H

#include <errno.h>
#include <stdint.h>

#include <libavcodec/avcodec.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mathematics.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

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

#endif
