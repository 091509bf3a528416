// SPDX-License-Identifier: GPL-2.0-or-later
//
// The environment of the process that runs the tests, complete before its first thread starts.
//
// setenv replaces the array of variables, and the old one goes while other threads read it: those that start programs,
// and libraries that ask for their variables. So no test changes a variable; it changes what a variable names.

#ifndef C_TEST_ENVIRONMENT_H
#define C_TEST_ENVIRONMENT_H

// PULSE_COOKIE and PULSE_RUNTIME_PATH name files of this process. ALSA_CONFIG_PATH names one with what the system
// configures; libasound reads it again when it is another file, so tests replace it by renaming.

/// The name and the value of a variable that nothing but this process should see.
#define TEST_ENVIRONMENT_SECRET_NAME "OF_THE_TESTS"
#define TEST_ENVIRONMENT_SECRET_VALUE "secret"

#endif
