// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// An encoder on its thread as a value: the session's commands go in, and what it may do next is asked for.
///
/// It reorders in the simplest way: a key frame by itself, then groups of ``reorderDepth`` + 1 frames, each decoded from
/// the last one shown to the first. A forced key frame or a drain cuts a group short.
struct ModelEncoder {
    enum Command: Equatable {
        case create
        case encode(Frame)
        case update
        case drain
    }

    struct Frame: Equatable {
        var number: Int64
        var isForced: Bool
    }

    /// What it returns for a frame.
    struct Output: Equatable {
        var number: Int64
        var isKey: Bool
    }

    let id: Int
    let candidate: Int
    let reorderDepth: Int
    /// What it has been told and has not finished, in order; the thread is in the first one.
    private(set) var commands: [Command] = [.create]
    /// Frames whose `encode` has returned and that are not coded, as they are shown.
    private(set) var held: [Frame] = []
    /// Whether the frame whose `encode` has not returned is coded already.
    private(set) var isHeadCoded = false
    /// The numbers that it has decided to code next, in decoding order.
    private(set) var group: [Int64] = []
    private(set) var hasKey = false
    private(set) var lastCoded: Int64?
    /// The number that the next frame must have; `nil` before the first.
    private(set) var expected: Int64?
    /// Frames whose `encode` has returned, less those that came out.
    private(set) var delay = 0
    /// Whether it has coded frames in an order that it said it would not.
    private(set) var isDisorderly = false

    init(_ id: Int, candidate: Int, reorderDepth: Int) {
        (self.id, self.candidate, self.reorderDepth) = (id, candidate, reorderDepth)
    }

    var isCreated: Bool { commands.first != .create }
    var hasWork: Bool { !commands.isEmpty || delay > reorderDepth }

    /// Frames that it could code now: those that it holds, and the one that it is just being given.
    var visible: [Frame] {
        if case .encode(let frame) = commands.first, !isHeadCoded { return held + [frame] }
        return held
    }

    /// What it codes next; `nil` if it waits for more frames.
    var next: Output? {
        if let number = group.first { return Output(number: number, isKey: false) }
        return nextGroup.first
    }

    private var nextGroup: [Output] {
        let frames = visible
        guard let first = frames.first else { return [] }
        if !hasKey || first.isForced { return [Output(number: first.number, isKey: true)] }
        let members = frames.prefix(reorderDepth + 1).prefix { !$0.isForced }
        let isCut = members.count < frames.prefix(reorderDepth + 1).count || commands.first == .drain
        guard members.count == reorderDepth + 1 || isCut else { return [] }
        return members.reversed().map { Output(number: $0.number, isKey: false) }
    }

    // MARK: - Commands

    /// - Returns: Whether the command may be given: it comes after the creation, and frames come in order, each once.
    mutating func take(_ command: Command) -> Bool {
        guard isCreated else { return false }
        if case .encode(let frame) = command {
            if let expected, expected != frame.number { return false }
            expected = frame.number + 1
        }
        commands.append(command)
        return true
    }

    /// The thread is through with the first command.
    mutating func finishCommand() {
        switch commands.removeFirst() {
        case .create, .update: break
        case .encode(let frame):
            if !isHeadCoded { held.append(frame) }
            isHeadCoded = false
            delay += 1
        // An encoder that reorders begins anew, as x264 does.
        case .drain: if reorderDepth > 0 { hasKey = false }
        }
    }

    // MARK: - Coding

    /// Codes the next frame.
    ///
    /// - Parameter isDropped: Whether it leaves the frame out on purpose.
    mutating func code(isDropped: Bool) -> Output? {
        guard var output = next else { return nil }
        if group.isEmpty { group = nextGroup.map(\.number) }
        output.isKey = output.isKey && !isDropped
        remove(output.number)
        hasKey = hasKey || output.isKey
        return output
    }

    /// Codes a frame before more frames than it said are coded that are shown before it; `nil` if there are not enough.
    mutating func codeTooEarly() -> Output? {
        let frames = visible
        guard hasKey, group.isEmpty, frames.count > reorderDepth + 1,
            !frames.prefix(reorderDepth + 2).contains(where: \.isForced)
        else { return nil }
        let number = frames[reorderDepth + 1].number
        remove(number)
        isDisorderly = true
        return Output(number: number, isKey: false)
    }

    private mutating func remove(_ number: Int64) {
        if let index = held.firstIndex(where: { $0.number == number }) {
            held.remove(at: index)
        } else {
            isHeadCoded = true
        }
        group.removeAll { $0 == number }
        lastCoded = number
        delay -= 1
    }
}
