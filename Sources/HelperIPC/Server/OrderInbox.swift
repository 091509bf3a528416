// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// What a helper knows from the messages of one client.
protocol ClientState {
    /// The messages of the client.
    associatedtype Message: WireMessage
    /// The orders for the thread of the encoder or decoder.
    associatedtype Order

    /// Records a message.
    ///
    /// - Throws: `malformedData` if it violates the protocol.
    mutating func note(_ message: Message, _ descriptor: consuming Descriptor?) throws(MediaError)
        -> Noted<Order>
}

/// What follows from a client's message.
enum Noted<Order> {
    /// An order is to be carried out.
    case order(Order)
    /// Threads that wait for something may continue.
    case change
    /// It was the last message.
    case end
}

/// The orders of one client, for the helper threads that wait for them.
///
/// Any thread that waits for something receives, one thread at a time, and also records what others wait for. An order
/// therefore wakes only the thread that carries it out, and what a message makes possible, such as space for coded
/// frames, is detected even if that thread is busy.
final class OrderInbox<State: ClientState>: @unchecked Sendable {
    /// More orders than a client sends without an answer.
    private static var mostOrders: Int { 16 }

    private let channel: Channel
    private let lock = Monitor()
    // Used under the lock.
    private var orders: [State.Order] = []
    private var state: State
    private var isReceiving = false
    private var end: Result<Void, MediaError>?

    init(_ channel: Channel, _ state: State) {
        self.channel = channel
        self.state = state
    }

    /// Waits for the next order.
    ///
    /// - Returns: `nil` after the client's last message.
    /// - Throws: `malformedData` for a message that violates the protocol, `inputOutput` if the client is gone.
    func next() throws(MediaError) -> State.Order? {
        try wait { _ in orders.isEmpty ? nil : orders.removeFirst() }
    }

    /// Whether the client has sent an order that was not taken yet. Does not wait.
    var isOrderWaiting: Bool { look { _ in orders.isEmpty ? nil : true } ?? false }

    /// Looks for something in the messages that have arrived. Does not wait.
    ///
    /// - Parameter find: Called under the lock.
    func look<Found>(for find: (inout State) -> Found?) -> Found? {
        lock.enter()
        defer { lock.leave() }
        while true {
            if let found = find(&state) { return found }
            guard end == nil, !isReceiving, receive(waits: false) else { return nil }
        }
    }

    /// Receives until something is found, or until another receiving thread has found it.
    ///
    /// - Parameter find: Called under the lock.
    /// - Returns: `nil` after the client's last message.
    /// - Throws: As ``next()``.
    func wait<Found>(for find: (inout State) -> Found?) throws(MediaError) -> Found? {
        lock.enter()
        defer { lock.leave() }
        while true {
            if let found = find(&state) { return found }
            if let end {
                try end.get()
                return nil
            }
            if isReceiving {
                lock.wait()
                continue
            }
            _ = receive(waits: true)
        }
    }

    /// Receives and records a message. Called with the lock held, which is released meanwhile.
    ///
    /// - Returns: Whether there was a message, or there will be no more.
    private func receive(waits: Bool) -> Bool {
        isReceiving = true
        lock.leave()
        var descriptor: Descriptor?
        let arrival: Result<Channel.Arrival<State.Message>, MediaError>
        do throws(MediaError) {
            arrival = .success(try channel.receive(State.Message.self, &descriptor, waits: waits))
        } catch {
            arrival = .failure(error)
        }
        lock.enter()
        isReceiving = false
        defer { lock.wakeAll() }
        do throws(MediaError) {
            switch try arrival.get() {
            case .message(let message): try note(message, descriptor)
            case .end: throw MediaError(.inputOutput, "the client has closed its connection")
            case .nothing: return false
            }
        } catch {
            end = .failure(error)
        }
        return true
    }

    private func note(_ message: State.Message, _ descriptor: consuming Descriptor?) throws(MediaError) {
        switch try state.note(message, descriptor) {
        case .order(let order):
            guard orders.count < Self.mostOrders else {
                throw MediaError(.malformedData, "the client sends requests without waiting for replies")
            }
            orders.append(order)
        case .change: break
        case .end: end = .success(())
        }
    }
}

extension SharedMapping {
    /// Maps memory whose descriptor should have arrived with a message.
    convenience init(
        received descriptor: borrowing Descriptor?,
        byteCount: Int,
        access: Access
    ) throws(MediaError) {
        switch descriptor {
        case .some(let descriptor): try self.init(descriptor, byteCount: byteCount, access: access)
        case .none: throw MediaError.missingDescriptor
        }
    }
}

extension MediaError {
    static var missingDescriptor: MediaError {
        MediaError(.malformedData, "a message arrived without its descriptor")
    }
}

/// A lock with a condition, for state that several threads share.
private final class Monitor: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func enter() { pthread_mutex_lock(mutex) }
    func leave() { pthread_mutex_unlock(mutex) }
    /// Releases the lock until something may have changed.
    func wait() { pthread_cond_wait(condition, mutex) }
    func wakeAll() { pthread_cond_broadcast(condition) }
}
