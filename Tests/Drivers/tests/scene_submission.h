/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a picture of a scene is submitted to a checker, whatever the codec. It belongs to the end of the file that says
 * what `struct scene`, its pictures and their packed sets are. */
#ifndef DRIVERS_TESTS_SCENE_SUBMISSION_H
#define DRIVERS_TESTS_SCENE_SUBMISSION_H

static inline void build_buffers(const struct scene *scene, uint32_t index, struct buffer_list *list)
{
    const struct planned_picture *picture = &scene->pictures[index];
    list->count = 0;
    if (picture->send_sequence)
        add_buffer(list, VAEncSequenceParameterBufferType, &picture->sequence, sizeof picture->sequence);
    add_miscs(list, &picture->miscs);
    add_buffer(list, VAEncPictureParameterBufferType, &picture->picture, sizeof picture->picture);
    if (scene->packed)
        add_packed_sets(picture, list);
    for (uint32_t i = 0; i < picture->slice_count; i++) {
        struct bits nal = {0};
        if (scene->packed) {
            write_slice_header(&nal, &picture->headers[i], &picture->sps, &picture->pps);
            add_packed(list, VAEncPackedHeaderSlice, &nal, picture->emulation);
        }
        add_buffer(list, VAEncSliceParameterBufferType, &picture->slices[i], sizeof picture->slices[i]);
    }
}

static inline struct submitted_surface scene_surface(void *token, VASurfaceID id)
{
    const struct scene *scene = token;
    bool valid = id >= INPUT_SURFACE && id < RECONSTRUCTION + 64;
    return (struct submitted_surface){id, scene->context_width, scene->context_height, scene->surface_format,
                                      VA_FOURCC_NV12, valid, valid};
}

static inline uint32_t scene_coded_buffer(void *token, VABufferID id)
{
    const struct scene *scene = token;
    return id == CODED_BUFFER ? scene->coded_buffer_size : 0;
}

static inline bool scene_overflowed(void *token, uint32_t picture)
{
    const struct scene *scene = token;
    return scene->overflowed >> picture & 1;
}

/* Submits one picture of the scene. */
static inline const struct understood_picture *submit(struct scene *scene, struct checker *checker, uint32_t index)
{
    const struct planned_picture *picture = &scene->pictures[index];
    struct buffer_list list;
    build_buffers(scene, index, &list);
    if (scene->change_buffers)
        scene->change_buffers(scene, index, list.buffers, &list.count);
    struct submission submission = {
        .place = {1, index, UINT32_MAX}, .context = 1, .context_width = scene->context_width,
        .context_height = scene->context_height,
        .input = {picture->input, picture->input_width, picture->input_height, picture->input_format, VA_FOURCC_NV12,
                  picture->input != VA_INVALID_SURFACE, !picture->input_outside},
        .buffers = list.buffers, .buffer_count = list.count, .surface = scene_surface,
        .coded_buffer_size = scene_coded_buffer, .overflowed = scene_overflowed, .token = scene,
    };
    const struct understood_picture *understood = checker_picture(checker, &submission);
    release_buffers(&list);
    return understood;
}

#endif
