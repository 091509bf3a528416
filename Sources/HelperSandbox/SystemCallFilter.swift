// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc

/// The system calls that a confined process may make, as a program for the kernel's packet filter (seccomp).
///
/// The kernel runs it at each call, on `struct seccomp_data`: the number at byte 0, the architecture at byte 4, six
/// arguments of 8 bytes each from byte 16 on.
struct SystemCallFilter: Sendable {
    enum Architecture: Sendable, CaseIterable {
        case x86, arm

        /// The architecture of this program; `nil` if there are no tables for it.
        static var current: Architecture? {
            #if arch(x86_64)
            .x86
            #elseif arch(arm64)
            .arm
            #else
            nil
            #endif
        }

        /// `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_AARCH64` of linux/audit.h.
        var audit: UInt32 {
            switch self {
            case .x86: 0xC000_003E
            case .arm: 0xC000_00B7
            }
        }
    }

    /// A condition on an argument: its 32 bits, or those under the mask, equal one of the values.
    struct Condition: Sendable {
        enum Half: UInt32, Sendable { case low = 0, high = 4 }

        var argument: UInt32
        var half = Half.low
        var mask = UInt32.max
        var values: [UInt32]
    }

    /// The rule for a call.
    enum Rule: Sendable {
        case allowed
        /// The call fails with this error.
        case refused(Int32)
        /// The call is allowed if all conditions of one of the lists are met; otherwise, it fails with `EPERM`.
        case allowedIf([[Condition]])
        /// The call fails with `EPERM` if one of the conditions is met; otherwise, it is allowed.
        case refusedIf([Condition])
        /// The call returns 0 and does nothing.
        case pretended
    }

    private var rules: [UInt32: Rule] = [:]
    /// The rule for calls that have none of their own.
    private let otherwise: Rule
    private let architecture: Architecture

    /// Creates the filter of a helper process.
    ///
    /// - Parameter process: The ID of the process, the only one to which signals may be sent.
    init(_ architecture: Architecture, process: Int32) {
        (self.architecture, otherwise) = (architecture, .refused(EPERM))
        for call in Self.allowedCalls { add(call, .allowed) }
        for (call, rule) in Self.conditionalCalls(process: UInt32(bitPattern: process)) { add(call, rule) }
    }

    /// Creates the filter of a task: a program that may start others, and that is refused what no media tool needs.
    ///
    /// - Parameters:
    ///   - network: Whether it may open Internet sockets.
    ///   - guardians: The processes that watch the task, to which it can send no signal by their numbers.
    init(_ architecture: Architecture, network: Bool, guardians: [Int32]) {
        (self.architecture, otherwise) = (architecture, .allowed)
        for call in Self.callsRefusedToTasks { add(call, .refused(EPERM)) }
        for (call, rule) in Self.conditionalCallsOfTasks(network: network, guardians: guardians) {
            add(call, rule)
        }
    }

    private mutating func add(_ call: SystemCall, _ rule: Rule) {
        if let number = call.number(on: architecture) { rules[number] = rule }
    }

    // MARK: - The program

    /// The instructions; fewer than the kernel's limit of 4096.
    var program: [sock_filter] {
        var program = [
            Self.load(4),
            Self.jump(.equal, architecture.audit, ifTrue: 1, ifFalse: 0),
            Self.refuse(EPERM),
            Self.load(0),
        ]
        if architecture == .x86 {
            // The x32 numbers reach the same calls in other ways.
            program += [Self.jump(.greaterOrEqual, 0x4000_0000, ifTrue: 0, ifFalse: 1), Self.refuse(EPERM)]
        }
        program += [
            Self.jump(.greaterOrEqual, Self.newestKnownCall + 1, ifTrue: 0, ifFalse: 1), Self.refuse(ENOSYS),
        ]
        return program + decide(among: ranges[...])
    }

    /// A range of call numbers, from its first number to the beginning of the next range.
    private struct Range {
        var first: UInt32
        var rule: Rule
    }

    private var ranges: [Range] {
        var ranges: [Range] = []
        for number in 0...Self.newestKnownCall {
            switch (rules[number] ?? otherwise, ranges.last?.rule) {
            case (.allowed, .allowed): continue
            case (.refused(let error), .refused(let before)) where error == before: continue
            case (let rule, _): ranges.append(Range(first: number, rule: rule))
            }
        }
        return ranges
    }

    /// A binary search; the accumulator contains the number of the call.
    private func decide(among ranges: ArraySlice<Range>) -> [sock_filter] {
        if ranges.count == 1, let range = ranges.first { return Self.instructions(for: range.rule) }
        let middle = ranges.startIndex + ranges.count / 2
        let (lower, upper) = (decide(among: ranges[..<middle]), decide(among: ranges[middle...]))
        // Conditional jumps reach 255 instructions, which the lower half may exceed.
        return [
            Self.jump(.greaterOrEqual, ranges[middle].first, ifTrue: 0, ifFalse: 1), Self.skip(lower.count),
        ] + lower + upper
    }

    private static func instructions(for rule: Rule) -> [sock_filter] {
        switch rule {
        case .allowed: [allow]
        case .refused(let error): [refuse(error)]
        case .pretended: [refuse(0)]
        case .allowedIf(let alternatives): alternatives.flatMap { instructions(for: $0[...]) } + [refuse(EPERM)]
        case .refusedIf(let conditions): conditions.flatMap { refusal($0) } + [allow]
        }
    }

    /// Refuses the call if the condition is met; otherwise, execution continues after these instructions.
    private static func refusal(_ condition: Condition) -> [sock_filter] {
        test(condition) + [skip(1), refuse(EPERM)]
    }

    /// Allows the call if all conditions are met; otherwise, execution continues after these instructions.
    private static func instructions(for conditions: ArraySlice<Condition>) -> [sock_filter] {
        guard let condition = conditions.first else { return [allow] }
        let rest = instructions(for: conditions.dropFirst())
        return test(condition) + [skip(rest.count)] + rest
    }

    /// Skips one instruction after these if the condition is met.
    private static func test(_ condition: Condition) -> [sock_filter] {
        var test = [load(16 + 8 * condition.argument + condition.half.rawValue)]
        if condition.mask != .max { test.append(and(condition.mask)) }
        let count = condition.values.count
        for (index, value) in condition.values.enumerated() {
            test.append(jump(.equal, value, ifTrue: UInt8(count - index), ifFalse: 0))
        }
        return test
    }

    // MARK: - Instructions

    private enum Comparison { case equal, greaterOrEqual }

    private static let allow = instruction(BPF_RET, UInt32(0x7FFF_0000))

    private static func refuse(_ error: Int32) -> sock_filter { instruction(BPF_RET, 0x0005_0000 | UInt32(error)) }

    private static func load(_ offset: UInt32) -> sock_filter { instruction(BPF_LD | BPF_W | BPF_ABS, offset) }

    private static func and(_ mask: UInt32) -> sock_filter { instruction(BPF_ALU | BPF_AND, mask) }

    private static func skip(_ count: Int) -> sock_filter { instruction(BPF_JMP | BPF_JA, UInt32(count)) }

    private static func jump(_ comparison: Comparison, _ value: UInt32, ifTrue: UInt8, ifFalse: UInt8) -> sock_filter {
        let code = BPF_JMP | (comparison == .equal ? BPF_JEQ : BPF_JGE)
        return sock_filter(code: UInt16(code), jt: ifTrue, jf: ifFalse, k: value)
    }

    private static func instruction(_ code: Int32, _ value: UInt32) -> sock_filter {
        sock_filter(code: UInt16(code), jt: 0, jf: 0, k: value)
    }
}
