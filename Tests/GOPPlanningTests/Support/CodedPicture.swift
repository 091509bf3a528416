// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning

/// What a decoder reads of a picture, and, for the test only, which picture it is.
struct CodedPicture: NumberedPicture {
    var number: Int64
    var displayOrder: Int64
    var layer: Int
    var kind: PlannedPicture.Kind
    var numbers: H264PictureNumbers
    /// The lists of the plan.
    var list0: [Int64]
    var list1: [Int64]

    var isReference: Bool { numbers.nalRefIdc > 0 }
    var isIDR: Bool { numbers.idrPicId != nil }

    init(_ planned: PlannedPicture, _ numbers: H264PictureNumbers) {
        number = planned.number
        displayOrder = planned.displayOrder
        layer = planned.temporalLayer
        kind = planned.kind
        self.numbers = numbers
        list0 = planned.list0.map(\.number)
        list1 = planned.list1.map(\.number)
    }
}

/// What a stream does that the standard or the plan does not allow.
struct Violation: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// Throws unless it holds.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(Violation) {
    if !condition { throw Violation(message()) }
}
