// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
internal import Synchronization

/// Reads a device on a thread of its own, and opens it again when it was gone.
///
/// What it reads comes out of ``next()``. If nobody takes items fast enough, the older ones are dropped and counted, so that a
/// slow consumer never delays a device; a file waits instead.
public final class DeviceReader<Description: Sendable, Item: Sendable>: Sendable {
    /// What happens to a device.
    public enum Event: Sendable {
        /// It was opened for the first time, or again.
        case opened(Description)
        /// It has delivered something.
        case item(Item)
        /// It is gone; the reader opens it again as soon as it is back.
        case gone(MediaError)
        /// It has failed for good, or cannot be opened again: the user refuses, or what is back does not have what was
        /// asked for. Nothing follows.
        case failed(MediaError)
    }

    /// Returns the next item of an open device, on the thread that opened it; `nil` at the end of a file.
    public typealias Next = () throws(MediaError) -> Item?
    /// Opens a device.
    public typealias Open = @Sendable (StopSignal) throws(MediaError) -> (Description, Next)

    /// What a reader does with what its consumer does not take.
    public struct Options: Sendable, Hashable {
        /// The number of items that may wait for the consumer.
        public var waiting = 3
        /// Whether the device waits for the consumer beyond that. If not, the oldest item is dropped.
        public var waitsForConsumer = false
        /// Whether a device that is gone is opened again when it is back. If not, that is a failure.
        public var reopens = true
        /// Whether a device that is not there at the start is waited for, too. If not, that is a failure.
        public var waitsAtStart = false

        /// Makes the options for a device that delivers pictures.
        public init() {}
    }

    private let work: Work

    /// Starts to read.
    ///
    /// - Parameters:
    ///   - name: The name of the thread, at most 15 bytes.
    ///   - options: What becomes of items that wait, and of a device that is gone.
    ///   - open: Opens the device.
    /// - Throws: `outOfMemory` if there is no thread or descriptor.
    public init(name: String, options: Options = .init(), open: @escaping Open) throws(MediaError) {
        let work = Work(options, try StopSignal(), open)
        self.work = work
        try PlainThread.start(name: name) {
            work.run()
            work.channel.finish()
        }
    }

    deinit { stop() }

    /// Waits for the next event, for one consumer; `nil` after the last event, which ``stop()``, a failure, or the end of a
    /// file makes, and when the calling task is cancelled, which loses no event.
    public func next() async -> Event? { await work.channel.next() }

    /// The number of items that were dropped because they were not taken in time.
    public var dropped: Int { work.dropped.withLock { $0 } }

    /// Ends the reader, soon. Events that wait already are still delivered.
    public func stop() {
        work.stopSignal.stop()
        work.channel.finish()
    }

    /// What the thread does. It does not retain the reader, so that releasing it ends the thread.
    private final class Work: Sendable {
        let options: Options
        let stopSignal: StopSignal
        let channel: EventChannel<Event>
        let dropped = Mutex(0)
        private let open: Open

        init(_ options: Options, _ stopSignal: StopSignal, _ open: @escaping Open) {
            (self.options, self.stopSignal, self.open) = (options, stopSignal, open)
            channel = EventChannel(limit: options.waiting, waitsForSpace: options.waitsForConsumer)
        }

        /// How often a device that is gone is tried, in milliseconds.
        private static var pause: Int32 { 500 }

        func run() {
            do throws(MediaError) {
                var loss = try read(isFirst: true)
                while let error = loss {
                    _ = channel.send(.gone(error), isDroppable: false)
                    loss = try read(isFirst: false)
                }
            } catch {
                if !stopSignal.isStopped { _ = channel.send(.failed(error), isDroppable: false) }
            }
        }

        /// Opens the device, and delivers items until the end of a file, or until the device is gone.
        ///
        /// The device is released when this returns: it cannot be opened again before.
        ///
        /// - Parameter isFirst: Whether the device is opened for the first time; if not, as soon as it is back.
        /// - Returns: Why the device is gone; `nil` at the end, and after the stop signal.
        private func read(isFirst: Bool) throws(MediaError) -> MediaError? {
            let device: (Description, Next)?
            do throws(MediaError) {
                device = isFirst ? try open(stopSignal) : try waitUntilBack()
            } catch {
                let isWrong = error.code == .invalidArgument
                guard isFirst, options.waitsAtStart, !isWrong, Self.mayPass(error), !stopSignal.isStopped else {
                    throw error
                }
                return error
            }
            guard let (description, next) = device else { return nil }
            _ = channel.send(.opened(description), isDroppable: false)
            do throws(MediaError) {
                while !stopSignal.isStopped, let item = try next() {
                    let count = channel.send(.item(item), isDroppable: true)
                    if count > 0 { dropped.withLock { $0 += count } }
                }
                return nil
            } catch {
                guard error.code == .unavailable, options.reopens else { throw error }
                return error
            }
        }

        /// Opens the device as soon as it is back.
        ///
        /// - Returns: The open device; `nil` after the stop signal.
        /// - Throws: What no later attempt can change.
        private func waitUntilBack() throws(MediaError) -> (Description, Next)? {
            while !stopSignal.isStopped {
                do throws(MediaError) {
                    try stopSignal.wait(for: [], until: Self.pause)
                    return try open(stopSignal)
                } catch {
                    guard Self.mayPass(error) || stopSignal.isStopped else { throw error }
                }
            }
            return nil
        }

        /// Whether another attempt may succeed. `cancelled`, without the stop signal, is the word of the user. A value
        /// that is wrong, but not permanently, is one that the device has from elsewhere: the address of a name.
        private static func mayPass(_ error: MediaError) -> Bool {
            switch error.code {
            case .cancelled, .unsupported: false
            case .invalidArgument: !error.isPermanent
            default: true
            }
        }
    }
}
