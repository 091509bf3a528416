/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes as a correct client does:
 *
 *   driver_client [-t THREADS] [-n FRAMES] [-s WIDTHxHEIGHT] [-c CODED_SIZE] [-o FILE] [-r] [-i] [-b RATE[,RATE]] [-f]
 *       [-w] [-W] [-R c|rSIZE[,QP_DELTA]] [-G FRAME] [-Q X,Y,WIDTH,HEIGHT,VALUE]... [-Q nowhere] [-p]
 *
 * Prints the calls that fail and each coded frame; exits 0 when all calls succeeded. With threads, each has a context
 * of its own on the one display and nothing is written. With -r the inputs are filled once only; with -i they are the
 * client's memory. With -b bits per second (CBR), the second rate from the middle on; else CQP. With -f filler data are
 * not wanted. With -w a frame that is cut short is submitted again, and those after it; with -W too, by a client that
 * has overwritten a reference meanwhile. With -R each
 * frame renews the next columns or rows of macroblocks, but for the frame of -G. With -Q each frame has regions of
 * interest, or a pointer that leads nowhere; with -p their values are priorities. */
#include "support/client.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct settings {
    unsigned threads, frames, width, height, coded_size;
    const char *output;
    bool still, import, no_bit_stuffing, resumes, hasty;
    struct client wishes; /* refresh and regions only */
    VAEncROI regions[8];
    unsigned rates[2]; /* bits per second for the first and second half; 0: CQP */
};

struct job {
    const struct settings *settings;
    struct client client;
    FILE *file;
    VAStatus status;
};

/* Waits for what is in flight, discards it, and goes back to the frame. */
static VAStatus resume(struct client *client, unsigned frame)
{
    VAStatus status = VA_STATUS_SUCCESS;
    for (unsigned i = frame + 1; status == VA_STATUS_SUCCESS && i < client->frames; i++)
        status = client_collect(client, i, NULL);
    client_resume(client, frame);
    return status;
}

/* The next frame; `collected` stays where it is when that one was cut short and is to come again. */
static VAStatus collect(struct job *job, unsigned *collected)
{
    VAStatus status = client_collect(&job->client, *collected, job->file);
    if (status == VA_STATUS_SUCCESS && job->client.cut_short && job->client.resumes)
        return resume(&job->client, *collected);
    ++*collected;
    return status;
}

/* Keeps one frame in flight while the next is prepared. */
static VAStatus encode(struct job *job)
{
    struct client *client = &job->client;
    VAStatus status = VA_STATUS_SUCCESS;
    unsigned collected = 0;
    while (status == VA_STATUS_SUCCESS && collected < job->settings->frames) {
        bool more = client->frames < job->settings->frames;
        if (more) {
            client->bits_per_second = job->settings->rates[2 * client->frames >= job->settings->frames];
            status = client_submit(client);
        }
        if (status == VA_STATUS_SUCCESS && (!more || client->frames > collected + 1))
            status = collect(job, &collected);
    }
    return status;
}

static void *run(void *token)
{
    struct job *job = token;
    job->client.coded_size = job->settings->coded_size;
    job->client.still = job->settings->still;
    job->client.no_bit_stuffing = job->settings->no_bit_stuffing;
    job->client.import = job->settings->import;
    job->client.hasty = job->settings->hasty;
    job->client.resumes = job->settings->resumes;
    job->client.bits_per_second = job->settings->rates[0];
    job->client.refresh = job->settings->wishes.refresh;
    job->client.refresh_size = job->settings->wishes.refresh_size;
    job->client.refresh_qp_delta = job->settings->wishes.refresh_qp_delta;
    job->client.refresh_left_out = job->settings->wishes.refresh_left_out;
    job->client.regions = job->settings->wishes.regions;
    job->client.region_count = job->settings->wishes.region_count;
    job->client.priorities = job->settings->wishes.priorities;
    job->status = client_open_encoder(&job->client, job->settings->width, job->settings->height);
    if (job->status != VA_STATUS_SUCCESS)
        return NULL;
    job->status = encode(job);
    VAStatus closed = client_close_encoder(&job->client);
    if (job->status == VA_STATUS_SUCCESS)
        job->status = closed;
    return NULL;
}

static bool read_refresh(const char *text, struct client *wishes)
{
    return sscanf(text, "%c%u,%d", &wishes->refresh, &wishes->refresh_size, &wishes->refresh_qp_delta) >= 2 &&
           wishes->refresh_size > 0;
}

static bool read_region(const char *text, struct settings *settings)
{
    int x, y, width, height, value;
    struct client *wishes = &settings->wishes;
    if (wishes->region_count == 8)
        return false;
    if (strcmp(text, "nowhere") == 0) {
        wishes->region_count = 1;
        return true;
    }
    wishes->regions = settings->regions;
    settings->regions[wishes->region_count++] = (VAEncROI){.roi_value = 0};
    VAEncROI *region = &settings->regions[wishes->region_count - 1];
    if (sscanf(text, "%d,%d,%d,%d,%d", &x, &y, &width, &height, &value) != 5)
        return false;
    region->roi_rectangle = (VARectangle){(int16_t)x, (int16_t)y, (uint16_t)width, (uint16_t)height};
    region->roi_value = (int8_t)value;
    return true;
}

static bool read_settings(struct settings *settings, int count, char **arguments)
{
    int option;
    while ((option = getopt(count, arguments, "t:n:s:c:o:rib:fwWR:G:Q:p")) != -1) {
        switch (option) {
        case 't':
            settings->threads = (unsigned)atoi(optarg);
            break;
        case 'n':
            settings->frames = (unsigned)atoi(optarg);
            break;
        case 's':
            if (sscanf(optarg, "%ux%u", &settings->width, &settings->height) != 2)
                return false;
            break;
        case 'c':
            settings->coded_size = (unsigned)atoi(optarg);
            break;
        case 'o':
            settings->output = optarg;
            break;
        case 'b':
            settings->rates[1] = settings->rates[0] = (unsigned)atoi(optarg);
            if (strchr(optarg, ','))
                settings->rates[1] = (unsigned)atoi(strchr(optarg, ',') + 1);
            break;
        case 'f':
            settings->no_bit_stuffing = true;
            break;
        case 'i':
            settings->import = true;
            break;
        case 'W':
            settings->hasty = true;
            /* fall through */
        case 'w':
            settings->resumes = true;
            break;
        case 'R':
            if (!read_refresh(optarg, &settings->wishes))
                return false;
            break;
        case 'G':
            settings->wishes.refresh_left_out = (unsigned)atoi(optarg);
            break;
        case 'Q':
            if (!read_region(optarg, settings))
                return false;
            break;
        case 'p':
            settings->wishes.priorities = true;
            break;
        case 'r':
            settings->still = true;
            break;
        default:
            return false;
        }
    }
    return optind == count && settings->threads <= 16;
}

static bool run_threads(const struct client *display, const struct settings *settings)
{
    static struct job jobs[16];
    pthread_t threads[16];
    bool succeeded = true;
    for (unsigned i = 0; i < settings->threads; i++) {
        jobs[i] = (struct job){.settings = settings, .client = *display};
        pthread_create(&threads[i], NULL, run, &jobs[i]);
    }
    for (unsigned i = 0; i < settings->threads; i++) {
        pthread_join(threads[i], NULL);
        succeeded = succeeded && jobs[i].status == VA_STATUS_SUCCESS;
    }
    return succeeded;
}

int main(int count, char **arguments)
{
    struct settings settings = {.frames = 8, .width = 64, .height = 64};
    if (!read_settings(&settings, count, arguments))
        return 2;
    struct job job = {.settings = &settings};
    if (client_open_display(&job.client) != VA_STATUS_SUCCESS)
        return 1;
    bool succeeded;
    if (settings.threads > 0) {
        succeeded = run_threads(&job.client, &settings);
    } else {
        job.file = settings.output ? fopen(settings.output, "wb") : NULL;
        run(&job);
        succeeded = job.status == VA_STATUS_SUCCESS;
        if (job.file)
            fclose(job.file);
    }
    succeeded = client_close_display(&job.client) == VA_STATUS_SUCCESS && succeeded;
    return succeeded ? 0 : 1;
}
