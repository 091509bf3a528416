/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every entry point of libva's driver interface (va_backend.h), once: the wrappers that apply faults, the vtable and
 * the names that REFERENCE_DRIVER_FAULTS knows are made of this list.
 *
 * ENTRY(name, parameters, arguments, refused): `refused` is done when a fault makes the call fail before it started,
 * so that what the client can no longer do right is not held against it. */
#ifndef DRIVERS_REFERENCE_ENTRY_POINTS_H
#define DRIVERS_REFERENCE_ENTRY_POINTS_H

#define DRIVER_ENTRY_POINTS(ENTRY) \
    ENTRY(vaTerminate, \
          (VADriverContextP driver), \
          (driver), \
          (void)0) \
    ENTRY(vaQueryConfigProfiles, \
          (VADriverContextP driver, VAProfile *profile_list, int *num_profiles), \
          (driver, profile_list, num_profiles), \
          (void)0) \
    ENTRY(vaQueryConfigEntrypoints, \
          (VADriverContextP driver, VAProfile profile, VAEntrypoint *entrypoint_list, int *num_entrypoints), \
          (driver, profile, entrypoint_list, num_entrypoints), \
          (void)0) \
    ENTRY(vaGetConfigAttributes, \
          (VADriverContextP driver, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *attrib_list, \
           int num_attribs), \
          (driver, profile, entrypoint, attrib_list, num_attribs), \
          (void)0) \
    ENTRY(vaCreateConfig, \
          (VADriverContextP driver, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib *attrib_list, \
           int num_attribs, VAConfigID *config_id), \
          (driver, profile, entrypoint, attrib_list, num_attribs, config_id), \
          (void)0) \
    ENTRY(vaDestroyConfig, \
          (VADriverContextP driver, VAConfigID config_id), \
          (driver, config_id), \
          objects_excuse(driver, &config_id, 1)) \
    ENTRY(vaQueryConfigAttributes, \
          (VADriverContextP driver, VAConfigID config_id, VAProfile *profile, VAEntrypoint *entrypoint, \
           VAConfigAttrib *attrib_list, int *num_attribs), \
          (driver, config_id, profile, entrypoint, attrib_list, num_attribs), \
          (void)0) \
    ENTRY(vaCreateSurfaces, \
          (VADriverContextP driver, int width, int height, int format, int num_surfaces, VASurfaceID *surfaces), \
          (driver, width, height, format, num_surfaces, surfaces), \
          (void)0) \
    ENTRY(vaDestroySurfaces, \
          (VADriverContextP driver, VASurfaceID *surface_list, int num_surfaces), \
          (driver, surface_list, num_surfaces), \
          objects_excuse(driver, surface_list, num_surfaces)) \
    ENTRY(vaCreateContext, \
          (VADriverContextP driver, VAConfigID config_id, int picture_width, int picture_height, int flag, \
           VASurfaceID *render_targets, int num_render_targets, VAContextID *context), \
          (driver, config_id, picture_width, picture_height, flag, render_targets, num_render_targets, context), \
          (void)0) \
    ENTRY(vaDestroyContext, \
          (VADriverContextP driver, VAContextID context), \
          (driver, context), \
          objects_excuse(driver, &context, 1)) \
    ENTRY(vaCreateBuffer, \
          (VADriverContextP driver, VAContextID context, VABufferType type, unsigned int size, \
           unsigned int num_elements, void *data, VABufferID *buf_id), \
          (driver, context, type, size, num_elements, data, buf_id), \
          (void)0) \
    ENTRY(vaBufferSetNumElements, \
          (VADriverContextP driver, VABufferID buf_id, unsigned int num_elements), \
          (driver, buf_id, num_elements), \
          (void)0) \
    ENTRY(vaMapBuffer, \
          (VADriverContextP driver, VABufferID buf_id, void * *pbuf), \
          (driver, buf_id, pbuf), \
          (void)0) \
    ENTRY(vaUnmapBuffer, \
          (VADriverContextP driver, VABufferID buf_id), \
          (driver, buf_id), \
          objects_excuse(driver, &buf_id, 1)) \
    ENTRY(vaDestroyBuffer, \
          (VADriverContextP driver, VABufferID buffer_id), \
          (driver, buffer_id), \
          objects_excuse(driver, &buffer_id, 1)) \
    ENTRY(vaBeginPicture, \
          (VADriverContextP driver, VAContextID context, VASurfaceID render_target), \
          (driver, context, render_target), \
          (void)0) \
    ENTRY(vaRenderPicture, \
          (VADriverContextP driver, VAContextID context, VABufferID *buffers, int num_buffers), \
          (driver, context, buffers, num_buffers), \
          picture_spoiled(driver, context)) \
    ENTRY(vaEndPicture, \
          (VADriverContextP driver, VAContextID context), \
          (driver, context), \
          picture_refused(driver, context)) \
    ENTRY(vaSyncSurface, \
          (VADriverContextP driver, VASurfaceID render_target), \
          (driver, render_target), \
          objects_unwaitable(driver, &render_target, 1)) \
    ENTRY(vaQuerySurfaceStatus, \
          (VADriverContextP driver, VASurfaceID render_target, VASurfaceStatus *status), \
          (driver, render_target, status), \
          (void)0) \
    ENTRY(vaQuerySurfaceError, \
          (VADriverContextP driver, VASurfaceID render_target, VAStatus error_status, void * *error_info), \
          (driver, render_target, error_status, error_info), \
          (void)0) \
    ENTRY(vaPutSurface, \
          (VADriverContextP driver, VASurfaceID surface, void *draw, short srcx, short srcy, \
           unsigned short srcw, unsigned short srch, short destx, short desty, unsigned short destw, \
           unsigned short desth, VARectangle *cliprects, unsigned int number_cliprects, unsigned int flags), \
          (driver, surface, draw, srcx, srcy, srcw, srch, destx, desty, destw, desth, cliprects, \
           number_cliprects, flags), \
          (void)0) \
    ENTRY(vaQueryImageFormats, \
          (VADriverContextP driver, VAImageFormat *format_list, int *num_formats), \
          (driver, format_list, num_formats), \
          (void)0) \
    ENTRY(vaCreateImage, \
          (VADriverContextP driver, VAImageFormat *format, int width, int height, VAImage *image), \
          (driver, format, width, height, image), \
          (void)0) \
    ENTRY(vaDeriveImage, \
          (VADriverContextP driver, VASurfaceID surface, VAImage *image), \
          (driver, surface, image), \
          (void)0) \
    ENTRY(vaDestroyImage, \
          (VADriverContextP driver, VAImageID image), \
          (driver, image), \
          objects_excuse(driver, &image, 1)) \
    ENTRY(vaSetImagePalette, \
          (VADriverContextP driver, VAImageID image, unsigned char *palette), \
          (driver, image, palette), \
          (void)0) \
    ENTRY(vaGetImage, \
          (VADriverContextP driver, VASurfaceID surface, int x, int y, unsigned int width, unsigned int height, \
           VAImageID image), \
          (driver, surface, x, y, width, height, image), \
          (void)0) \
    ENTRY(vaPutImage, \
          (VADriverContextP driver, VASurfaceID surface, VAImageID image, int src_x, int src_y, \
           unsigned int src_width, unsigned int src_height, int dest_x, int dest_y, unsigned int dest_width, \
           unsigned int dest_height), \
          (driver, surface, image, src_x, src_y, src_width, src_height, dest_x, dest_y, dest_width, dest_height), \
          (void)0) \
    ENTRY(vaQuerySubpictureFormats, \
          (VADriverContextP driver, VAImageFormat *format_list, unsigned int *flags, unsigned int *num_formats), \
          (driver, format_list, flags, num_formats), \
          (void)0) \
    ENTRY(vaCreateSubpicture, \
          (VADriverContextP driver, VAImageID image, VASubpictureID *subpicture), \
          (driver, image, subpicture), \
          (void)0) \
    ENTRY(vaDestroySubpicture, \
          (VADriverContextP driver, VASubpictureID subpicture), \
          (driver, subpicture), \
          (void)0) \
    ENTRY(vaSetSubpictureImage, \
          (VADriverContextP driver, VASubpictureID subpicture, VAImageID image), \
          (driver, subpicture, image), \
          (void)0) \
    ENTRY(vaSetSubpictureChromakey, \
          (VADriverContextP driver, VASubpictureID subpicture, unsigned int chromakey_min, \
           unsigned int chromakey_max, unsigned int chromakey_mask), \
          (driver, subpicture, chromakey_min, chromakey_max, chromakey_mask), \
          (void)0) \
    ENTRY(vaSetSubpictureGlobalAlpha, \
          (VADriverContextP driver, VASubpictureID subpicture, float global_alpha), \
          (driver, subpicture, global_alpha), \
          (void)0) \
    ENTRY(vaAssociateSubpicture, \
          (VADriverContextP driver, VASubpictureID subpicture, VASurfaceID *target_surfaces, int num_surfaces, \
           short src_x, short src_y, unsigned short src_width, unsigned short src_height, short dest_x, \
           short dest_y, unsigned short dest_width, unsigned short dest_height, unsigned int flags), \
          (driver, subpicture, target_surfaces, num_surfaces, src_x, src_y, src_width, src_height, dest_x, \
           dest_y, dest_width, dest_height, flags), \
          (void)0) \
    ENTRY(vaDeassociateSubpicture, \
          (VADriverContextP driver, VASubpictureID subpicture, VASurfaceID *target_surfaces, int num_surfaces), \
          (driver, subpicture, target_surfaces, num_surfaces), \
          (void)0) \
    ENTRY(vaQueryDisplayAttributes, \
          (VADriverContextP driver, VADisplayAttribute *attr_list, int *num_attributes), \
          (driver, attr_list, num_attributes), \
          (void)0) \
    ENTRY(vaGetDisplayAttributes, \
          (VADriverContextP driver, VADisplayAttribute *attr_list, int num_attributes), \
          (driver, attr_list, num_attributes), \
          (void)0) \
    ENTRY(vaSetDisplayAttributes, \
          (VADriverContextP driver, VADisplayAttribute *attr_list, int num_attributes), \
          (driver, attr_list, num_attributes), \
          (void)0) \
    ENTRY(vaBufferInfo, \
          (VADriverContextP driver, VABufferID buf_id, VABufferType *type, unsigned int *size, \
           unsigned int *num_elements), \
          (driver, buf_id, type, size, num_elements), \
          (void)0) \
    ENTRY(vaLockSurface, \
          (VADriverContextP driver, VASurfaceID surface, unsigned int *fourcc, unsigned int *luma_stride, \
           unsigned int *chroma_u_stride, unsigned int *chroma_v_stride, unsigned int *luma_offset, \
           unsigned int *chroma_u_offset, unsigned int *chroma_v_offset, unsigned int *buffer_name, \
           void * *buffer), \
          (driver, surface, fourcc, luma_stride, chroma_u_stride, chroma_v_stride, luma_offset, chroma_u_offset, \
           chroma_v_offset, buffer_name, buffer), \
          (void)0) \
    ENTRY(vaUnlockSurface, \
          (VADriverContextP driver, VASurfaceID surface), \
          (driver, surface), \
          (void)0) \
    ENTRY(vaGetSurfaceAttributes, \
          (VADriverContextP driver, VAConfigID config, VASurfaceAttrib *attrib_list, unsigned int num_attribs), \
          (driver, config, attrib_list, num_attribs), \
          (void)0) \
    ENTRY(vaCreateSurfaces2, \
          (VADriverContextP driver, unsigned int format, unsigned int width, unsigned int height, \
           VASurfaceID *surfaces, unsigned int num_surfaces, VASurfaceAttrib *attrib_list, \
           unsigned int num_attribs), \
          (driver, format, width, height, surfaces, num_surfaces, attrib_list, num_attribs), \
          (void)0) \
    ENTRY(vaQuerySurfaceAttributes, \
          (VADriverContextP driver, VAConfigID config, VASurfaceAttrib *attrib_list, unsigned int *num_attribs), \
          (driver, config, attrib_list, num_attribs), \
          (void)0) \
    ENTRY(vaAcquireBufferHandle, \
          (VADriverContextP driver, VABufferID buf_id, VABufferInfo *buf_info), \
          (driver, buf_id, buf_info), \
          (void)0) \
    ENTRY(vaReleaseBufferHandle, \
          (VADriverContextP driver, VABufferID buf_id), \
          (driver, buf_id), \
          (void)0) \
    ENTRY(vaCreateMFContext, \
          (VADriverContextP driver, VAMFContextID *mfe_context), \
          (driver, mfe_context), \
          (void)0) \
    ENTRY(vaMFAddContext, \
          (VADriverContextP driver, VAMFContextID mf_context, VAContextID context), \
          (driver, mf_context, context), \
          (void)0) \
    ENTRY(vaMFReleaseContext, \
          (VADriverContextP driver, VAMFContextID mf_context, VAContextID context), \
          (driver, mf_context, context), \
          (void)0) \
    ENTRY(vaMFSubmit, \
          (VADriverContextP driver, VAMFContextID mf_context, VAContextID *contexts, int num_contexts), \
          (driver, mf_context, contexts, num_contexts), \
          (void)0) \
    ENTRY(vaCreateBuffer2, \
          (VADriverContextP driver, VAContextID context, VABufferType type, unsigned int width, \
           unsigned int height, unsigned int *unit_size, unsigned int *pitch, VABufferID *buf_id), \
          (driver, context, type, width, height, unit_size, pitch, buf_id), \
          (void)0) \
    ENTRY(vaQueryProcessingRate, \
          (VADriverContextP driver, VAConfigID config_id, VAProcessingRateParameter *proc_buf, \
           unsigned int *processing_rate), \
          (driver, config_id, proc_buf, processing_rate), \
          (void)0) \
    ENTRY(vaExportSurfaceHandle, \
          (VADriverContextP driver, VASurfaceID surface_id, uint32_t mem_type, uint32_t flags, void *descriptor), \
          (driver, surface_id, mem_type, flags, descriptor), \
          (void)0) \
    ENTRY(vaSyncSurface2, \
          (VADriverContextP driver, VASurfaceID surface, uint64_t timeout_ns), \
          (driver, surface, timeout_ns), \
          objects_unwaitable(driver, &surface, 1)) \
    ENTRY(vaSyncBuffer, \
          (VADriverContextP driver, VABufferID buf_id, uint64_t timeout_ns), \
          (driver, buf_id, timeout_ns), \
          objects_unwaitable(driver, &buf_id, 1)) \
    ENTRY(vaCopy, \
          (VADriverContextP driver, VACopyObject *dst, VACopyObject *src, VACopyOption option), \
          (driver, dst, src, option), \
          (void)0)

/* Those of va_backend_vpp.h, which have a table of their own. */
#define PROCESSING_ENTRY_POINTS(ENTRY) \
    ENTRY(vaQueryVideoProcFilters, \
          (VADriverContextP driver, VAContextID context, VAProcFilterType *filters, unsigned int *num_filters), \
          (driver, context, filters, num_filters), \
          (void)0) \
    ENTRY(vaQueryVideoProcFilterCaps, \
          (VADriverContextP driver, VAContextID context, VAProcFilterType type, void *filter_caps, \
           unsigned int *num_filter_caps), \
          (driver, context, type, filter_caps, num_filter_caps), \
          (void)0) \
    ENTRY(vaQueryVideoProcPipelineCaps, \
          (VADriverContextP driver, VAContextID context, VABufferID *filters, unsigned int num_filters, \
           VAProcPipelineCaps *pipeline_caps), \
          (driver, context, filters, num_filters, pipeline_caps), \
          (void)0)

#endif
