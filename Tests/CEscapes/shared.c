// SPDX-License-Identifier: GPL-2.0-or-later
//
// System V memory, semaphores and queues, which belong to no process: what iHD needs of them, and the rest.

#include "attempts.h"

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <time.h>

/// The key under which iHD shares out the video engines of a GPU.
static const key_t video_boxes = 0x44005658;

/// Sets up what iHD sets up and takes it down, if nobody else has it, as iHD does.
static int share_once(void) {
    int lock = semget(video_boxes, 1, IPC_CREAT | IPC_EXCL | 0666);
    if (lock >= 0) {
        struct sembuf touch = {.sem_num = 0, .sem_op = 0};
        if (semctl(lock, 0, SETVAL, 0) != 0 || semop(lock, &touch, 1) != 0) {
            return errno;
        }
    } else if (errno != EEXIST || (lock = semget(video_boxes, 1, 0666)) < 0) {
        return errno;
    }
    struct semid_ds state;
    struct sembuf take[2] = {{.sem_op = 0}, {.sem_op = 1, .sem_flg = SEM_UNDO}};
    const struct timespec limit = {30, 0};
    if (semctl(lock, 0, IPC_STAT, &state) != 0) {
        return errno;
    }
    if (state.sem_otime == 0) {
        return EAGAIN; // somebody has made it, and not yet set it
    }
    if (semtimedop(lock, take, 2, &limit) != 0) {
        return errno;
    }
    int segment = shmget(video_boxes, 12, IPC_CREAT | 0666);
    void *memory = segment < 0 ? (void *)-1 : shmat(segment, NULL, 0);
    int result = memory == (void *)-1 ? errno : 0;
    if (result == 0) {
        // The value is somebody else's, and comes back.
        *(volatile unsigned *)memory = *(volatile unsigned *)memory;
        struct shmid_ds status;
        result = outcome(shmdt(memory));
        if (result == 0 && (result = outcome(shmctl(segment, IPC_STAT, &status))) == 0 && status.shm_nattch == 0) {
            shmctl(segment, IPC_RMID, NULL);
            if (semctl(lock, 0, GETZCNT) == 0) {
                return outcome(semctl(lock, 0, IPC_RMID));
            }
        }
    }
    struct sembuf release = {.sem_op = -1, .sem_flg = SEM_UNDO};
    int released = outcome(semop(lock, &release, 1));
    return result != 0 ? result : released;
}

/// Others on this machine may do the same, and remove what is looked for in between.
static int share_video_boxes(const struct escape_targets *targets) {
    (void)targets;
    const struct timespec pause = {0, 1000000};
    int result = share_once();
    for (int count = 0; count < 10000; count++) {
        if (result != EIDRM && result != EINVAL && result != ENOENT && result != EAGAIN) {
            break;
        }
        nanosleep(&pause, NULL);
        result = share_once();
    }
    return result;
}

static int other_semaphore(const struct escape_targets *targets) {
    (void)targets;
    int set = semget(IPC_PRIVATE, 1, 0600);
    return set < 0 ? errno : outcome(semctl(set, 0, IPC_RMID));
}

/// Memory that stays when this process has gone.
static int other_segment(const struct escape_targets *targets) {
    (void)targets;
    int segment = shmget(IPC_PRIVATE, 12, 0600);
    return segment < 0 ? errno : outcome(shmctl(segment, IPC_RMID, NULL));
}

/// Finds the segments of others.
static int list_segments(const struct escape_targets *targets) {
    (void)targets;
    struct shmid_ds information;
    return outcome(shmctl(0, SHM_INFO, &information));
}

static int message_queue(const struct escape_targets *targets) {
    (void)targets;
    int queue = msgget(IPC_PRIVATE, 0600);
    return queue < 0 ? errno : outcome(msgctl(queue, IPC_RMID, NULL));
}

const struct attempt shared_attempts[] = {
    {"share-video-boxes", share_video_boxes},
    {"other-semaphore", other_semaphore},
    {"other-segment", other_segment},
    {"list-segments", list_segments},
    {"message-queue", message_queue},
    {NULL, NULL},
};
