// SPDX-License-Identifier: GPL-2.0-or-later
//
// A program in place of `vatoolbox` that was taken over, or damages what it has made. The name of the output says what
// it does: for `truncated.mkv`, it encodes as it should, and truncates the output then. The real program is
// `vatoolbox-helper` beside it: that is a name of those programs that a worker may start.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static char real_program[PATH_MAX], output[PATH_MAX], folder[PATH_MAX];

/// Runs the real program with some arguments, and returns its exit status.
static int run(char **arguments, int is_silent) {
    pid_t process = fork();
    if (process == 0) {
        if (is_silent) dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execv(real_program, arguments);
        _exit(99);
    }
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/// The arguments with further ones, and without one.
static char **with(char **arguments, const char *first, const char *second, const char *without) {
    static char *changed[256];
    int count = 0;
    for (char **argument = arguments; *argument; argument++)
        if (!without || strcmp(*argument, without)) changed[count++] = *argument;
    if (first) changed[count++] = (char *)first;
    if (second) changed[count++] = (char *)second;
    changed[count] = NULL;
    return changed;
}

static char *beside(const char *name) {
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0 && write(file, text, strlen(text)) < 0) perror(path);
    if (file >= 0) close(file);
}

static void forge(const char *bytes) {
    printf("{\"status\":\"done\",\"exitStatus\":0,\"output\":{\"path\":\"%s\",\"bytes\":%s},"
           "\"encoder\":{\"name\":\"x264\",\"codec\":\"h264\",\"profile\":\"High\",\"reason\":\"none\"},"
           "\"verification\":{\"frames\":50,\"comparedFrames\":50,\"audioTracks\":1},\"duration\":2.0}", output, bytes);
}

/// Another output over the first one, of which the document has told.
static void encode_again(char **arguments, const char *first, const char *second) {
    unlink(output);
    run(with(arguments, first, second, NULL), 1);
}

static int misbehave(const char *how, char **arguments) {
    struct stat status;
    // What was taken over need not encode at all.
    if (!strcmp(how, "forged")) { write_file(output, "this is no film"); forge("15"); return 0; }
    if (!strcmp(how, "forged-missing")) { forge("15"); return 0; }
    if (!strcmp(how, "forged-link")) { if (symlink("/etc/passwd", output)) perror("symlink"); forge("15"); return 0; }
    if (!strcmp(how, "forged-folder")) { mkdir(output, 0700); forge("15"); return 0; }
    if (!strcmp(how, "garbage-document")) { run(arguments, 1); printf("{\"verification\": {\"frames\": 5"); return 0; }
    if (!strcmp(how, "deep-document")) { run(arguments, 1); for (int i = 0; i < 1000000; i++) putchar('['); return 0; }
    if (!strcmp(how, "huge-document")) {
        run(arguments, 1);
        for (long i = 0; i < 3000000; i++) printf("\"0123456789\",");
        return 0;
    }
    if (!strcmp(how, "no-document")) return run(arguments, 1);
    if (!strcmp(how, "no-verification")) return run(with(arguments, NULL, NULL, "--verify"), 0);
    if (!strcmp(how, "hanging")) for (;;) pause();
    if (!strcmp(how, "memory")) for (;;) memset(malloc(32 << 20), 1, 32 << 20);

    int result = run(arguments, 0);
    if (!strcmp(how, "status-1")) return 1;
    if (!strcmp(how, "status-3")) return 3;
    if (!strcmp(how, "killed")) raise(SIGKILL);
    if (!strcmp(how, "aborted")) abort();
    stat(output, &status);
    if (!strcmp(how, "truncated") && truncate(output, status.st_size * 2 / 3)) perror("truncate");
    if (!strcmp(how, "empty") && truncate(output, 0)) perror("truncate");
    if (!strcmp(how, "missing")) unlink(output);
    if (!strcmp(how, "extended")) { if (truncate(output, 1 << 28)) perror("truncate"); }
    if (!strcmp(how, "renamed")) rename(output, beside("other.mkv"));
    if (!strcmp(how, "garbage")) {
        // Of the same size: the pictures are damaged.
        int file = open(output, O_WRONLY);
        fstat(file, &status);
        for (off_t place = status.st_size / 4; place < status.st_size * 3 / 4; place += 3)
            if (pwrite(file, "Z", 1, place) < 0) perror("pwrite");
        close(file);
    }
    if (!strcmp(how, "zeros")) {
        int file = open(output, O_WRONLY);
        fstat(file, &status);
        fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size);
        close(file);
    }
    if (!strcmp(how, "short")) encode_again(arguments, "--duration=1", NULL);
    if (!strcmp(how, "short-padded")) {
        // As large as the first one.
        stat(output, &status);
        encode_again(arguments, "--duration=1", NULL);
        if (truncate(output, status.st_size)) perror("truncate");
    }
    if (!strcmp(how, "late")) encode_again(arguments, "--start=0.5", NULL);
    if (!strcmp(how, "silent")) encode_again(arguments, "--audio=none", NULL);
    if (!strcmp(how, "slow-rate")) encode_again(arguments, "--fps=5", NULL);
    if (!strcmp(how, "other-codec")) encode_again(arguments, "--codec=hevc", NULL);
    // What is beside the output.
    if (!strcmp(how, "symlink") && symlink("/etc/passwd", beside("passwd"))) perror("symlink");
    if (!strcmp(how, "hard-link") && link(output, beside("second.mkv"))) perror("link");
    if (!strcmp(how, "fifo") && mkfifo(beside("fifo"), 0600)) perror("mkfifo");
    if (!strcmp(how, "device") && mknod(beside("device"), S_IFCHR | 0600, makedev(1, 5))) perror("mknod");
    if (!strcmp(how, "marker")) write_file(beside(".published"), "1\n{\"files\":[]}");
    if (!strcmp(how, "marker-link") && symlink("../../keys.json", beside(".published.new"))) perror("symlink");
    if (!strcmp(how, "marker-folder")) mkdir(beside(".published.new"), 0700);
    if (!strcmp(how, "hidden")) write_file(beside(".hidden"), "x");
    if (!strcmp(how, "page")) write_file(beside("page.html"), "<script>alert(1)</script>");
    if (!strcmp(how, "no-text")) write_file(beside("\xff\xfe"), "x");
    if (!strcmp(how, "deep")) {
        if (chdir(folder)) return 97;
        for (int depth = 0; depth < 3000; depth++) {
            if (mkdir("abcdefghij", 0700) || chdir("abcdefghij")) break;
        }
    }
    if (!strcmp(how, "no-rights")) {
        mkdir(beside("locked"), 0700);
        write_file(beside("locked/file"), "x");
        chmod(beside("locked"), 0);
    }
    if (!strcmp(how, "other-attempt")) {
        // What belongs to others: the folder above, uploads, the store.
        write_file(beside("../999/out.mkv"), "x");
        write_file(beside("../../keys.json"), "[]");
        write_file(beside("../../uploads/escaped"), "x");
        write_file("/tmp/vatoolbox-impostor-escaped", "x");
    }
    if (!strcmp(how, "children")) {
        for (int count = 0; count < 20; count++) {
            if (fork()) continue;
            setsid();
            if (fork()) _exit(0);
            for (;;) { write_file(output, "overwritten"); usleep(1000); }
        }
        do { usleep(1000); } while (stat(output, &status) || status.st_size > 100);
    }
    return result;
}

int main(int count, char **arguments) {
    char self[PATH_MAX] = {0};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) snprintf(self, sizeof self, "%s", arguments[0]);
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", self);
    snprintf(real_program, sizeof real_program, "%s/vatoolbox-helper", dirname(copy));
    int encodes = count > 1 && !strcmp(arguments[1], "encode");
    for (int index = 1; index + 1 < count; index++)
        if (!strcmp(arguments[index], "-o")) snprintf(output, sizeof output, "%s", arguments[index + 1]);
    snprintf(folder, sizeof folder, "%s", output);
    if (strrchr(folder, '/')) *strrchr(folder, '/') = 0;
    if (!encodes || !output[0]) return run(arguments, 0);
    char how[PATH_MAX];
    snprintf(how, sizeof how, "%s", strrchr(output, '/') + 1);
    if (strrchr(how, '.')) *strrchr(how, '.') = 0;
    int result = misbehave(how, arguments);
    fflush(stdout);
    return result;
}
