/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay: plays recorded VA traffic to a driver, as it was and with one change at a time.
 *
 *   replay --fields                      proves that the tables of fields are complete
 *   replay DRIVER TRACE                  plays it as it is; prints the findings; fails on any status that differs
 *   replay DRIVER TRACE --list           prints the changes that would be made
 *   replay DRIVER TRACE --mutate [--all-pictures] [--sample N --seed S] [--only TEXT] [--verbose]
 *
 * With --mutate it prints one line per change, "OUTCOME <tab> NAME <tab> PICTURE <tab> WHAT":
 *   caught      findings that the unchanged traffic does not have (or lacks some that it has): their names
 *   refused     a call returned another status: "FUNCTION 0xSTATUS"
 *   obeyed      nothing was said, and what is coded differs
 *   ignored     nothing was said, and what is coded is the same
 *   crashed     the driver ended the process: the signal
 *   hung        the driver did not come back
 * Changes are played in children, so that a crash of the driver costs one of them only. */
#include "fields.h"
#include "mutations.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum outcome { NOT_PLAYED, PLAYING, CAUGHT, REFUSED, OBEYED, IGNORED, CRASHED, HUNG };

static const char *const outcome_names[] = {"not-played", "playing", "caught",  "refused",
                                            "obeyed",     "ignored", "crashed", "hung"};

/* What became of one change; shared between the children and their parent. */
struct result {
    enum outcome outcome;
    char text[252];
};

#define BATCH 256         /* changes per child */
#define LONGEST_SECONDS 5 /* that a play may take */

struct options {
    const char *driver, *trace, *only;
    bool list, mutate, all_pictures, verbose, fields;
    unsigned long sample, seed;
};

static int usage(void)
{
    fputs("usage: replay --fields\n"
          "       replay DRIVER TRACE [--list | --mutate] [--all-pictures] [--sample N] [--seed S] [--only TEXT] "
          "[--verbose]\n",
          stderr);
    return 2;
}

static bool read_options(int count, char **words, struct options *options)
{
    *options = (struct options){.seed = 1};
    for (int i = 1; i < count; i++) {
        const char *word = words[i], *next = i + 1 < count ? words[i + 1] : NULL;
        if (strcmp(word, "--fields") == 0) options->fields = true;
        else if (strcmp(word, "--list") == 0) options->list = true;
        else if (strcmp(word, "--mutate") == 0) options->mutate = true;
        else if (strcmp(word, "--all-pictures") == 0) options->all_pictures = true;
        else if (strcmp(word, "--verbose") == 0) options->verbose = true;
        else if (strcmp(word, "--sample") == 0 && next) options->sample = strtoul(words[++i], NULL, 10);
        else if (strcmp(word, "--seed") == 0 && next) options->seed = strtoul(words[++i], NULL, 10);
        else if (strcmp(word, "--only") == 0 && next) options->only = words[++i];
        else if (*word == '-') return false;
        else if (!options->driver) options->driver = word;
        else if (!options->trace) options->trace = word;
        else return false;
    }
    return options->fields || options->trace;
}

/* Appends to a list of names, once each, as long as there is room. */
static void add_name(char *text, size_t size, const char *sign, const char *name)
{
    char item[80];
    snprintf(item, sizeof(item), "%s%s", sign, name);
    size_t length = strlen(item);
    for (const char *found = strstr(text, item); found; found = strstr(found + 1, item))
        if ((found == text || found[-1] == ',') && (found[length] == ',' || !found[length])) return;
    size_t used = strlen(text);
    if (used + length + 2 < size) snprintf(text + used, size - used, "%s%s", used ? "," : "", item);
}

/* Both lists are sorted: names the findings that only one of them has. True when there are any. */
static bool compare_findings(const struct play *before, const struct play *after, char *text, size_t size)
{
    size_t b = 0, a = 0;
    char missing[252] = "";
    while (b < before->finding_count || a < after->finding_count) {
        const struct played_finding *old = b < before->finding_count ? &before->findings[b] : NULL;
        const struct played_finding *new = a < after->finding_count ? &after->findings[a] : NULL;
        if (old && new && old->digest == new->digest) {
            b++;
            a++;
        } else if (new && (!old || new->digest < old->digest)) {
            add_name(text, size, "", new->name);
            a++;
        } else {
            add_name(missing, sizeof(missing), "", old->name);
            b++;
        }
    }
    if (!*text && *missing) snprintf(text, size, "gone: %s", missing);
    return *text;
}

/* The first call whose status the change altered. */
static bool compare_statuses(const struct trace *trace, const struct play *before, const struct play *after,
                             char *text, size_t size)
{
    for (size_t i = 0; i < trace->count; i++)
        if (before->statuses[i] != after->statuses[i]) {
            snprintf(text, size, "%s 0x%x", trace_function_name(trace->calls[i].function), after->statuses[i]);
            return true;
        }
    return false;
}

static void judge(const struct trace *trace, const struct play *before, const struct play *after,
                  struct result *result)
{
    if (compare_findings(before, after, result->text, sizeof(result->text)))
        result->outcome = CAUGHT;
    else if (compare_statuses(trace, before, after, result->text, sizeof(result->text)))
        result->outcome = REFUSED;
    else
        result->outcome = before->coded == after->coded ? IGNORED : OBEYED;
}

struct run {
    const struct driver *driver;
    const struct trace *trace;
    const struct mutation_list *list;
    struct result *results; /* shared memory */
};

static void play_batch(const struct run *run, size_t first, size_t end)
{
    struct play before;
    alarm(LONGEST_SECONDS);
    if (!play_trace(run->driver, run->trace, NULL, 0, NULL, &before)) _exit(3);
    for (size_t i = first; i < end; i++) {
        const struct mutation *mutation = &run->list->items[i];
        run->results[i].outcome = PLAYING;
        alarm(LONGEST_SECONDS);
        struct play after;
        play_trace(run->driver, run->trace, mutation->changes, mutation->change_count, NULL, &after);
        judge(run->trace, &before, &after, &run->results[i]);
        play_release(&after);
    }
    _exit(0);
}

/* Plays changes from `first` on in a child; returns the first one that is still to be played. */
static size_t run_batch(const struct run *run, size_t first)
{
    size_t end = first + BATCH < run->list->count ? first + BATCH : run->list->count;
    pid_t child = fork();
    if (child == 0) play_batch(run, first, end);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("replay: no child");
        exit(1);
    }
    for (size_t i = first; i < end; i++) {
        struct result *result = &run->results[i];
        if (result->outcome != PLAYING) continue;
        bool hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        result->outcome = hung ? HUNG : CRASHED;
        if (WIFSIGNALED(status)) snprintf(result->text, sizeof(result->text), "%s", strsignal(WTERMSIG(status)));
        else snprintf(result->text, sizeof(result->text), "exit status %d", WEXITSTATUS(status));
        return i + 1;
    }
    if (status == 0) return end;
    fprintf(stderr, "replay: the unchanged traffic ends the driver (wait status 0x%x)\n", (unsigned)status);
    exit(1);
}

static int mutate(const struct driver *driver, const struct trace *trace, const struct mutation_list *list)
{
    size_t bytes = (list->count + 1) * sizeof(struct result);
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct run run = {driver, trace, list, shared};
    if (shared == MAP_FAILED) {
        perror("replay");
        return 1;
    }
    for (size_t next = 0; next < list->count;) next = run_batch(&run, next);
    for (size_t i = 0; i < list->count; i++)
        printf("%s\t%s\t%s\t%s\n", outcome_names[run.results[i].outcome], list->items[i].name, list->items[i].picture,
               run.results[i].text);
    return 0;
}

/* Keeps what --only asks for, then a seeded sample. Order of the sample is the list's. */
static void choose(struct mutation_list *list, const struct options *options)
{
    size_t kept = 0;
    uint64_t state = options->seed;
    size_t wanted = options->sample ? options->sample : list->count, left = list->count;
    if (options->only) {
        wanted = left = 0;
        for (size_t i = 0; i < list->count; i++) left += strstr(list->items[i].name, options->only) != NULL;
        wanted = options->sample ? options->sample : left;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (options->only && !strstr(list->items[i].name, options->only)) continue;
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bool take = (state >> 33) % left < wanted;
        left--;
        if (!take) continue;
        wanted--;
        struct mutation swap = list->items[kept];
        list->items[kept++] = list->items[i];
        list->items[i] = swap;
    }
    struct mutation_list rest = {list->items + kept, list->count - kept, 0};
    for (size_t i = 0; i < rest.count; i++)
        for (size_t c = 0; c < rest.items[i].change_count; c++)
            if (rest.items[i].changes[c].kind == CHANGE_REPLACE)
                trace_call_release(&rest.items[i].changes[c].replacement);
    list->count = kept;
}

static int play_once(const struct driver *driver, const struct trace *trace, const struct mutation *mutation)
{
    struct play play;
    if (!play_trace(driver, trace, mutation ? mutation->changes : NULL, mutation ? mutation->change_count : 0, stdout,
                    &play)) {
        fputs("replay: the driver does not initialise\n", stderr);
        return 1;
    }
    int result = 0;
    for (size_t i = 0; i < trace->count; i++)
        if (play.statuses[i] != trace->calls[i].status) {
            printf("call %zu, %s: status 0x%x, recorded 0x%x\n", i, trace_function_name(trace->calls[i].function),
                   play.statuses[i], trace->calls[i].status);
            result = 1;
        }
    printf("%zu calls, %zu findings, %zu of %zu coded buffers as recorded\n", trace->count, play.finding_count,
           play.coded_equal, play.coded_count);
    if (play.coded_equal != play.coded_count) result = 1;
    play_release(&play);
    return result;
}

int main(int count, char **words)
{
    struct options options;
    if (!read_options(count, words, &options)) return usage();
    if (options.fields) return fields_check() ? 0 : 1;
    struct driver driver;
    struct trace trace;
    if (!driver_load(&driver, options.driver) || !trace_read(&trace, options.trace)) return 1;
    if (!options.list && !options.mutate) return play_once(&driver, &trace, NULL);
    struct mutation_list list;
    mutations_make(&list, &trace, options.all_pictures);
    choose(&list, &options);
    int result = 0;
    if (options.list)
        for (size_t i = 0; i < list.count; i++) printf("%s\t%s\n", list.items[i].name, list.items[i].picture);
    else if (options.verbose && list.count)
        result = play_once(&driver, &trace, &list.items[0]);
    else
        result = mutate(&driver, &trace, &list);
    mutations_release(&list);
    trace_release(&trace);
    return result;
}
