/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists what VA drivers encode: list_capabilities /dev/dri/renderD128 [NODE...]
 * or decode: list_capabilities --decoding NODE...
 *
 * All nodes are open at once. For each, first a line with "driver " and the driver's name for itself; then one line
 * per profile and encoding entrypoint, sorted by their numbers: profile, entrypoint, rate controls, packed headers,
 * references in both lists, slices, quality levels and the largest size, and of HEVC Main and Main 10 directions of
 * prediction, features and block sizes; "-" is what the driver does not state.
 *
 * For decoding, one line per profile: profile, render target formats, modes of slices, largest picture, smallest and
 * largest surface, and formats of surfaces. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_str.h>

static const struct {
    uint32_t bit;
    const char *name;
} rate_controls[] = {
    {VA_RC_CQP, "CQP"},   {VA_RC_CBR, "CBR"},   {VA_RC_VBR, "VBR"},   {VA_RC_VCM, "VCM"},     {VA_RC_ICQ, "ICQ"},
    {VA_RC_QVBR, "QVBR"}, {VA_RC_AVBR, "AVBR"}, {VA_RC_TCBRC, "TCBRC"}, {VA_RC_MB, "MB"},
    {VA_RC_PARALLEL, "PARALLEL"}, {VA_RC_NONE, "NONE"},
};

static const struct {
    uint32_t bit;
    const char *name;
} target_formats[] = {
    {VA_RT_FORMAT_YUV400, "400"},       {VA_RT_FORMAT_YUV411, "411"},       {VA_RT_FORMAT_YUV420, "420"},
    {VA_RT_FORMAT_YUV420_10, "420_10"}, {VA_RT_FORMAT_YUV420_12, "420_12"}, {VA_RT_FORMAT_YUV422, "422"},
    {VA_RT_FORMAT_YUV422_10, "422_10"}, {VA_RT_FORMAT_YUV422_12, "422_12"}, {VA_RT_FORMAT_YUV444, "444"},
    {VA_RT_FORMAT_YUV444_10, "444_10"}, {VA_RT_FORMAT_YUV444_12, "444_12"}, {VA_RT_FORMAT_RGB16, "RGB16"},
    {VA_RT_FORMAT_RGB32, "RGB32"},      {VA_RT_FORMAT_RGBP, "RGBP"},        {VA_RT_FORMAT_RGB32_10, "RGB32_10"},
};

enum attribute_place { RATE_CONTROL, PACKED_HEADERS, REFERENCES, SLICES, QUALITY_LEVELS, WIDTH, HEIGHT, ATTRIBUTES };

static void silence(void *context, const char *message)
{
    (void)context, (void)message;
}

static const char *without_prefix(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(name, prefix, length) == 0 ? name + length : name;
}

static void print_rate_controls(uint32_t value)
{
    const char *separator = "";

    putchar(' ');
    if (value == VA_ATTRIB_NOT_SUPPORTED)
        value = 0;
    for (size_t index = 0; index < sizeof rate_controls / sizeof rate_controls[0]; index++)
        if (value & rate_controls[index].bit) {
            printf("%s%s", separator, rate_controls[index].name);
            separator = ",";
        }
    if (*separator == '\0')
        putchar('-');
}

static void print_number(uint32_t value)
{
    if (value == VA_ATTRIB_NOT_SUPPORTED)
        printf(" -");
    else
        printf(" %u", value);
}

/* What of it an HEVC encoder's submissions depend on, in the bits that va.h gives them. */
static void print_hevc(VADisplay display, VAProfile profile, VAEntrypoint entrypoint)
{
    VAConfigAttrib attributes[] = {{VAConfigAttribPredictionDirection, 0}, {VAConfigAttribEncHEVCFeatures, 0},
                                   {VAConfigAttribEncHEVCBlockSizes, 0}};
    if (vaGetConfigAttributes(display, profile, entrypoint, attributes, 3) != VA_STATUS_SUCCESS)
        return;
    for (int index = 0; index < 3; index++) {
        if (attributes[index].value == VA_ATTRIB_NOT_SUPPORTED)
            printf(" -");
        else
            printf(" 0x%x", attributes[index].value);
    }
}

static bool print_entrypoint(VADisplay display, VAProfile profile, VAEntrypoint entrypoint)
{
    VAConfigAttrib attributes[ATTRIBUTES] = {
        [RATE_CONTROL] = {VAConfigAttribRateControl, 0},
        [PACKED_HEADERS] = {VAConfigAttribEncPackedHeaders, 0},
        [REFERENCES] = {VAConfigAttribEncMaxRefFrames, 0},
        [SLICES] = {VAConfigAttribEncMaxSlices, 0},
        [QUALITY_LEVELS] = {VAConfigAttribEncQualityRange, 0},
        [WIDTH] = {VAConfigAttribMaxPictureWidth, 0},
        [HEIGHT] = {VAConfigAttribMaxPictureHeight, 0},
    };
    VAStatus status = vaGetConfigAttributes(display, profile, entrypoint, attributes, ATTRIBUTES);
    uint32_t references = attributes[REFERENCES].value;

    if (status != VA_STATUS_SUCCESS) {
        fprintf(stderr, "vaGetConfigAttributes: %s\n", vaErrorStr(status));
        return false;
    }
    printf("%s %s", without_prefix(vaProfileStr(profile), "VAProfile"),
           without_prefix(vaEntrypointStr(entrypoint), "VAEntrypoint"));
    print_rate_controls(attributes[RATE_CONTROL].value);
    if (attributes[PACKED_HEADERS].value == VA_ATTRIB_NOT_SUPPORTED)
        printf(" -");
    else
        printf(" 0x%x", attributes[PACKED_HEADERS].value);
    if (references == VA_ATTRIB_NOT_SUPPORTED)
        printf(" -");
    else
        printf(" %u,%u", references & 0xffff, references >> 16);
    print_number(attributes[SLICES].value);
    print_number(attributes[QUALITY_LEVELS].value);
    if (attributes[WIDTH].value == VA_ATTRIB_NOT_SUPPORTED)
        printf(" -");
    else
        printf(" %ux%u", attributes[WIDTH].value, attributes[HEIGHT].value);
    if (profile == VAProfileHEVCMain || profile == VAProfileHEVCMain10)
        print_hevc(display, profile, entrypoint);
    putchar('\n');
    return true;
}

static int compare_numbers(const void *left, const void *right)
{
    int first = *(const int *)left, second = *(const int *)right;

    return (first > second) - (first < second);
}

static void print_target_formats(uint32_t value)
{
    const char *separator = " ";

    for (size_t index = 0; index < sizeof target_formats / sizeof target_formats[0]; index++)
        if (value & target_formats[index].bit) {
            printf("%s%s", separator, target_formats[index].name);
            separator = ",";
            value &= ~target_formats[index].bit;
        }
    if (value != 0)
        printf("%s0x%x", separator, value);
}

/* "-" for what the driver does not state, or has as 0. */
static void print_size(uint32_t width, uint32_t height)
{
    if (width == VA_ATTRIB_NOT_SUPPORTED || width == 0)
        printf(" -");
    else
        printf(" %ux%u", width, height);
}

enum surface_place { LEAST_WIDTH, LEAST_HEIGHT, MOST_WIDTH, MOST_HEIGHT, SURFACE_SIZES };

static const VASurfaceAttribType surface_types[SURFACE_SIZES] = {
    VASurfaceAttribMinWidth, VASurfaceAttribMinHeight, VASurfaceAttribMaxWidth, VASurfaceAttribMaxHeight,
};

static void print_surfaces(const VASurfaceAttrib *attributes, unsigned count)
{
    uint32_t sizes[SURFACE_SIZES] = {0};
    const char *separator = " ";

    for (unsigned index = 0; index < count; index++)
        for (int place = 0; place < SURFACE_SIZES; place++)
            if (attributes[index].type == surface_types[place])
                sizes[place] = (uint32_t)attributes[index].value.value.i;
    print_size(sizes[LEAST_WIDTH], sizes[LEAST_HEIGHT]);
    print_size(sizes[MOST_WIDTH], sizes[MOST_HEIGHT]);
    for (unsigned index = 0; index < count; index++)
        if (attributes[index].type == VASurfaceAttribPixelFormat) {
            printf("%s%.4s", separator, (const char *)&attributes[index].value.value.i);
            separator = ",";
        }
}

static VAStatus print_surfaces_of(VADisplay display, VAProfile profile)
{
    enum { ROOM = 128 };
    VASurfaceAttrib attributes[ROOM];
    VAConfigID config;
    unsigned count = ROOM;
    VAStatus status = vaCreateConfig(display, profile, VAEntrypointVLD, NULL, 0, &config);

    if (status != VA_STATUS_SUCCESS)
        return status;
    status = vaQuerySurfaceAttributes(display, config, attributes, &count);
    vaDestroyConfig(display, config);
    if (status == VA_STATUS_SUCCESS)
        print_surfaces(attributes, count);
    return status;
}

static bool print_decoder(VADisplay display, VAProfile profile)
{
    VAConfigAttrib attributes[] = {{VAConfigAttribRTFormat, 0}, {VAConfigAttribDecSliceMode, 0},
                                   {VAConfigAttribMaxPictureWidth, 0}, {VAConfigAttribMaxPictureHeight, 0}};
    VAStatus status = vaGetConfigAttributes(display, profile, VAEntrypointVLD, attributes, 4);

    if (status == VA_STATUS_SUCCESS) {
        uint32_t modes = attributes[1].value;

        printf("%s", without_prefix(vaProfileStr(profile), "VAProfile"));
        print_target_formats(attributes[0].value);
        printf(" %s", modes == VA_ATTRIB_NOT_SUPPORTED || modes == 0     ? "-"
                      : modes == VA_DEC_SLICE_MODE_NORMAL                ? "normal"
                      : modes == VA_DEC_SLICE_MODE_BASE                  ? "base"
                                                                         : "normal,base");
        print_size(attributes[2].value, attributes[3].value);
        status = print_surfaces_of(display, profile);
        putchar('\n');
    }
    if (status != VA_STATUS_SUCCESS)
        fprintf(stderr, "%s: %s\n", vaProfileStr(profile), vaErrorStr(status));
    return status == VA_STATUS_SUCCESS;
}

static bool print_profile(VADisplay display, VAProfile profile, bool is_decoding)
{
    VAEntrypoint entrypoints[32];
    int count = 0;

    if (vaMaxNumEntrypoints(display) > 32 ||
        vaQueryConfigEntrypoints(display, profile, entrypoints, &count) != VA_STATUS_SUCCESS)
        return false;
    qsort(entrypoints, (size_t)count, sizeof entrypoints[0], compare_numbers);
    for (int index = 0; index < count; index++) {
        VAEntrypoint entrypoint = entrypoints[index];
        bool encodes = entrypoint == VAEntrypointEncSlice || entrypoint == VAEntrypointEncSliceLP ||
                       entrypoint == VAEntrypointEncPicture;

        if (!is_decoding && encodes && !print_entrypoint(display, profile, entrypoint))
            return false;
        if (is_decoding && entrypoint == VAEntrypointVLD && !print_decoder(display, profile))
            return false;
    }
    return true;
}

static bool print_all(VADisplay display, bool is_decoding)
{
    int count = 0;
    VAProfile *profiles = calloc((size_t)vaMaxNumProfiles(display), sizeof *profiles);
    bool succeeded = profiles != NULL && vaQueryConfigProfiles(display, profiles, &count) == VA_STATUS_SUCCESS;

    printf("driver %s\n", vaQueryVendorString(display));
    qsort(profiles, (size_t)count, sizeof *profiles, compare_numbers);
    for (int index = 0; index < count && succeeded; index++)
        succeeded = print_profile(display, profiles[index], is_decoding);
    free(profiles);
    return succeeded;
}

/* Opens a node and initialises its driver; NULL with a message. */
static VADisplay open_display(const char *path, int *node)
{
    int major, minor;

    *node = open(path, O_RDWR | O_CLOEXEC);
    if (*node < 0) {
        perror(path);
        return NULL;
    }
    VADisplay display = vaGetDisplayDRM(*node);
    if (display == NULL) {
        fprintf(stderr, "%s: libva does not take it for a render node\n", path);
        return NULL;
    }
    vaSetInfoCallback(display, silence, NULL);
    VAStatus status = vaInitialize(display, &major, &minor);
    if (status != VA_STATUS_SUCCESS) {
        fprintf(stderr, "vaInitialize: %s\n", vaErrorStr(status));
        return NULL;
    }
    return display;
}

int main(int count, char **arguments)
{
    enum { MAXIMUM_NODES = 8 };
    VADisplay displays[MAXIMUM_NODES];
    bool succeeded = true, is_decoding = count > 1 && strcmp(arguments[1], "--decoding") == 0;
    int nodes[MAXIMUM_NODES], node_count = count - 1 - is_decoding;

    if (node_count < 1 || node_count > MAXIMUM_NODES) {
        fprintf(stderr, "usage: list_capabilities [--decoding] NODE...\n");
        return 2;
    }
    for (int index = 0; index < node_count; index++) {
        displays[index] = open_display(arguments[1 + is_decoding + index], &nodes[index]);
        if (displays[index] == NULL)
            return 1;
    }
    for (int index = 0; index < node_count; index++)
        succeeded = print_all(displays[index], is_decoding) && succeeded;
    for (int index = 0; index < node_count; index++) {
        vaTerminate(displays[index]);
        close(nodes[index]);
    }
    return succeeded ? 0 : 1;
}
