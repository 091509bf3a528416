// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import MediaTypes
import Synchronization

extension Array where Element: Sendable {
    /// Calls a function for every element, each on its own thread that may block, and waits for all results.
    package func inParallel<Result: Sendable>(_ work: @escaping @Sendable (Element) -> Result) -> [Result] {
        let results = Mutex<[Int: Result]>([:])
        let done = DispatchSemaphore(value: 0)
        for (index, element) in enumerated() {
            let body: @Sendable () -> Void = {
                let result = work(element)
                results.withLock { $0[index] = result }
                done.signal()
            }
            do throws(MediaError) { try PlainThread.start(name: "vt-probe", body) } catch { body() }
        }
        for _ in self { done.wait() }
        return results.withLock { results in results.sorted { $0.key < $1.key }.map(\.value) }
    }
}
