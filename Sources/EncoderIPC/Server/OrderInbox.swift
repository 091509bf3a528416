// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// The orders of one encoder's client, for the helper threads that wait for them.
///
/// Any thread that waits for something receives, one thread at a time, and also records what others wait for. An order
/// therefore wakes only the encoder's thread, and space for coded frames is detected even if that thread is busy.
final class OrderInbox: @unchecked Sendable {
    enum Order {
        case create(EncoderOrder, RingWriter)
        case frame(PendingFrame)
        case update(EncoderConfiguration)
        case drain
        case inspect(path: String)
    }

    /// More orders than a client sends without an answer.
    private static let mostOrders = 16

    private let channel: Channel
    private let outbox: Outbox
    private let releases: ReleaseNotes
    private let lock = Monitor()
    // Used under the lock.
    private var orders: [Order] = []
    private var memory = PictureMemory()
    private var ring: RingWriter?
    private var isReceiving = false
    private var end: Result<Void, MediaError>?

    init(_ channel: Channel, _ outbox: Outbox, _ releases: ReleaseNotes) {
        self.channel = channel
        self.outbox = outbox
        self.releases = releases
    }

    /// Waits for the next order.
    ///
    /// - Returns: `nil` after the client's last message.
    /// - Throws: `malformedData` for a message that violates the protocol, `inputOutput` if the client is gone.
    func next() throws(MediaError) -> Order? {
        try wait { orders.isEmpty ? nil : orders.removeFirst() }
    }

    /// Whether the client has sent an order that was not taken yet. Does not wait.
    var isOrderWaiting: Bool {
        lock.enter()
        defer { lock.leave() }
        while orders.isEmpty, end == nil, !isReceiving, receive(waits: false) {}
        return !orders.isEmpty
    }

    /// Writes coded data to the ring when there is space, for one thread at a time.
    ///
    /// - Returns: The offset of the data.
    /// - Throws: `frameFailed` if the data is longer than the ring, `inputOutput` if no client will read it.
    func write(_ data: CodedData, to ring: RingWriter) throws(MediaError) -> Int {
        let byteCount = try ring.fittingByteCount(of: data)
        while true {
            if ring.asks(for: byteCount) {
                // Together with all messages that were held back: the client does not take frames that it does not know
                // of.
                try outbox.send(.roomWanted)
                try outbox.hold(false)
            }
            switch try wait(for: { ring.attempt(data) }) {
            case .written(let offset): return offset
            case .answered: continue
            case nil: throw MediaError(.inputOutput, "the client no longer reads coded frames")
            }
        }
    }

    /// Receives until something is found, or until another receiving thread has found it.
    private func wait<Found>(for find: () -> Found?) throws(MediaError) -> Found? {
        lock.enter()
        defer { lock.leave() }
        while true {
            if let found = find() { return found }
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
        let arrival: Result<Channel.Arrival<ClientMessage>, MediaError>
        do throws(MediaError) {
            arrival = .success(try channel.receive(ClientMessage.self, &descriptor, waits: waits))
        } catch {
            arrival = .failure(error)
        }
        lock.enter()
        isReceiving = false
        defer { lock.wakeAll() }
        do throws(MediaError) {
            switch try arrival.get() {
            case .message(let message): try note(message, descriptor)
            case .end: try note(nil, nil)
            case .nothing: return false
            }
        } catch {
            end = .failure(error)
        }
        return true
    }

    private func note(_ message: ClientMessage?, _ descriptor: consuming Descriptor?) throws(MediaError) {
        switch message {
        case .create(let order):
            guard ring == nil else { throw MediaError(.malformedData, "the client asked for a second encoder") }
            let writer = RingWriter(try Self.map(descriptor, order.ringByteCount, .readWrite))
            ring = writer
            try add(.create(order, writer))
        case .offer(let offer): try memory.add(try Self.picture(descriptor, offer), slot: offer.slot)
        case .forget(let slot): try memory.remove(slot)
        case .frame(let order): try add(.frame(PendingFrame(try frame(order))))
        case .update(let configuration): try add(.update(configuration))
        case .drain: try add(.drain)
        case .taken(let count): try ring?.release(total: count)
        case .inspect(let path): try add(.inspect(path: path))
        case .close: end = .success(())
        case nil: throw MediaError(.inputOutput, "the client has closed its connection")
        }
    }

    private func add(_ order: Order) throws(MediaError) {
        guard orders.count < Self.mostOrders else {
            throw MediaError(.malformedData, "the client sends requests without waiting for replies")
        }
        orders.append(order)
    }

    private func frame(_ order: FrameOrder) throws(MediaError) -> EncoderFrame {
        let (releases, number) = (releases, order.number)
        let buffer = try memory.picture(order) { releases.add(number) }
        return EncoderFrame(
            number: number,
            buffer: buffer,
            conversion: order.conversion,
            presentationTime: order.presentationTime,
            duration: order.duration,
            options: order.options
        )
    }

    private static func picture(
        _ descriptor: consuming Descriptor?,
        _ offer: MemoryOffer
    ) throws(MediaError) -> PictureMemory.Slot {
        if let byteCount = offer.byteCount { return .memory(try map(descriptor, byteCount, .read)) }
        switch consume descriptor {
        case .some(let descriptor): return .descriptor(PictureMemory.SharedDescriptor(descriptor))
        case .none: throw MediaError(.malformedData, "a message arrived without its descriptor")
        }
    }

    private static func map(
        _ descriptor: borrowing Descriptor?,
        _ byteCount: Int,
        _ access: SharedMapping.Access
    ) throws(MediaError) -> SharedMapping {
        switch descriptor {
        case .some(let descriptor): try SharedMapping(descriptor, byteCount: byteCount, access: access)
        case .none: throw MediaError(.malformedData, "a message arrived without its descriptor")
        }
    }
}

/// A frame that waits for the encoder. The code that takes it decides when its picture is released.
final class PendingFrame {
    let number: Int64
    private var frame: EncoderFrame?

    init(_ frame: EncoderFrame) {
        number = frame.number
        self.frame = frame
    }

    func take() -> EncoderFrame? { frame.take() }
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
