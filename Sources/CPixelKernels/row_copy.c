// SPDX-License-Identifier: GPL-2.0-or-later

#include "CPixelKernels.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

/// Copies a row with non-temporal stores, except for its ends that do not fill a vector of the target.
static void stream_row(char *target, const char *source, size_t bytes) {
    size_t head = -(uintptr_t)target & 15;
    if (head > bytes) head = bytes;
    memcpy(target, source, head);
    size_t done = head;
    for (; done + 64 <= bytes; done += 64) {
        const __m128i *from = (const __m128i *)(source + done);
        __m128i *to = (__m128i *)(target + done);
        __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
        __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
        _mm_stream_si128(to, a);
        _mm_stream_si128(to + 1, b);
        _mm_stream_si128(to + 2, c);
        _mm_stream_si128(to + 3, d);
    }
    memcpy(target + done, source + done, bytes - done);
}
#endif

void pixel_kernel_copy_rows(
    void *target, ptrdiff_t target_stride, const void *source, ptrdiff_t source_stride, size_t bytes_per_row,
    size_t rows, _Bool for_device) {
#ifdef __SSE2__
    if (for_device) {
        for (size_t row = 0; row < rows; row++)
            stream_row(
                (char *)target + (ptrdiff_t)row * target_stride, (const char *)source + (ptrdiff_t)row * source_stride,
                bytes_per_row);
        // Non-temporal stores are not ordered with the stores that notify the device.
        _mm_sfence();
        return;
    }
#endif
    (void)for_device;
    for (size_t row = 0; row < rows; row++)
        memcpy(
            (char *)target + (ptrdiff_t)row * target_stride, (const char *)source + (ptrdiff_t)row * source_stride,
            bytes_per_row);
}
