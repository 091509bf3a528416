// SPDX-License-Identifier: GPL-2.0-or-later

#define _GNU_SOURCE
#include "CTestEnvironment.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/vatoolbox-tests.XXXXXX";
static char cookie[sizeof folder + 16];
static char alsa[sizeof folder + 16];
static pid_t owner;

__attribute__((constructor)) static void set_up(void) {
    setenv(TEST_ENVIRONMENT_SECRET_NAME, TEST_ENVIRONMENT_SECRET_VALUE, 1);
    if (mkdtemp(folder) == NULL) return;
    owner = getpid();
    // libpulse makes files, by default in the user's folder.
    snprintf(cookie, sizeof cookie, "%s/cookie", folder);
    setenv("PULSE_COOKIE", cookie, 1);
    setenv("PULSE_RUNTIME_PATH", folder, 1);
    snprintf(alsa, sizeof alsa, "%s/asound.conf", folder);
    FILE *file = fopen(alsa, "w");
    if (file == NULL) return;
    fputs("</usr/share/alsa/alsa.conf>\n", file);
    if (fclose(file) != 0) return;
    setenv("ALSA_CONFIG_PATH", alsa, 1);
}

__attribute__((destructor)) static void clean_up(void) {
    // Not in a child that has not become another program.
    if (owner != getpid()) return;
    unlink(cookie);
    unlink(alsa);
    rmdir(folder);
}
