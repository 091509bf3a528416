// SPDX-License-Identifier: GPL-2.0-or-later
//
// How kernels are compiled.

#ifndef MULTIVERSION_H
#define MULTIVERSION_H

#define INLINE static inline __attribute__((always_inline))

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/// The loader asks for the version that fits before the sanitizer is ready, and crashes in its calls.
#define ONE_VERSION
#endif
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(ONE_VERSION)
/// Compiled once for AVX2 and once for any processor; the loader takes the version that fits.
#define MULTIVERSION __attribute__((target_clones("avx2", "default")))
#else
#define MULTIVERSION
#endif

#endif
