// SPDX-License-Identifier: GPL-2.0-or-later
//
// Sound devices by ALSA. Swift attributes the structures of the C library to whichever module it loads first, and lets
// only files that import that module use them, so the calls that have such structures are functions here.

#ifndef CALSA_H
#define CALSA_H

#include <alsa/asoundlib.h>

/// The descriptors of a device that are supported: one of a kernel's device, some more of a plug-in.
#define CALSA_DESCRIPTORS 16

static inline void calsa_ignore(const char *file, int line, const char *function, int error, const char *format, ...)
{
    (void)file, (void)line, (void)function, (void)error, (void)format;
}

/// Keeps the library from writing to the standard error output. Swift has no functions with variable arguments.
static inline int calsa_silence(void)
{
    return snd_lib_error_set_handler(calsa_ignore);
}

/// snd_pcm_poll_descriptors: the descriptors to wait for, and the events of poll(2).
///
/// @return Their number, or minus errno; -E2BIG if there are more than CALSA_DESCRIPTORS.
static inline int calsa_descriptors(
    snd_pcm_t *_Nonnull pcm, int descriptors[_Nonnull CALSA_DESCRIPTORS], short events[_Nonnull CALSA_DESCRIPTORS])
{
    struct pollfd all[CALSA_DESCRIPTORS];
    int count = snd_pcm_poll_descriptors_count(pcm);
    if (count > CALSA_DESCRIPTORS)
        return -E2BIG;
    if (count > 0)
        count = snd_pcm_poll_descriptors(pcm, all, (unsigned)count);
    for (int index = 0; index < count; index++) {
        descriptors[index] = all[index].fd;
        events[index] = all[index].events;
    }
    return count;
}

/// snd_pcm_poll_descriptors_revents: what the events of a device's descriptors mean.
///
/// @param occurred The events of poll(2) that occurred; the other arguments are those of calsa_descriptors.
/// @return Events of poll(2), or minus errno.
static inline int calsa_events(snd_pcm_t *_Nonnull pcm, const int *_Nonnull descriptors, const short *_Nonnull events,
    const short *_Nonnull occurred, int count)
{
    struct pollfd all[CALSA_DESCRIPTORS];
    if (count < 0 || count > CALSA_DESCRIPTORS)
        return -EINVAL;
    for (int index = 0; index < count; index++)
        all[index] = (struct pollfd){.fd = descriptors[index], .events = events[index], .revents = occurred[index]};
    unsigned short result = 0;
    int status = snd_pcm_poll_descriptors_revents(pcm, all, (unsigned)count, &result);
    return status < 0 ? status : result;
}

/// snd_pcm_htimestamp: a time in nanoseconds, and the number of frames that were there at that time.
///
/// @return 0, or minus errno.
static inline int calsa_timestamp(
    snd_pcm_t *_Nonnull pcm, snd_pcm_uframes_t *_Nonnull available, long long *_Nonnull nanoseconds)
{
    snd_htimestamp_t time = {0};
    int status = snd_pcm_htimestamp(pcm, available, &time);
    *nanoseconds = time.tv_sec * 1000000000LL + time.tv_nsec;
    return status;
}

#endif
