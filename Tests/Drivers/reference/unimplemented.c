/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry points that an encoder has no use for. libva insists on some of them; faults apply to all. */
#include "driver.h"

VAStatus entry_vaQuerySubpictureFormats(VADriverContextP driver, VAImageFormat *format_list, unsigned int *flags,
                                        unsigned int *num_formats)
{
    (void)driver, (void)format_list, (void)flags;
    *num_formats = 0;
    return VA_STATUS_SUCCESS;
}

VAStatus entry_vaQueryDisplayAttributes(VADriverContextP driver, VADisplayAttribute *attr_list, int *num_attributes)
{
    (void)driver, (void)attr_list;
    *num_attributes = 0;
    return VA_STATUS_SUCCESS;
}

VAStatus entry_vaPutSurface(VADriverContextP driver, VASurfaceID surface, void *draw, short srcx, short srcy,
                            unsigned short srcw, unsigned short srch, short destx, short desty, unsigned short destw,
                            unsigned short desth, VARectangle *cliprects, unsigned int number_cliprects,
                            unsigned int flags)
{
    (void)driver, (void)surface, (void)draw, (void)srcx, (void)srcy, (void)srcw, (void)srch, (void)destx, (void)desty,
        (void)destw, (void)desth, (void)cliprects, (void)number_cliprects, (void)flags;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaCreateSubpicture(VADriverContextP driver, VAImageID image, VASubpictureID *subpicture)
{
    (void)driver, (void)image, (void)subpicture;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaDestroySubpicture(VADriverContextP driver, VASubpictureID subpicture)
{
    (void)driver, (void)subpicture;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaSetSubpictureImage(VADriverContextP driver, VASubpictureID subpicture, VAImageID image)
{
    (void)driver, (void)subpicture, (void)image;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaSetSubpictureChromakey(VADriverContextP driver, VASubpictureID subpicture,
                                        unsigned int chromakey_min, unsigned int chromakey_max,
                                        unsigned int chromakey_mask)
{
    (void)driver, (void)subpicture, (void)chromakey_min, (void)chromakey_max, (void)chromakey_mask;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaSetSubpictureGlobalAlpha(VADriverContextP driver, VASubpictureID subpicture, float global_alpha)
{
    (void)driver, (void)subpicture, (void)global_alpha;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaAssociateSubpicture(VADriverContextP driver, VASubpictureID subpicture, VASurfaceID *target_surfaces,
                                     int num_surfaces, short src_x, short src_y, unsigned short src_width,
                                     unsigned short src_height, short dest_x, short dest_y, unsigned short dest_width,
                                     unsigned short dest_height, unsigned int flags)
{
    (void)driver, (void)subpicture, (void)target_surfaces, (void)num_surfaces, (void)src_x, (void)src_y,
        (void)src_width, (void)src_height, (void)dest_x, (void)dest_y, (void)dest_width, (void)dest_height,
        (void)flags;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaDeassociateSubpicture(VADriverContextP driver, VASubpictureID subpicture,
                                       VASurfaceID *target_surfaces, int num_surfaces)
{
    (void)driver, (void)subpicture, (void)target_surfaces, (void)num_surfaces;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaGetDisplayAttributes(VADriverContextP driver, VADisplayAttribute *attr_list, int num_attributes)
{
    (void)driver, (void)attr_list, (void)num_attributes;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaSetDisplayAttributes(VADriverContextP driver, VADisplayAttribute *attr_list, int num_attributes)
{
    (void)driver, (void)attr_list, (void)num_attributes;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaLockSurface(VADriverContextP driver, VASurfaceID surface, unsigned int *fourcc,
                             unsigned int *luma_stride, unsigned int *chroma_u_stride, unsigned int *chroma_v_stride,
                             unsigned int *luma_offset, unsigned int *chroma_u_offset, unsigned int *chroma_v_offset,
                             unsigned int *buffer_name, void * *buffer)
{
    (void)driver, (void)surface, (void)fourcc, (void)luma_stride, (void)chroma_u_stride, (void)chroma_v_stride,
        (void)luma_offset, (void)chroma_u_offset, (void)chroma_v_offset, (void)buffer_name, (void)buffer;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaUnlockSurface(VADriverContextP driver, VASurfaceID surface)
{
    (void)driver, (void)surface;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaGetSurfaceAttributes(VADriverContextP driver, VAConfigID config, VASurfaceAttrib *attrib_list,
                                      unsigned int num_attribs)
{
    (void)driver, (void)config, (void)attrib_list, (void)num_attribs;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaAcquireBufferHandle(VADriverContextP driver, VABufferID buf_id, VABufferInfo *buf_info)
{
    (void)driver, (void)buf_id, (void)buf_info;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaReleaseBufferHandle(VADriverContextP driver, VABufferID buf_id)
{
    (void)driver, (void)buf_id;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaCreateMFContext(VADriverContextP driver, VAMFContextID *mfe_context)
{
    (void)driver, (void)mfe_context;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaMFAddContext(VADriverContextP driver, VAMFContextID mf_context, VAContextID context)
{
    (void)driver, (void)mf_context, (void)context;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaMFReleaseContext(VADriverContextP driver, VAMFContextID mf_context, VAContextID context)
{
    (void)driver, (void)mf_context, (void)context;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaMFSubmit(VADriverContextP driver, VAMFContextID mf_context, VAContextID *contexts, int num_contexts)
{
    (void)driver, (void)mf_context, (void)contexts, (void)num_contexts;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaQueryProcessingRate(VADriverContextP driver, VAConfigID config_id,
                                     VAProcessingRateParameter *proc_buf, unsigned int *processing_rate)
{
    (void)driver, (void)config_id, (void)proc_buf, (void)processing_rate;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaCopy(VADriverContextP driver, VACopyObject *dst, VACopyObject *src, VACopyOption option)
{
    (void)driver, (void)dst, (void)src, (void)option;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}
