// SPDX-License-Identifier: GPL-2.0-or-later
//
// Attributes for compiling kernels.

#ifndef MULTIVERSION_H
#define MULTIVERSION_H

#define INLINE static inline __attribute__((always_inline))

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/// The loader selects the version before the sanitizer is ready, and would crash in the sanitizer's calls.
#define ONE_VERSION
#endif
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(ONE_VERSION)
/// Compiled once for AVX2 and once for any processor; the loader selects the matching version.
#define MULTIVERSION __attribute__((target_clones("avx2", "default")))
#else
#define MULTIVERSION
#endif

#endif
