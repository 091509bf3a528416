/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damages scenes: bytes of buffers overwritten, buffers of random kinds and sizes, parts left out. Nothing may crash
 * (sanitizers watch), and what is called codable must hold what a driver relies on. Included behind a codec's scenes
 * (submissions.h, hevc_submissions.h). */
#ifndef DRIVERS_TESTS_DAMAGE_H
#define DRIVERS_TESTS_DAMAGE_H

static uint64_t state;

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static uint8_t odd_byte(void)
{
    static const uint8_t bytes[] = {0, 1, 2, 3, 4, 7, 0x7f, 0x80, 0xff, 0xfe};
    return chance(2) ? bytes[chance(sizeof bytes)] : (uint8_t)chance(256);
}

static void damage_buffer(struct submitted_buffer *buffer)
{
    uint8_t *bytes = (uint8_t *)(uintptr_t)buffer->data;
    for (uint32_t hits = 1 + chance(4); hits && buffer->size; hits--)
        bytes[chance(chance(2) && buffer->size > 64 ? 64 : buffer->size)] = odd_byte();
    if (chance(8) == 0) {
        /* Exactly the new size is there, so that a read behind it shows. */
        uint32_t size = chance(buffer->size + 1);
        uint8_t *shorter = malloc(size ? size : 1);
        memcpy(shorter, bytes, size);
        free(bytes);
        buffer->data = shorter;
        buffer->size = size;
    }
    if (chance(40) == 0)
        buffer->type = (VABufferType)chance(32);
}

static void damage(struct scene *scene, uint32_t picture, struct submitted_buffer *buffers, uint32_t *count)
{
    (void)scene;
    (void)picture;
    if (chance(3) == 0)
        return;
    for (uint32_t hits = 1 + chance(3); hits; hits--)
        damage_buffer(&buffers[chance(*count)]);
    if (chance(10) == 0) {
        uint32_t gone = chance(*count);
        free((void *)(uintptr_t)buffers[gone].data);
        memmove(&buffers[gone], &buffers[gone + 1], (--*count - gone) * sizeof buffers[0]);
    }
    if (chance(10) == 0 && *count > 1) {
        uint32_t one = chance(*count), other = chance(*count);
        struct submitted_buffer kept = buffers[one];
        buffers[one] = buffers[other];
        buffers[other] = kept;
    }
}

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "a codable picture: %s\n", what);
    exit(1);
}

/* What coder and driver take for granted. */
static void check_promises(const struct scene *scene, const struct understood_picture *picture)
{
    uint32_t total = picture->columns * picture->rows, next = 0;
    require(picture->width <= scene->context_width, "is wider than the context");
    require((uint64_t)picture->width * picture->height <= 2ull * scene->context_width * scene->context_height,
            "is larger than the context");
    require(picture->slice_count > 0, "has slices");
    for (uint32_t i = 0; i < picture->slice_count; i++) {
        const struct understood_slice *slice = &picture->slices[i];
        require(slice->first_block == next, "has slices that follow each other");
        next += slice->block_count;
        require(slice->nal.count >= 16 && !slice->nal.failed, "has slice headers");
        for (uint32_t list = 0; list < 2; list++)
            for (uint32_t k = 0; k < slice->reference_count[list]; k++)
                require(scene_surface((void *)(uintptr_t)scene, slice->references[list][k].surface).valid,
                        "has references that exist");
    }
    require(next == total, "is covered");
    require(picture->rate.target_percentage >= 1 && picture->rate.target_percentage <= 100, "has a target");
    require(picture->rate.maximum_qp <= 51 && picture->rate.minimum_qp <= 51, "has quantisers in range");
}

/* Submits the planned scene, damaged. */
static void submit_damaged(struct scene *scene, unsigned *pictures, unsigned *codable)
{
    scene->change_buffers = damage;
    struct checker *checker = checker_create(&scene->config, JOURNAL_NOWHERE);
    for (uint32_t i = 0; i < scene->count; i++) {
        const struct understood_picture *picture = submit(scene, checker, i);
        ++*pictures;
        *codable += picture->codable;
        if (picture->codable)
            check_promises(scene, picture);
        if (picture->codable && chance(10) == 0)
            checker_picture_failed(checker);
    }
    checker_destroy(checker);
}

static int end_garbage(unsigned pictures, unsigned codable)
{
    printf("%u pictures, %u codable, %llu findings\n", pictures, codable,
           (unsigned long long)journal_finding_count());
    return codable == 0 || codable == pictures;
}

#endif
