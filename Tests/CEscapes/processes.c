// SPDX-License-Identifier: GPL-2.0-or-later
//
// Other processes: starting, signalling, reading and changing them, and talking to them.

#include "attempts.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int reap(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

/// Runs the program in a child; where none can be made, in place of this process, which then says nothing more.
static int execute(int file, const char *path) {
    char *const arguments[] = {"true", NULL};
    char *const environment[] = {NULL};
    pid_t child = fork();
    if (child > 0) {
        return reap(child);
    }
    syscall(SYS_execveat, file, path, arguments, environment, file < 0 ? 0 : AT_EMPTY_PATH);
    int error = errno;
    if (child == 0) {
        _exit(error);
    }
    return error;
}

static int start_program(const struct escape_targets *targets) {
    (void)targets;
    return execute(AT_FDCWD, "/bin/true");
}

/// Makes a copy of a program in memory, or what is left of it if the program cannot be read, and runs it.
static int start_from_memory(const struct escape_targets *targets) {
    (void)targets;
    int memory = (int)syscall(SYS_memfd_create, "escape", MFD_CLOEXEC);
    int program = open("/bin/true", O_RDONLY | O_CLOEXEC);
    if (memory < 0 || program < 0) {
        return errno;
    }
    char buffer[65536];
    ssize_t count;
    while ((count = read(program, buffer, sizeof buffer)) > 0) {
        if (write(memory, buffer, (size_t)count) != count) {
            return errno;
        }
    }
    close(program);
    int result = execute(memory, "");
    close(memory);
    return result;
}

static int new_process(const struct escape_targets *targets) {
    (void)targets;
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    return child < 0 ? errno : reap(child);
}

static int new_process_by_clone3(const struct escape_targets *targets) {
    (void)targets;
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0) {
        _exit(0);
    }
    return child < 0 ? errno : reap(child);
}

static int signal_victim(const struct escape_targets *targets) {
    return outcome(kill(targets->victim, SIGURG));
}

static int signal_thread_of_victim(const struct escape_targets *targets) {
    return outcome(syscall(SYS_tgkill, targets->victim, targets->victim, SIGURG));
}

static int signal_thread_by_number(const struct escape_targets *targets) {
    return outcome(syscall(SYS_tkill, targets->victim, SIGURG));
}

static int queue_signal(const struct escape_targets *targets) {
    siginfo_t information = {.si_signo = SIGURG, .si_code = SI_QUEUE};
    information.si_pid = getpid();
    information.si_uid = getuid();
    return outcome(syscall(SYS_rt_sigqueueinfo, targets->victim, SIGURG, &information));
}

static int signal_group(const struct escape_targets *targets) {
    (void)targets;
    return outcome(kill(0, 0));
}

static int open_process(const struct escape_targets *targets) {
    int process = (int)syscall(SYS_pidfd_open, targets->victim, 0);
    if (process < 0) {
        return errno;
    }
    int result = outcome(syscall(SYS_pidfd_send_signal, process, SIGURG, NULL, 0));
    close(process);
    return result;
}

/// Lets the kernel send signals to another process when something can be read.
static int signal_by_owner(const struct escape_targets *targets) {
    int ends[2];
    if (pipe(ends) != 0) {
        return errno;
    }
    int result = outcome(fcntl(ends[0], F_SETOWN, targets->victim));
    close(ends[0]);
    close(ends[1]);
    return result;
}

static int trace(const struct escape_targets *targets) {
    if (ptrace(PTRACE_SEIZE, targets->victim, NULL, NULL) != 0) {
        return errno;
    }
    // It is let go when this process ends; a tracee that runs cannot be detached.
    return 0;
}

static int read_memory(const struct escape_targets *targets) {
    char bytes[16];
    struct iovec here = {bytes, sizeof bytes};
    struct iovec there = {(void *)(uintptr_t)targets->victim_memory, sizeof bytes};
    return outcome(process_vm_readv(targets->victim, &here, 1, &there, 1, 0));
}

static int write_memory(const struct escape_targets *targets) {
    struct iovec nothing = {NULL, 0};
    return outcome(process_vm_writev(targets->victim, &nothing, 1, &nothing, 1, 0));
}

static int change_priority(const struct escape_targets *targets) {
    /* The lowest, to which a process without rights may go from any other. */
    return outcome(setpriority(PRIO_PROCESS, (id_t)targets->victim, 19));
}

static int change_affinity(const struct escape_targets *targets) {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) != 0 ? errno
                                                        : outcome(sched_setaffinity(targets->victim, sizeof set, &set));
}

static int change_limit(const struct escape_targets *targets) {
    const struct rlimit limit = {1 << 20, 1 << 20};
    return outcome(prlimit(targets->victim, RLIMIT_CORE, &limit, NULL));
}

static int compare_descriptors(const struct escape_targets *targets) {
    long result = syscall(SYS_kcmp, getpid(), targets->victim, 0 /* KCMP_FILE */, 0, 0);
    return result < 0 ? errno : 0;
}

static int internet_socket(const struct escape_targets *targets) {
    (void)targets;
    int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (end < 0) {
        return errno;
    }
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int result = outcome(bind(end, (const struct sockaddr *)&any, sizeof any));
    close(end);
    return result;
}

static int abstract_socket(const struct escape_targets *targets) {
    int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (end < 0) {
        return errno;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(targets->socket);
    memcpy(address.sun_path + 1, targets->socket, length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    int result = outcome(connect(end, (const struct sockaddr *)&address, size));
    close(end);
    return result;
}

/// An end of a pair of datagram sockets can send to any other socket by name.
static int socket_pair(const struct escape_targets *targets) {
    (void)targets;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return errno;
    }
    close(ends[0]);
    close(ends[1]);
    return 0;
}

const struct attempt process_attempts[] = {
    {"new-process", new_process},
    {"new-process-by-clone3", new_process_by_clone3},
    {"start-program", start_program},
    {"start-from-memory", start_from_memory},
    {"signal-victim", signal_victim},
    {"signal-thread-of-victim", signal_thread_of_victim},
    {"signal-thread-by-number", signal_thread_by_number},
    {"queue-signal", queue_signal},
    {"signal-group", signal_group},
    {"open-process", open_process},
    {"signal-by-owner", signal_by_owner},
    {"read-memory", read_memory},
    {"write-memory", write_memory},
    {"change-priority", change_priority},
    {"change-affinity", change_affinity},
    {"change-limit", change_limit},
    {"compare-descriptors", compare_descriptors},
    {"internet-socket", internet_socket},
    {"abstract-socket", abstract_socket},
    {"socket-pair", socket_pair},
    {"trace", trace},
    {NULL, NULL},
};
