// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning
import MediaTypes

/// What happened to a planner, in order.
struct PlanLog {
    enum Event: Equatable {
        case added(InputPicture)
        case finished
        case lost(ClosedRange<Int64>)
        case acknowledged(Int64)
        case planned(PlannedPicture)
    }

    let structure: GOPStructure
    var events: [Event] = []
    private var planner: GOPPlanner

    init(_ structure: GOPStructure) throws(MediaError) {
        self.structure = structure
        planner = try GOPPlanner(structure)
    }

    var plan: [PlannedPicture] {
        events.compactMap { event in
            if case .planned(let picture) = event { picture } else { nil }
        }
    }

    /// Numbers of the pictures that are planned.
    var plannedNumbers: [Int64] { plan.map(\.number) }

    mutating func add(_ input: InputPicture) throws(MediaError) {
        events.append(.added(input))
        events += try planner.add(input).map(Event.planned)
    }

    /// Adds pictures with nothing special about them.
    mutating func add(_ numbers: ClosedRange<Int64>) throws(MediaError) {
        for number in numbers { try add(InputPicture(number: number)) }
    }

    mutating func endGroup() {
        events += planner.endGroup().map(Event.planned)
    }

    mutating func finish() {
        events.append(.finished)
        events += planner.finish().map(Event.planned)
    }

    mutating func lose(_ numbers: ClosedRange<Int64>) {
        events.append(.lost(numbers))
        planner.invalidate(numbers)
    }

    mutating func lose(from number: Int64) {
        events.append(.lost(number...Int64.max))
        planner.invalidate(from: number)
    }

    mutating func acknowledge(_ number: Int64) {
        events.append(.acknowledged(number))
        planner.acknowledge(number)
    }
}

extension PlannedPicture {
    /// One line: number, kind (lower case if it is no reference), lists.
    ///
    ///     0I   4P[0]   2B[0|4]   1b[0|2]
    var text: String {
        let letter =
            switch kind {
            case .idr: "I"
            case .recoveryPoint: "R"
            case .p: "P"
            case .b: "B"
            }
        func names(_ list: [PictureReference]) -> String {
            list.map { "\($0.number)" + ($0.longTermIndex.map { "L\($0)" } ?? "") }.joined(separator: ",")
        }
        var text = "\(number)" + (isReference ? letter : letter.lowercased())
        if let longTermIndex { text += "L\(longTermIndex)" }
        if kind == .p { text += "[\(names(list0))]" }
        if kind == .b { text += "[\(names(list0))|\(names(list1))]" }
        return text
    }
}
