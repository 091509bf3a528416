/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the thread sanitizer what Swift's Mutex does. Its fast path is compiled into our code, and so seen; where threads
 * contend, the kernel hands it over (FUTEX_LOCK_PI) inside of libswiftSynchronization, which is not, and everything that it
 * guards looks like a race. To be preloaded into programs that are built with the sanitizer. Names are Swift 6's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

SWIFT void annotated_lock(uint32_t thread, SELF) __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void annotated_unlock(SELF) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
SWIFT bool annotated_try(SELF) __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");

/* The library's own function. */
static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function)
        abort();
    return function;
}

SWIFT void annotated_lock(uint32_t thread, SELF)
{
    SWIFT void (*lock)(uint32_t, SELF) = real("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
    lock(thread, mutex);
    if (__tsan_acquire)
        __tsan_acquire(mutex);
}

SWIFT void annotated_unlock(SELF)
{
    SWIFT void (*unlock)(SELF) = real("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
    if (__tsan_release)
        __tsan_release(mutex);
    unlock(mutex);
}

SWIFT bool annotated_try(SELF)
{
    SWIFT bool (*try)(SELF) = real("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
    bool locked = try(mutex);
    if (locked && __tsan_acquire)
        __tsan_acquire(mutex);
    return locked;
}
