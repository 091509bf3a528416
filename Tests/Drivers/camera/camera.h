/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fake cameras of libfake_camera.so. README.md says how they are described. */
#ifndef DRIVERS_CAMERA_CAMERA_H
#define DRIVERS_CAMERA_CAMERA_H

#include <limits.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    MOST_FORMATS = 8,
    MOST_SIZES = 8,
    MOST_RATES = 8,
    MOST_CONTROLS = 16,
    MOST_ITEMS = 16,
    MOST_NUMBERS = 32,
    MOST_BUFFERS = 16,
    MOST_PLANES = 3,
    MOST_FILES = 1024, /* descriptors of a process */
    MOST_DEVICES = 64,
};

/* A size, or sizes in steps. */
struct size_settings {
    unsigned least_width, least_height, width, height;
    unsigned width_step, height_step; /* 0 for one size */
    unsigned rates[MOST_RATES];       /* frames per second */
    unsigned rate_count;
    bool rates_are_range; /* from the first to the second one */
};

struct format_settings {
    uint32_t code;
    struct size_settings sizes[MOST_SIZES];
    unsigned size_count;
};

struct control_settings {
    struct v4l2_query_ext_ctrl query;
    int64_t value;
    struct {
        unsigned index;
        char name[32];
    } items[MOST_ITEMS];
    unsigned item_count;
};

/* Numbers of pictures to which something happens. */
struct number_list {
    unsigned numbers[MOST_NUMBERS];
    unsigned count;
};

struct settings {
    char name[32], driver[16], bus[32];
    uint32_t capabilities;
    bool is_planar;
    struct format_settings formats[MOST_FORMATS];
    unsigned format_count;
    bool lists_sizes;
    struct control_settings controls[MOST_CONTROLS];
    unsigned control_count;
    uint32_t automatic, automatic_value, ruled_out; /* the last control is inactive while the first one has the value */
    unsigned padding;                               /* bytes behind each row */
    unsigned offset;                                /* bytes before each plane of planar pictures */
    uint32_t colorspace, encoding, quantization, transfer, field;
    unsigned buffers; /* the most that are granted */
    bool exports;
    char clock;       /* soe, eof, unknown, realtime: the first letter */
    unsigned pace;    /* microseconds from picture to picture; 0 for a picture whenever there is a buffer */
    bool counts;      /* whether pictures have numbers */
    struct number_list lost, marked, shortened, damaged;
    unsigned stall_at, unplug_at; /* the picture; UINT_MAX for none */
    char busy;                    /* open, format, buffers, start: the first letter */
    int open_error;
    char payload[PATH_MAX]; /* the folder of coded pictures */
};

enum buffer_state { BUFFER_IDLE, BUFFER_QUEUED, BUFFER_DONE };

struct buffer {
    enum buffer_state state;
    int memory[MOST_PLANES]; /* memfds */
    uint32_t length[MOST_PLANES], used[MOST_PLANES];
    uint32_t sequence, flags;
    struct timeval time;
};

/* A device that is or was plugged in. The lock of the shim protects it. */
struct device {
    char path[PATH_MAX];
    ino_t inode;
    struct settings settings;
    bool is_gone;
    unsigned users;
    struct v4l2_format format;
    struct v4l2_fract interval;
    struct buffer buffers[MOST_BUFFERS];
    unsigned buffer_count, plane_count;
    int owner;             /* the descriptor that has the buffers; -1 for none */
    bool streams, is_waiting_for_buffers;
    unsigned queued[MOST_BUFFERS], queued_count; /* in the order in which they are filled */
    unsigned done[MOST_BUFFERS], done_count;
    unsigned next; /* the number of the next picture */
    pthread_t sensor;
    bool has_sensor;
};

/* An open file: a descriptor of an eventfd. */
struct file {
    struct device *device;
    int flags;
};

extern pthread_mutex_t camera_lock;
extern pthread_cond_t camera_changed;

/* settings.c */
bool settings_read(const char *path, struct settings *settings);
bool numbers_contain(const struct number_list *list, unsigned number);

/* device.c: to be called with the lock held. */
struct file *file_of(int descriptor);
bool is_camera_path(const char *path);
int camera_open(const char *path, int flags);
void camera_close(int descriptor);
bool device_is_gone(struct device *device);
void device_wake(struct device *device);
void device_free_buffers(struct device *device, int descriptor);
int device_allocate(struct device *device, unsigned count);
int device_start(struct device *device);
void device_stop(struct device *device);
void *camera_map(struct file *file, size_t length, int protection, int flags, off_t offset, void *address);
short camera_events(struct file *file, short wanted);
uint32_t plane_offset(unsigned index, unsigned plane);

/* pictures.c */
void format_lay_out(const struct settings *settings, struct v4l2_format *format);
unsigned format_planes(const struct v4l2_format *format, uint32_t sizes[MOST_PLANES], uint32_t rows[MOST_PLANES]);
uint32_t format_code(const struct v4l2_format *format);
void picture_write(struct device *device, struct buffer *buffer, unsigned number);

/* requests.c */
int camera_request(int descriptor, struct file *file, unsigned long request, void *argument);

/* Ends the process: the program did what a driver does not forgive. */
_Noreturn void camera_fail(const char *what);

#endif
