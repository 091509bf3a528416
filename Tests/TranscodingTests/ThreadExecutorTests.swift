// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport
import Testing

@testable import Transcoding

/// The thread that an actor of blocking calls has for itself.
@Suite struct ThreadExecutorTests {
    private actor Worker {
        private let executor: ThreadExecutor
        private(set) var sum = 0

        init(_ name: String) { executor = ThreadExecutor(name: name) }

        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func add(_ number: Int) -> String {
            sum += number
            return ProcessFiles.text("/proc/thread-self/comm").trimmingSuffix(while: \.isNewline)
        }
    }

    private func threads(_ name: String) -> Int {
        ProcessFiles.names("/proc/self/task")
            .count { ProcessFiles.text("/proc/self/task/\($0)/comm").hasPrefix(name) }
    }

    /// Jobs come while the thread works and while it sleeps; it ends with its actor.
    @Test func jobsRunOnOneThreadThatEndsWithTheActor() async {
        for round in 0..<20 {
            let name = "vt-exec-\(round)"
            do {
                let worker = Worker(name)
                #expect(threads(name) == 0)
                for number in 0..<10 {
                    #expect(await worker.add(number) == name)
                    if number % 3 == 0 { await Task.yield() }
                }
                await withTaskGroup { group in
                    for number in 0..<100 { group.addTask { _ = await worker.add(number) } }
                }
                #expect(await worker.sum == 45 + 4950)
                #expect(threads(name) == 1)
            }
            #expect(await Patience.wait { threads(name) == 0 })
        }
    }

    /// An actor that nobody has called has no thread to end.
    @Test func withoutJobsThereIsNoThread() {
        do { _ = Worker("vt-exec-idle") }
        #expect(threads("vt-exec-idle") == 0)
    }

    /// The last reference goes on the thread itself, which then ends.
    @Test func theActorMayEndOnItsOwnThread() async {
        for round in 0..<50 {
            let name = "vt-own-\(round)"
            Task { [worker = Worker(name)] in _ = await worker.add(1) }
            #expect(await Patience.wait { threads(name) == 0 })
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> String {
        var text = Substring(self)
        while let last = text.last, predicate(last) { text.removeLast() }
        return String(text)
    }
}
