/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small VA-API client for tests: one display, one H.264 context, IDR and P pictures without packed headers, CQP or
 * CBR at 25 pictures a second. */
#ifndef DRIVERS_TESTS_SUPPORT_CLIENT_H
#define DRIVERS_TESTS_SUPPORT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>
#include <va/va_enc_h264.h>

#define CLIENT_INPUTS 3
#define CLIENT_RECONSTRUCTIONS 3

struct client {
    int node;
    VADisplay display;
    uint32_t width, height; /* even; not necessarily whole macroblocks */
    VAEntrypoint entrypoint;
    VAConfigID config;
    VAContextID context;
    VASurfaceID inputs[CLIENT_INPUTS], reconstructions[CLIENT_RECONSTRUCTIONS];
    VABufferID coded[CLIENT_INPUTS];
    uint32_t coded_size; /* bytes; 0: enough */
    uint32_t frames;     /* submitted so far */
    uint32_t bits_per_second; /* 0: CQP; may be changed between frames */
    uint32_t sent_bits_per_second;
    bool no_bit_stuffing; /* CBR without filler data */
    bool import;         /* inputs are memory of the client, of exactly the size: memfds as DRM PRIME 2 */
    bool hasty;          /* gives a reference's surface to the next picture but one */
    bool resumes;        /* frames that are cut short are not written: they come again */
    bool cut_short;      /* the frame collected last did not fit into its coded buffer */
    /* Columns or rows of macroblocks that P frames renew, in waves: 'c', 'r', or 0 for none. */
    char refresh;
    unsigned refresh_size;
    int refresh_qp_delta;
    unsigned refresh_left_out; /* the frame that does not renew its part; 0: none */
    VAEncROI *regions;         /* of each frame; NULL with a count: a pointer to nothing */
    unsigned region_count;
    bool priorities;           /* the regions' values are no differences of QPs */
    bool still;          /* inputs are filled once: what remains is the cost of the calls */
};

/* The status of the first call that fails, with its name on standard output ("vaCreateConfig 0x4"), else success. */
VAStatus client_open_display(struct client *client);
VAStatus client_open_encoder(struct client *client, uint32_t width, uint32_t height);

/* Fills the input of the next frame with a moving picture (by vaPutImage), and submits it. */
VAStatus client_fill(struct client *client, uint32_t slot, uint32_t frame);
VAStatus client_submit(struct client *client);

/* Creates the parameter buffers of the next frame and renders them between begin and end. */
VAStatus client_render(struct client *client);

/* Waits for the frame by its coded buffer, else by its input, and appends it to the file (may be NULL). */
VAStatus client_collect(struct client *client, uint32_t frame, FILE *file);

/* Goes back to a frame that was cut short: it is the next to be submitted. */
void client_resume(struct client *client, uint32_t frame);

VAStatus client_close_encoder(struct client *client);
VAStatus client_close_display(struct client *client);

/* Prints "CALL STATUS" when the status is an error; returns it. */
VAStatus client_report(const char *call, VAStatus status);

#endif
