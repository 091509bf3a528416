// SPDX-License-Identifier: GPL-2.0-or-later

// Types of the job store whose names the API has, too. The module cannot be named in front of them, because its main
// protocol has the same name. This file imports no other module with such types.

internal import JobStore

typealias StoredJobState = JobState
typealias StoredJob = Job
typealias StoredWaitingReason = WaitingReason
typealias StoredAttemptOutcome = AttemptOutcome
