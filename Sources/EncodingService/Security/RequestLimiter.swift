// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// A number of permits that comes back with time, up to as many as it begins with.
struct TokenBucket: Sendable, Hashable {
    /// The number of permits that come back per second.
    let rate: Double
    /// The largest number of permits.
    let capacity: Double
    private var permits: Double
    private var time: Double

    /// Makes a full bucket.
    init(rate: Double, capacity: Double, at now: Double) {
        (self.rate, self.capacity, permits, time) = (rate, capacity, capacity, now)
    }

    /// Takes a permit.
    ///
    /// - Returns: `nil` if there was one, otherwise the seconds until there is.
    mutating func take(at now: Double) -> Double? {
        refill(at: now)
        guard permits < 1 else {
            permits -= 1
            return nil
        }
        return (1 - permits) / rate
    }

    /// Whether it has been left alone for so long that it is full.
    mutating func isFull(at now: Double) -> Bool {
        refill(at: now)
        return permits == capacity
    }

    private mutating func refill(at now: Double) {
        // A clock that goes back takes nothing away.
        permits = min(capacity, permits + max(now - time, 0) * rate)
        time = max(time, now)
    }
}

/// How often each of many may do something, by a name such as that of a key.
final class RequestLimiter: Sendable {
    private let rate: Double
    private let capacity: Double
    private let buckets = Mutex<[String: TokenBucket]>([:])
    /// Names that nobody uses are forgotten when there are so many, so strangers cannot fill the memory.
    private static let mostNames = 10_000

    /// - Parameters:
    ///   - rate: The number per second in the long run; 0 for no limit.
    ///   - capacity: The number at once.
    init(rate: Double, capacity: Double) { (self.rate, self.capacity) = (rate, capacity) }

    /// Counts one more.
    ///
    /// - Returns: `nil` if it is allowed, otherwise the seconds until it will be.
    func take(_ name: String, at now: Double) -> Double? {
        guard rate > 0 else { return nil }
        return buckets.withLock { buckets in
            if buckets.count >= Self.mostNames {
                buckets = buckets.filter { entry in
                    var bucket = entry.value
                    return !bucket.isFull(at: now)
                }
                // All of them are at it: whoever is new waits.
                if buckets.count >= Self.mostNames, buckets[name] == nil { return 1 / rate }
            }
            return buckets[name, default: TokenBucket(rate: rate, capacity: capacity, at: now)].take(at: now)
        }
    }
}
