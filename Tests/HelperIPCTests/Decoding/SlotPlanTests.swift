// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import HelperIPC

/// The slots of a decoder, by what its client and its helper know of them.
@Suite struct SlotPlanTests {
    private static let first = PictureShape(format: .nv12, width: 32, height: 16)
    private static let second = PictureShape(format: .p010, width: 64, height: 16)

    /// A plan, whose answers can be expected.
    private final class Plan {
        private(set) var value: SlotPlan

        init(limit: Int) { value = SlotPlan(limit: limit) }

        func await(_ shape: PictureShape) -> [SlotPlan.Action]? { value.await(shape) }
        func hold(_ slot: UInt32, _ shape: PictureShape) -> Bool { value.hold(slot, shape) }
        func release(_ slot: UInt32) -> [SlotPlan.Action] { value.release(slot) }
        var isStarved: Bool { value.isStarved }
        var heldCount: Int { value.heldCount }
        var shape: PictureShape? { value.shape }
    }

    @Test func slotsAreOfferedOnce() {
        let plan = Plan(limit: 2)
        #expect(plan.await(Self.first) == [.offer(0), .offer(1)])
        #expect(!plan.isStarved)
        #expect(plan.hold(1, Self.first) && plan.hold(0, Self.first))
        #expect(!plan.isStarved && plan.heldCount == 2)
        #expect(plan.await(Self.first) == [])
        #expect(plan.isStarved)
        #expect(plan.await(Self.first) == nil)
        #expect(plan.release(1) == [.free(1)])
        #expect(!plan.isStarved)
        #expect(plan.release(1) == [])
        #expect(plan.hold(1, Self.first))
        #expect(!plan.hold(0, Self.first))
    }

    @Test func anotherShapeReplacesSlotsAsTheyAreReleased() {
        let plan = Plan(limit: 3)
        _ = plan.await(Self.first)
        #expect(plan.hold(0, Self.first) && plan.hold(1, Self.first))
        #expect(plan.await(Self.second) == [.forget(2), .offer(3)])
        #expect(!plan.hold(2, Self.second) && !plan.hold(3, Self.first) && !plan.hold(0, Self.second))
        #expect(plan.hold(3, Self.second))
        #expect(plan.await(Self.second) == [])
        #expect(plan.isStarved)
        #expect(plan.release(0) == [.forget(0), .offer(4)])
        #expect(!plan.isStarved)
        #expect(plan.release(3) == [.free(3)])
    }

    /// At random, an honest helper and a consumer: what the messages say is what the helper has.
    @Test(arguments: 0..<20) func theHelperHasWhatThePlanSays(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let shapes = (0..<3).map { PictureShape(format: .nv12, width: 16 + $0, height: 16) }
        let limit = Int.random(in: 1...6, using: &random)
        let plan = Plan(limit: limit)
        var (idle, held): ([UInt32: PictureShape], [UInt32]) = ([:], [])
        var shape = shapes[0]
        var isAwaiting = false
        func perform(_ actions: [SlotPlan.Action]) {
            for action in actions {
                switch action {
                case .offer(let slot):
                    #expect(idle[slot] == nil && !held.contains(slot))
                    idle[slot] = plan.shape
                case .free(let slot):
                    #expect(idle[slot] == nil)
                    idle[slot] = plan.shape
                case .forget(let slot): idle[slot] = nil
                }
            }
            #expect(idle.count + held.count <= limit)
        }
        for _ in 0..<400 {
            if Int.random(in: 0..<3, using: &random) == 0, let index = held.indices.randomElement(using: &random) {
                perform(plan.release(held.remove(at: index)))
                continue
            }
            if !isAwaiting, Int.random(in: 0..<8, using: &random) == 0 { shape = random.one(of: shapes) }
            if let slot = idle.filter({ $0.value == shape }).keys.min() {
                idle[slot] = nil
                held.append(slot)
                #expect(plan.hold(slot, shape))
                isAwaiting = false
            } else if !isAwaiting {
                isAwaiting = true
                let actions = plan.await(shape)
                #expect(actions != nil)
                perform(actions ?? [])
            }
            #expect(plan.heldCount == held.count)
            if plan.isStarved { #expect(isAwaiting && idle.isEmpty) }
        }
    }
}
