/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MD5 (RFC 1321), for comparing pictures with what decoders print; not for security. */
#ifndef DRIVERS_COMMON_MD5_H
#define DRIVERS_COMMON_MD5_H

#include <stddef.h>
#include <stdint.h>

struct md5 {
    uint32_t state[4];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
};

#define MD5_TEXT_SIZE 33 /* 32 hexadecimal digits and the end */

void md5_begin(struct md5 *md5);
void md5_add(struct md5 *md5, const void *bytes, size_t size);
void md5_end(struct md5 *md5, char text[MD5_TEXT_SIZE]);

#endif
